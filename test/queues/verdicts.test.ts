// What a handler may say besides "done" and "failed", and what follows for a job: one table for every door.
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect } from '@jest/globals';
import {
  type IdempotencyStore,
  type Logger,
  memoryStore,
  NonRetriableError,
  RetryAfterError,
  type TransactionPaid,
} from 'payment-webhooks';
import * as anyQueue from 'payment-webhooks/queues';
import { postgresStore, type WithOnce } from 'payment-webhooks/stores/postgres';
import { fixtures } from 'payment-webhooks/testing';
import type { PoolClient } from 'pg';
import { testAtOnce } from '../setup/at-once.js';
import { captureLog } from '../setup/captured-log.js';
import { contextOf } from '../setup/queue-trial.js';
import { ATTEMPTS, type Job, jobOver, schema, startBullmq, startPgBoss, type Trial } from './queues.js';

interface Work {
  readonly event: TransactionPaid;
  readonly handlers: Parameters<typeof anyQueue.processor>[0];
  readonly options: { readonly store: IdempotencyStore<never>; readonly logger: Logger };
}

/** A job that is over: cancelled where pg-boss is told that no retry can succeed. */
interface Over extends Pick<Job, 'attempts'> {
  readonly state: string;
  /** Runs it once more, until it is over again. */
  again(): Promise<string>;
}

/** Queues the event with three attempts, and works on it until its job is over. */
type Door = (work: Work) => Promise<Over>;

const WAIT_MS = 120;
const [INFO, ERROR] = [30, 50];

const doorOf =
  (start: () => Promise<Trial>): Door =>
  async ({ event, handlers, options }) => {
    const trial = await start();
    await trial.add(event);
    await trial.work(handlers, options as never);
    const job = await jobOver(trial);
    const again = async () => {
      await job.again();
      return (await jobOver(trial)).state;
    };
    return { state: job.state, attempts: job.attempts, again };
  };

const DOORS: Readonly<Record<string, { readonly programs: readonly string[]; readonly door: Door }>> = {
  BullMQ: { programs: ['redis-server'], door: doorOf(startBullmq) },
  'pg-boss with the option boss': { programs: ['postgres'], door: doorOf(() => startPgBoss(true)) },
  'pg-boss without it': { programs: ['postgres'], door: doorOf(() => startPgBoss()) },
  // A broker in a list, with a worker that does what the guide of queues says for each verdict.
  'any broker': {
    programs: [],
    door: async ({ event, handlers, options }) => {
      const sent: string[] = [];
      await anyQueue.enqueue((job) => sent.push(JSON.stringify(job)))(event, contextOf(event));
      const work = anyQueue.processor(handlers, options);
      const run = async (first: number): Promise<Over> => {
        for (let attempt = first; ; ) {
          const end = await work(sent[0], { queue: 'webhooks', attempt });
          const state = end.verdict === 'done' ? 'completed' : 'failed';
          const over = end.verdict !== 'later' && (end.verdict !== 'failed' || attempt >= ATTEMPTS);
          if (over) return { state, attempts: attempt, again: async () => (await run(attempt + 1)).state };
          if (end.verdict === 'later') await pause(end.delayMs);
          else attempt += 1;
        }
      };
      return run(1);
    },
  },
};

const later = () => {
  throw new RetryAfterError(WAIT_MS, 'ada@example.com has no order yet');
};
const never = () => {
  throw new NonRetriableError('ada@example.com is unknown');
};
const failing = () => Promise.reject(new Error('ada@example.com cannot be reached'));
const done = () => {};

interface Row {
  readonly says: () => unknown;
  /** How often it says so, unless for ever. */
  readonly times?: number;
  readonly ends: Pick<Over, 'state' | 'attempts'>;
  readonly runs: number;
  readonly level: number;
}

/** pg-boss ends no job for good by itself. */
const refused = (where: string): Pick<Over, 'state' | 'attempts'> => ({
  state: where === 'pg-boss with the option boss' ? 'cancelled' : 'failed',
  attempts: where === 'pg-boss without it' ? ATTEMPTS : 1,
});

const completed = (attempts: number) => ({ state: 'completed', attempts });
const table = (where: string): Readonly<Record<string, Row>> => ({
  'resolves: the job is completed': { says: done, ends: completed(1), runs: 1, level: INFO },
  'throws RetryAfterError: the job waits that long, and spends no attempt': {
    says: later,
    times: ATTEMPTS + 1,
    ends: completed(1),
    runs: ATTEMPTS + 2,
    level: INFO,
  },
  'throws NonRetriableError: the job fails for good': {
    says: never,
    ends: refused(where),
    runs: refused(where).attempts,
    level: ERROR,
  },
  'throws anything else: the job is retried until its attempts are used': {
    says: failing,
    ends: { state: 'failed', attempts: ATTEMPTS },
    runs: ATTEMPTS,
    level: ERROR,
  },
  'throws anything else once: the next attempt completes the job': {
    says: failing,
    times: 1,
    ends: completed(2),
    runs: 2,
    level: ERROR,
  },
});

