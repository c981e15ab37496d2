// A campaign of pg-boss: applications and workers are killed with SIGKILL; then jobs, effects and answers are compared.
import { setTimeout as pause } from 'node:timers/promises';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import type { Pool } from 'pg';
import { newBoss } from '../../setup/pg-boss.js';
import { until } from '../../setup/waiting.js';
import { type BossMode, QUEUE, TABLES } from './boss-merchant.js';
import { bundleProgram, type Campaign, runAndJudge, startLedger } from './environment.js';
import { findingsFrom, type History, type JobRecord, recordsFrom } from './history.js';
import { LEDGER, readLedger } from './merchant.js';
import { type InjectedFault, injectFault, KILL } from './nemesis.js';
import { attemptsOf, Sender } from './sender.js';
import { startWorkers } from './workers.js';

export interface BossCampaignOptions {
  readonly mode: BossMode;
  /** At least; the sender continues while processes are killed. */
  readonly events: number;
  /** Of applications, and as many of workers. */
  readonly kills: number;
  readonly progress: (line: string) => void;
}

export type BossCampaign = Campaign & { readonly jobs: number };

/** Far more than the workers need for what is left, with an expiry for each job that a killed one held. */
const PATIENCE_MS = 5 * 60_000;

export function runBossCampaign({
  mode,
  events,
  kills,
  progress,
}: BossCampaignOptions): Promise<BossCampaign> {
  return runAndJudge(async (defer) => {
    const { postgres, pool } = await startLedger(defer, [LEDGER]);
    // What finds the jobs of killed workers. Version 10 calls the interval by its second name.
    const intervals = {
      superviseIntervalSeconds: 1,
      monitorIntervalSeconds: 1,
      maintenanceIntervalSeconds: 1,
    };
    const boss = await newBoss({ connectionString: postgres.url, schedule: false, ...intervals });
    boss.on('error', () => {});
    defer(() => boss.stop({ graceful: false }));
    await boss.start();
    await boss.createQueue(QUEUE, { name: QUEUE } as never);
    for (const table of Object.values(TABLES)) await postgresStore({ pool, table }).migrate();
    const start = async (name: string) => {
      const env = { MODE: mode, POSTGRES_URL: postgres.url };
      const workers = await startWorkers(bundleProgram(`./boss-${name}.ts`, defer), 3, env);
      defer(() => workers.close());
      return workers;
    };
    const [applications, workers] = [await start('application'), await start('worker')];
    const sender = new Sender(applications.port, 2);
    const faults: InjectedFault[] = [];
    const load = sender.deliver(16, (sent) => faults.length >= 2 * kills && sent >= events);
    while (faults.length < 2 * kills) {
      // Spread over the events, at random moments.
      while (sender.history.length < (faults.length / kills) * events) await pause(5);
      await pause(Math.random() * 60);
      faults.push(await injectFault(KILL, faults.length % 2 === 0 ? applications : workers));
      progress(
        `pg-boss, ${mode}: ${faults.length} of ${2 * kills} kills, ${sender.history.length} deliveries`,
      );
    }
    sender.calm = true;
    await load;
    const left = `SELECT 1 FROM pgboss.job WHERE name = $1 AND state <> 'completed' LIMIT 1`;
    // The verdict says what was not completed.
    await until(async () => (await pool.query(left, [QUEUE])).rows.length === 0, PATIENCE_MS, 200).catch(
      () => {},
    );
    const jobs = await readJobs(pool);
    const history: History = {
      campaign: { type: 'campaign', campaign: 'jobs', mode, once: mode === 'once' },
      records: [
        ...attemptsOf(sender.history),
        ...recordsFrom('fault', faults),
        ...recordsFrom('row', await readLedger(pool)),
        ...recordsFrom('job', jobs),
        ...recordsFrom('claim', await readClaims(pool)),
        ...findingsFrom([...applications.unexplained, ...workers.unexplained]),
      ],
    };
    return { history, jobs: jobs.length };
  });
}

async function readJobs(pool: Pool): Promise<Omit<JobRecord, 'type'>[]> {
  const { rows } = await pool.query<Omit<JobRecord, 'type'>>(
    `SELECT (data->>'rawBody')::json->>'id' AS event, state = 'completed' AS done FROM pgboss.job WHERE name = $1`,
    [QUEUE],
  );
  return rows;
}

/** The key of a claim ends with the event. */
async function readClaims(pool: Pool): Promise<{ event: string }[]> {
  const { rows } = await pool.query<{ event: string }>(
    `SELECT regexp_replace(key, '^.*:', '') AS event FROM ${TABLES.application}`,
  );
  return rows;
}
