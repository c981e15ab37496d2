// A campaign of pg-boss: applications and workers are killed with SIGKILL; then jobs, effects and answers are compared.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import type { PgBoss } from 'pg-boss';
import { bundle } from '../setup/bundle.js';
import { newBoss } from '../setup/pg-boss.js';
import { startPostgres } from '../setup/services.js';
import { type BossMode, NEVER, QUEUE, TABLES } from './boss-merchant.js';
import { LEDGER } from './merchant.js';
import { Sender } from './sender.js';
import { Workers } from './workers.js';

export interface BossCampaignOptions {
  readonly mode: BossMode;
  /** At least; the sender continues while processes are killed. */
  readonly events: number;
  /** Of applications, and as many of workers. */
  readonly kills: number;
  readonly progress: (line: string) => void;
}

export interface BossCampaign {
  readonly kills: number;
  readonly events: number;
  readonly attempts: number;
  readonly jobs: number;
  /** Answered 2xx, and no worker ever had an effect. */
  readonly lost: number;
  readonly doubled: number;
  /** Ran twice although the worker of the first run was not killed. */
  readonly unexplained: number;
  readonly seconds: number;
  readonly violations: readonly string[];
}

/** Far more than the workers need for what is left, with an expiry for each job that a killed one held. */
const PATIENCE_MS = 5 * 60_000;

export async function runBossCampaign(options: BossCampaignOptions): Promise<BossCampaign> {
  const began = performance.now();
  const scripts = ['application', 'worker'].map((name) =>
    bundle(new URL(`./boss-${name}.ts`, import.meta.url)),
  );
  const postgres = await startPostgres(['fsync=off']);
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
    const found = await kill(options, { url: postgres.url, pool, boss, application, worker });
    return { ...found, seconds: Math.round((performance.now() - began) / 1_000) };
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
  readonly boss: PgBoss;
  readonly application: string;
  readonly worker: string;
}

async function kill(options: BossCampaignOptions, parts: Parts): Promise<Omit<BossCampaign, 'seconds'>> {
  const { mode, events, kills, progress } = options;
  const env = { MODE: mode, POSTGRES_URL: parts.url };
  const applications = await Workers.start(parts.application, 3, env);
  const workers = await Workers.start(parts.worker, 3, env);
  const sender = new Sender(applications.port, 2);
  const killed = new Set<number>();
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
      killed.add(victim.process.pid ?? 0);
      await victims.end(victim, 'SIGKILL');
      progress(`pg-boss, ${mode}: ${done + 1} of ${2 * kills} kills, ${sender.history.length} deliveries`);
    }
    over = true;
    sender.calm = true;
    await load;
    const unfinished = await untilWorkedOff(parts.pool);
    const verdict = await compare(mode, { sender, killed, pool: parts.pool });
    const ended = [...applications.unexplained, ...workers.unexplained];
    return {
      ...verdict,
      kills: killed.size,
      violations: [
        ...verdict.violations,
        ...ended,
        ...(unfinished > 0 ? [`${unfinished} jobs were not completed`] : []),
      ],
    };
  } finally {
    await Promise.all([applications.close(), workers.close()]);
  }
}

async function untilWorkedOff(pool: Pool): Promise<number> {
  for (const giveUpAt = Date.now() + PATIENCE_MS; ; await pause(200)) {
    const { rows } = await pool.query<{ left: number }>(
      `SELECT count(*)::int AS left FROM pgboss.job WHERE name = $1 AND state <> 'completed'`,
      [QUEUE],
    );
    const left = rows[0]?.left ?? 0;
    if (left === 0 || Date.now() > giveUpAt) return left;
  }
}

interface Evidence {
  readonly sender: Sender;
  readonly killed: ReadonlySet<number>;
  readonly pool: Pool;
}

async function compare(mode: BossMode, { sender: { history }, killed, pool }: Evidence) {
  const genuine = history.filter((sent) => sent.genuine);
  const isAccepted = ({ attempts }: (typeof history)[number]) =>
    attempts.some(({ status }) => status !== undefined && status >= 200 && status < 300);
  const accepted = new Set(genuine.filter(isAccepted).map(({ id }) => id));
  const sent = new Set(genuine.map(({ id }) => id));
  const jobs = await countsOf(
    pool,
    `SELECT (data->>'rawBody')::json->>'id' AS id FROM pgboss.job WHERE name = '${QUEUE}'`,
  );
  const ledger = await pool.query<{ event_id: string; worker: number }>('SELECT * FROM ledger ORDER BY at');
  const runs = new Map<string, { worker: number }[]>();
  for (const row of ledger.rows) runs.set(row.event_id, [...(runs.get(row.event_id) ?? []), row]);
  const twice = [...runs.values()].filter((rows) => rows.length > 1);
  const unexplained = twice.filter((rows) => rows.slice(0, -1).some(({ worker }) => !killed.has(worker)));
  const lost = [...accepted].filter((id) => !runs.has(id));
  const uncommitted = await pool.query('SELECT 1 FROM pgboss.job WHERE name = $1', [NEVER]);
  const claims = await pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${TABLES.application}`);
  const found: readonly (readonly [boolean, string])[] = [
    [history.some((one) => !one.genuine && isAccepted(one)), 'a forgery was answered 2xx'],
    [sent.size !== accepted.size, `${sent.size - accepted.size} events were never answered 2xx`],
    [lost.length > 0, `lost: ${lost}`],
    [[...accepted].some((id) => jobs.get(id) !== 1), 'an accepted event has not exactly one job'],
    [uncommitted.rows.length > 0, 'a job of a transaction that was rolled back'],
    [[...jobs.keys()].some((id) => !sent.has(id)), 'a job is of an event that was not sent'],
    [mode === 'one commit' && claims.rows[0]?.n !== jobs.size, 'claims and jobs are not one commit'],
    [mode === 'one commit' && twice.length > 0, `ran twice in a transaction: ${twice.length}`],
    [unexplained.length > 0, `ran twice without a kill: ${unexplained.length}`],
  ];
  return {
    events: sent.size,
    attempts: genuine.reduce((sum, { attempts }) => sum + attempts.length, 0),
    jobs: [...jobs.values()].reduce((sum, count) => sum + count, 0),
    lost: lost.length,
    doubled: twice.length,
    unexplained: unexplained.length,
    violations: found.filter(([broken]) => broken).map(([, what]) => what),
  };
}

async function countsOf(pool: Pool, sql: string): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ id: string }>(sql);
  const counts = new Map<string, number>();
  for (const { id } of rows) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