/** A handler that does what the row says, and what becomes of its job. */
async function playRow(door: Door, { says, times, ends, runs, level }: Row, isInOnce: boolean) {
  const event = fixtures.transactionPaid();
  const log = captureLog();
  const startedAt: number[] = [];
  let isFixed = false;
  const step = async () => {
    if (!isFixed && startedAt.length <= (times ?? Number.POSITIVE_INFINITY)) await says();
  };
  const handler = async ({ id }: TransactionPaid, { once }: WithOnce<PoolClient>) => {
    startedAt.push(Date.now());
    if (!isInOnce) return step();
    await once(async (tx) => {
      await tx.query(`INSERT INTO ${schema?.name}.ledger VALUES ($1)`, [id]);
      await step();
    });
  };
  const store = isInOnce ? inPostgres() : memoryStore();
  const handlers = { 'transaction.paid': handler } as never;
  const job = await door({ event, handlers, options: { store: store as never, logger: log.logger } });
  expect(job).toMatchObject(ends);
  expect(startedAt).toHaveLength(runs);
  if (says === later) expect(leastBetween(startedAt)).toBeGreaterThanOrEqual(WAIT_MS - 5);
  expect(Math.max(...log.lines.map((line) => Number(line.level)))).toBe(level);
  // Of a run that threw nothing is written.
  if (isInOnce) expect(await written(event.id)).toBe(ends.state === 'completed' ? 1 : 0);

  if (ends.state === 'completed') return;
  isFixed = true;
  expect(await job.again()).toBe('completed');
  expect(startedAt).toHaveLength(runs + 1);
  if (isInOnce) expect(await written(event.id)).toBe(1);
}

/** Three handlers of one event, each of which says its own. */
async function playThree(door: Door, says: readonly (() => unknown)[], ends: Row['ends']) {
  let waited = 0;
  const [first, second, third] = says.map((say) => () => {
    // Those that wait and refuse do so once: all of them resolve from then on.
    if (say === later) waited += 1;
    return ends.state === 'completed' && waited > 1 ? undefined : say();
  });
  const handlers = { 'transaction.paid': second, 'transaction.*': first, '*': third };
  const options = { store: memoryStore() as never, logger: captureLog().logger };
  const job = await door({ event: fixtures.transactionPaid(), handlers, options });
  expect(job).toMatchObject(ends);
}

describe.each(Object.keys(DOORS))('a handler of %s', (where) => {
  const { programs, door } = DOORS[where] as (typeof DOORS)[string];
  const threes: [string, (() => unknown)[], Row['ends']][] = [
    ['any that failed: failed', [never, later, failing], { state: 'failed', attempts: ATTEMPTS }],
    ['else any that waits: later', [never, later, done], completed(1)],
    ['else any that refused: never', [done, never, done], refused(where)],
  ];
  // At once: pg-boss looks for jobs twice a second.
  testAtOnce([
    ...Object.entries(table(where)).flatMap(([name, row]) => [
      { name: `in a store, ${name}`, needs: programs, run: () => playRow(door, row, false) },
      {
        name: `inside once, ${name}`,
        needs: [...new Set([...programs, 'postgres'])],
        run: () => playRow(door, row, true),
      },
    ]),
    ...threes.map(([name, says, ends]) => ({
      name: `and two more: ${name}`,
      needs: programs,
      run: () => playThree(door, says, ends),
    })),
  ]);
});

beforeAll(async () => {
  if (!schema) return;
  await schema.pool.query(`CREATE TABLE ${schema.name}.ledger (event text NOT NULL)`);
  await inPostgres().migrate();
});

function inPostgres() {
  if (!schema) throw new Error('There is no Postgres.');
  return postgresStore({ pool: schema.pool, table: `${schema.name}.webhook_event` });
}

async function written(id: string): Promise<number> {
  const ledger = `SELECT 1 FROM ${schema?.name}.ledger WHERE event = $1`;
  return (await schema?.pool.query(ledger, [id]))?.rows.length ?? 0;
}

function leastBetween(times: readonly number[]): number {
  return Math.min(...times.slice(1).map((at, index) => at - (times[index] ?? 0)));
}
