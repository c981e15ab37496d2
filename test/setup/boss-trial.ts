// Queues of pg-boss in a schema of their own, and what Postgres has of their jobs.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll } from '@jest/globals';
import { jobIdOf } from 'payment-webhooks/queues/pg-boss';
import { Pool } from 'pg';
import type { PgBoss } from 'pg-boss';
import { BOSS_VERSION, newBoss } from './pg-boss.js';
import { needing } from './platform.js';
import { until } from './waiting.js';

export const connectionString = process.env.TEST_POSTGRES_URL ?? '';
/** Skips where the run has no Postgres. */
export const withPostgres = needing('postgres').describe;

export interface JobRow {
  readonly id: string;
  readonly state: string;
  readonly data: { rawBody: string; headers: Record<string, string>; keyIndex: number };
  readonly retry_limit: number;
  readonly retry_count: number;
  readonly retry_backoff: boolean;
  /** How long it may wait, in days. */
  readonly days: number;
  readonly output: Record<string, unknown> | null;
}

export type WorkOptions = Record<string, unknown>;

export interface BossTrial {
  readonly queue: string;
  readonly boss: PgBoss;
  /** All jobs of the queue that are committed, oldest first. */
  jobs(queue?: string): Promise<JobRow[]>;
  /** The only job of the queue, once it is in this state. */
  job(state: string): Promise<JobRow>;
  work(processor: (jobs: never) => Promise<unknown>, options?: WorkOptions): Promise<unknown>;
  /** What pg-boss does now and then: fails jobs whose worker is gone. */
  supervise(): Promise<void>;
  /** What pg-boss does now and then: removes jobs that are over. */
  maintain(): Promise<void>;
}

export interface BossSchema {
  readonly name: string;
  readonly pool: Pool;
  readonly boss: PgBoss;
  /** Another PgBoss on the same schema, which the caller stops. */
  another(): Promise<PgBoss>;
  start(options?: { create?: boolean; policy?: string; deadLetter?: string }): Promise<BossTrial>;
}

/** To be read in tests and later hooks: it runs from before the first test to after the last. */
export function ownBossSchema(url = () => connectionString): BossSchema {
  const name = `boss_${randomBytes(6).toString('hex')}`;
  let pool: Pool;
  let boss: PgBoss;
  let created: Promise<unknown> = Promise.resolve();

  const make = async () => {
    const options = { supervise: false, schedule: false, monitorIntervalSeconds: 1, max: 5 };
    const made = await newBoss({ connectionString: url(), schema: name, ...options });
    made.on('error', () => {});
    return made;
  };

  beforeAll(async () => {
    pool = new Pool({ connectionString: url(), max: 30 });
    pool.on('error', () => {});
    boss = await make();
    await boss.start();
  }, 90_000);

  afterAll(async () => {
    await boss?.stop({ graceful: false });
    await pool?.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
    await pool?.end();
    // It looks once a second whether its workers have stopped, and keeps the process for as long.
    if (BOSS_VERSION === 10) await pause(1_100);
  });

  return {
    name,
    get pool() {
      return pool;
    },
    get boss() {
      return boss;
    },
    another: make,
    start: async ({ create = true, ...options } = {}) => {
      const queue = `q_${randomBytes(6).toString('hex')}`;
      // Version 10 requires the name among the options too, and deadlocks where two are created at once.
      if (create) created = created.then(() => boss.createQueue(queue, { name: queue, ...options } as never));
      await created;
      return trialOf(boss, { pool, schema: name, queue });
    },
  };
}

function trialOf(
  boss: PgBoss,
  { pool, schema, queue }: { pool: Pool; schema: string; queue: string },
): BossTrial {
  const jobs = async (of = queue) => {
    const { rows } = await pool.query<JobRow>(
      `SELECT *, extract(epoch FROM keep_until - start_after)::float8 / 86400 AS days
       FROM ${schema}.job WHERE name = $1 ORDER BY created_on`,
      [of],
    );
    return rows;
  };
  return {
    queue,
    boss,
    jobs,
    async job(state) {
      let found: JobRow | undefined;
      await until(async () => {
        [found] = await jobs();
        return found?.state === state;
      });
      return found as JobRow;
    },
    work: (processor, options) =>
      boss.work(
        queue,
        { includeMetadata: true, pollingIntervalSeconds: 0.5, ...options },
        processor as never,
      ),
    async supervise() {
      if (BOSS_VERSION === 12) await boss.supervise(queue);
      else await (boss as unknown as { expire(): Promise<void> }).expire();
    },
    async maintain() {
      if (BOSS_VERSION === 12) await boss.supervise(queue);
      else await (boss as unknown as { archive(): Promise<void> }).archive();
    },
  };
}

export const liveJob = (id: string) => jobIdOf({ id, sandbox: false });

/** The same boss, with some methods replaced. */
export function withMethods(boss: PgBoss, methods: Readonly<Record<string, unknown>>): PgBoss {
  return new Proxy(boss, {
    get(target, name: string) {
      if (Object.hasOwn(methods, name)) return methods[name];
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
