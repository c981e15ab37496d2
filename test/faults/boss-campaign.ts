// A campaign of pg-boss: applications and workers are killed with SIGKILL; then jobs, effects and answers are compared.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { bundle } from '../setup/bundle.js';
import { newBoss } from '../setup/pg-boss.js';
import { copyOfNew, startPostgres } from '../setup/services.js';
import { type BossMode, NEVER, QUEUE, TABLES } from './boss-merchant.js';
import { checkHistory, type Verdict } from './check-history.js';
import { type FaultRecord, type History, type JobRecord, recordsFrom, recordsOf } from './history.js';
import { LEDGER, readLedger } from './merchant.js';
import { attemptsOf, Sender } from './sender.js';
import { Workers } from './workers.js';

export interface BossCampaignOptions {
  readonly mode: BossMode;
  /** At least; the sender continues while processes are killed. */
  readonly events: number;
  /** Of applications, and as many of workers. */
  readonly kills: number;
  readonly progress: (line: string) => void;
}

export interface BossCampaign extends Verdict {
  readonly kills: number;
  readonly jobs: number;
  readonly seconds: number;
  readonly history: History;
}

/** Far more than the workers need for what is left, with an expiry for each job that a killed one held. */
const PATIENCE_MS = 5 * 60_000;

export async function runBossCampaign(options: BossCampaignOptions): Promise<BossCampaign> {
  const began = performance.now();
  const scripts = ['application', 'worker'].map((name) =>
    bundle(new URL(`./boss-${name}.ts`, import.meta.url)),
  );
  const postgres = await startPostgres(['fsync=off'], copyOfNew);
  const pool = new Pool({ connectionString: postgres.url, max: 4 });
  pool.on('error', () => {});
  // What finds the jobs of killed workers. Version 10 calls the interval by its second name.
  const intervals = { superviseIntervalSeconds: 1, monitorIntervalSeconds: 1, maintenanceIntervalSeconds: 1 };
  const boss = await newBoss({ connectionString: postgres.url, schedule: false, ...intervals });
  boss.on('error', () => {});
  try {
    await boss.start();
    for (const name of [QUEUE, NEVER]) await boss.createQueue(name, { name } as never);
    await pool.query(LEDGER);
    for (const table of Object.values(TABLES)) await postgresStore({ pool, table }).migrate();
    const [application = '', worker = ''] = scripts;
    const history = await kill(options, { url: postgres.url, pool, application, worker });
    const kills = recordsOf(history, 'fault').length;
    const jobs = recordsOf(history, 'job').filter(({ undone }) => !undone).length;
    return {
      ...checkHistory(history),
      history,
      kills,
      jobs,
      seconds: Math.round((performance.now() - began) / 1_000),
    };
  } finally {
    await boss.stop({ graceful: false });
    await pool.end();
    await postgres.stop();
    for (const script of scripts) rmSync(dirname(script), { recursive: true, force: true });
  }
}

interface Parts {
  readonly url: string;
  readonly pool: Pool;
  readonly application: string;
  readonly worker: string;
}

async function kill(options: BossCampaignOptions, parts: Parts): Promise<History> {
  const { mode, events, kills, progress } = options;
  const env = { MODE: mode, POSTGRES_URL: parts.url };
  const applications = await Workers.start(parts.application, 3, env);
  const workers = await Workers.start(parts.worker, 3, env);
  const sender = new Sender(applications.port, 2);
  const faults: FaultRecord[] = [];
  let over = false;
  try {
    const load = sender.deliver(16, (sent) => over && sent >= events);
    for (let done = 0; done < 2 * kills; done += 1) {
      // Spread over the events, at random moments.
      while (sender.history.length < (done / (2 * kills)) * 2 * events) await pause(5);
      await pause(Math.random() * 60);
      const victims = done % 2 === 0 ? applications : workers;
      const victim = victims.any();
      if (!victim) continue;
      const from = Date.now();
      await victims.end(victim, 'SIGKILL');
      const { pid = 0 } = victim.process;
      faults.push({ type: 'fault', kind: 'kill', worker: pid, from, until: Date.now() });
      progress(`pg-boss, ${mode}: ${done + 1} of ${2 * kills} kills, ${sender.history.length} deliveries`);
    }
    over = true;
    sender.calm = true;
    await load;
    await untilWorkedOff(parts.pool);
    const ended = [...applications.unexplained, ...workers.unexplained];
    return {
      campaign: { type: 'campaign', campaign: 'jobs', mode, transactional: mode === 'one commit' },
      records: [
        ...attemptsOf(sender.history),
        ...faults,
        ...recordsFrom('row', await readLedger(parts.pool)),
        ...recordsFrom('job', await readJobs(parts.pool)),
        ...recordsFrom('claim', await readClaims(parts.pool)),
        ...recordsFrom(
          'finding',
          ended.map((what) => ({ what })),
        ),
      ],
    };
  } finally {
    await Promise.all([applications.close(), workers.close()]);
  }
}

async function untilWorkedOff(pool: Pool): Promise<void> {
  for (const giveUpAt = Date.now() + PATIENCE_MS; Date.now() < giveUpAt; await pause(200)) {
    const { rows } = await pool.query(
      `SELECT 1 FROM pgboss.job WHERE name = $1 AND state <> 'completed' LIMIT 1`,
      [QUEUE],
    );
    if (rows.length === 0) return;
  }
}

async function readJobs(pool: Pool): Promise<Omit<JobRecord, 'type'>[]> {
  const { rows } = await pool.query<Omit<JobRecord, 'type'>>(
    `SELECT (data->>'rawBody')::json->>'id' AS event, state = 'completed' AS done, name = $2 AS undone
    FROM pgboss.job WHERE name IN ($1, $2)`,
    [QUEUE, NEVER],
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
