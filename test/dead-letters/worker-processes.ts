// Letters that several processes replay or redrive: their tables, the processes, and what their handlers have done.
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { type EventSchemas, receiver } from 'payment-webhooks';
import { Pool } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { type Compiled, compile } from '../setup/compiled.js';
import { delivery, KEY, type SentDelivery } from '../setup/delivery.js';
import { type SharedMode, sharedStores } from '../setup/shared-stores.js';

const WORKER = 'test/dead-letters/replaying-worker.ts';

export interface Refund {
  readonly id: string;
  readonly sent: SentDelivery;
}

/** A refund whose handler fails so many times before it succeeds. */
export function refundThatFails(fails: number): Refund {
  const event = fixtures.event('refund.succeeded', { fails });
  return { id: event.id, sent: delivery(event) };
}

/** To be called in a `describe`: the processes of a test are killed when it ends. */
export function workerProcesses() {
  const { TEST_POSTGRES_URL: connectionString = '', TEST_REDIS_URL: redisUrl = '' } = process.env;
  const pool = new Pool({ connectionString, max: 10 });
  const living = new Set<ChildProcess>();
  const ending: (() => Promise<unknown>)[] = [];
  let compiled: Compiled | undefined;

  beforeAll(() => {
    compiled = compile([WORKER]);
  });
  afterEach(async () => {
    for (const child of living) child.kill('SIGKILL');
    living.clear();
    for (const end of ending.splice(0)) await end();
  });
  afterAll(async () => {
    compiled?.remove();
    await pool.end();
  });

  /** Refunds that were delivered while their handler was not there, or was down, so that they are letters. */
  async function keepLetters(
    mode: SharedMode,
    refunds: readonly Refund[],
    { declared, status }: { readonly declared: EventSchemas; readonly status: number },
  ) {
    const name = `workers_${randomBytes(6).toString('hex')}`;
    await pool.query(`CREATE SCHEMA ${name};
      CREATE TABLE ${name}.effect (event_id text NOT NULL);
      CREATE TABLE ${name}.exhausted (letter_id text NOT NULL);
      CREATE TABLE ${name}.run (number bigint GENERATED ALWAYS AS IDENTITY, event_id text NOT NULL,
        began timestamptz NOT NULL DEFAULT clock_timestamp(), ended timestamptz)`);
    const stores = sharedStores(mode, name, { pool, redisUrl });
    ending.push(async () => {
      await pool.query(`DROP SCHEMA ${name} CASCADE`);
      await stores.close();
    });
    await stores.migrate();
    const { store, deadLetters } = stores;
    const hooks = receiver({ privateKey: KEY, logger: false, store, deadLetters, events: declared });
    hooks.on('*', () => Promise.reject(new Error('down')));
    for (const { sent } of refunds)
      expect((await hooks.receive({ rawBody: sent.body, headers: sent.headers })).status).toBe(status);

    const rows = async (query: string) => (await pool.query(query)).rows;
    const column = async (query: string) => (await rows(query)).map((row) => Object.values(row)[0]);
    return {
      ...{ hooks, rows, column, name },
      effects: () => column(`SELECT event_id FROM ${name}.effect ORDER BY event_id`),
      /** Events of which one run began before another ended. A run whose process was killed has no end. */
      overlapping: (unended: "'infinity'" | 'a.began') =>
        column(`SELECT a.event_id FROM ${name}.run a JOIN ${name}.run b
          ON a.event_id = b.event_id AND a.number < b.number AND b.began < COALESCE(a.ended, ${unended})`),
      /** @param longest milliseconds that a handler takes at most  @param redrive the option of the receiver */
      startWorker: async ({ longest = 15, redrive }: { longest?: number; redrive?: object } = {}) => {
        const args = [mode, name, String(longest), ...(redrive ? [JSON.stringify(redrive)] : [])];
        const child = fork(compiled?.of(WORKER) ?? '', args, { execArgv: [] });
        living.add(child);
        await Promise.race([
          once(child, 'message'),
          once(child, 'exit').then(() => Promise.reject(new Error('a worker ended'))),
        ]);
        return child;
      },
    };
  }

  return { keepLetters };
}
