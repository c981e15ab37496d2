// Replay in four processes beside live traffic: no event runs twice at once, and none is skipped.
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { type ReplayReport, receiver } from 'payment-webhooks';
import { Pool } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY, type SentDelivery } from '../setup/delivery.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { needing } from '../setup/platform.js';
import { type SharedMode, sharedStores } from '../setup/shared-stores.js';
import { until } from '../setup/waiting.js';
import { startWorker } from './worker-processes.js';

const { TEST_POSTGRES_URL: connectionString = '', TEST_REDIS_URL: redisUrl = '' } = process.env;
const withServers = needing('postgres', 'redis-server').describe;
const PROCESSES = 4;
/** Four programs are compiled and started for each test. */
const TIMEOUT_MS = 90_000;

class Worker {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #asked = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', ({ number, answer }: { number: number; answer: unknown }) => {
      this.#waiting.get(number)?.(answer);
      this.#waiting.delete(number);
    });
  }

  static async start(mode: SharedMode, name: string, longest: number): Promise<Worker> {
    return new Worker(await startWorker(mode, name, { longest }));
  }

  replay(): Promise<ReplayReport> {
    return this.#ask({ replay: { concurrency: 3 } });
  }

  async deliver({ body, headers }: SentDelivery): Promise<string> {
    const request = { deliver: { body: body.toString('base64'), headers } };
    const { outcome, code } = await this.#ask<{ outcome?: string; code?: string }>(request);
    return outcome ?? code ?? '';
  }

  #ask<Answer>(question: object): Promise<Answer> {
    this.#asked += 1;
    const number = this.#asked;
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve as (answer: unknown) => void);
      this.#child.send({ number, ...question });
    });
  }
}

withServers('replay in four processes', () => {
  const pool = new Pool({ connectionString, max: 10 });
  afterAll(() => pool.end());

  const column = async (query: string) => (await pool.query(query)).rows.map((row) => Object.values(row)[0]);

  /** Letters of refunds that nobody has declared; every fifth fails once when it is run. */
  async function kept(mode: SharedMode, count: number) {
    const name = `replay_${randomBytes(6).toString('hex')}`;
    await pool.query(`CREATE SCHEMA ${name}`);
    await pool.query(`CREATE TABLE ${name}.effect (event_id text NOT NULL);
      CREATE TABLE ${name}.run (number bigint GENERATED ALWAYS AS IDENTITY, event_id text NOT NULL,
        began timestamptz NOT NULL DEFAULT clock_timestamp(), ended timestamptz)`);
    const stores = sharedStores(mode, name, { pool, redisUrl });
    const { store, deadLetters } = stores;
    await stores.migrate();
    const hooks = receiver({ privateKey: KEY, logger: false, store, deadLetters });
    const refunds = Array.from({ length: count }, (_, index) => {
      const event = fixtures.event('refund.succeeded', { fails: index % 5 === 0 ? 1 : 0 });
      return { id: event.id, sent: delivery(event) };
    });
    for (const { sent } of refunds) {
      const { body } = await hooks.receive({ rawBody: sent.body, headers: sent.headers });
      expect(JSON.parse(body)).toMatchObject({ outcome: 'kept' });
    }
    const overlapping = () =>
      column(`SELECT a.event_id FROM ${name}.run a JOIN ${name}.run b
        ON a.event_id = b.event_id AND a.number < b.number AND b.began < COALESCE(a.ended, 'infinity')`);
    const effects = () => column(`SELECT event_id FROM ${name}.effect ORDER BY event_id`);
    const runs = () => column(`SELECT event_id FROM ${name}.run ORDER BY event_id`);
    const end = async () => {
      await pool.query(`DROP SCHEMA ${name} CASCADE`);
      await stores.close();
    };
    return { name, hooks, refunds, overlapping, effects, runs, end };
  }

  /** Replays in one process until nothing waits any more. */
  async function replayAll(worker: Worker): Promise<number> {
    let processed = 0;
    await until(async () => {
      const report = await worker.replay();
      processed += report.processed;
      return report.failed + report.inProgress === 0;
    });
    return processed;
  }

  /** As the service: again until it is accepted. */
  async function deliverAll(queue: SentDelivery[], workers: readonly Worker[]): Promise<number> {
    let processed = 0;
    const sender = async () => {
      for (let sent = queue.pop(); sent; sent = queue.pop()) {
        await until(async () => {
          const any = workers[Math.floor(Math.random() * workers.length)];
          const outcome = (await any?.deliver(sent)) ?? '';
          if (outcome === 'processed') processed += 1;
          return outcome === 'processed' || outcome === 'duplicate';
        });
      }
    };
    await Promise.all(Array.from({ length: 6 }, sender));
    return processed;
  }

  test.each<SharedMode>(['transactional', 'postgres', 'redis'])(
    'beside live traffic runs each event until it succeeds, never twice at once: %s',
    async (mode) => {
      const { name, hooks, refunds, overlapping, effects, runs, end } = await kept(mode, 40);
      const workers = await Promise.all(
        Array.from({ length: PROCESSES }, () => Worker.start(mode, name, 15)),
      );
      const live = Array.from({ length: 20 }, (_, index) => {
        const event = fixtures.event('refund.succeeded', { fails: index % 5 === 0 ? 1 : 0 });
        return { id: event.id, sent: delivery(event) };
      });
      // New events, and retries of half of those that are letters.
      const queue = [...live, ...refunds.filter((_, index) => index % 2 === 0)].map(({ sent }) => sent);
      const [byDelivery, ...byReplay] = await Promise.all([
        deliverAll(queue, workers),
        ...workers.map(replayAll),
      ]);
      const ids = [...refunds, ...live].map(({ id }) => id);
      expect(await overlapping()).toEqual([]);
      expect(await effects()).toEqual([...ids].sort());
      const failedOnce = [...refunds, ...live].flatMap(({ id, sent }) =>
        JSON.parse(sent.body.toString()).payload.fails > 0 ? [id] : [],
      );
      expect(await runs()).toEqual([...ids, ...failedOnce].sort());
      expect(await lettersOf(hooks)).toEqual([]);
      const replayed = byReplay.reduce((sum, count) => sum + count, 0);
      expect(replayed).toBeGreaterThan(0);
      expect(byDelivery + replayed).toBe(ids.length);
      await end();
    },
    TIMEOUT_MS,
  );

  test(
    'would be seen to run events twice at once if the claims were not shared',
    async () => {
      const { name, overlapping, end } = await kept('own claims', 12);
      const workers = await Promise.all(
        Array.from({ length: PROCESSES }, () => Worker.start('own claims', name, 300)),
      );
      await Promise.all(workers.map((worker) => worker.replay()));
      expect((await overlapping()).length).toBeGreaterThan(0);
      await end();
    },
    TIMEOUT_MS,
  );
});
