// Redrive in three processes that are killed meanwhile: each event once, nothing before its time, and an end.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { Pool } from 'pg';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY } from '../setup/delivery.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { needing } from '../setup/platform.js';
import { type SharedMode, sharedStores } from '../setup/shared-stores.js';
import { until } from '../setup/waiting.js';
import { startWorker } from './worker-processes.js';

const { TEST_POSTGRES_URL: connectionString = '', TEST_REDIS_URL: redisUrl = '' } = process.env;
const withServers = needing('postgres', 'redis-server').describe;
const PROCESSES = 3;
const KILLS = 6;
const CONCURRENCY = 2;
const TIMEOUT_MS = 120_000;
/** How far the clocks of a database and a process may be apart. */
const CLOCKS_MS = 1_000;

withServers('redrive in three processes', () => {
  const pool = new Pool({ connectionString, max: 10 });
  afterAll(() => pool.end());

  const rows = async (query: string) => (await pool.query(query)).rows;

  /** Letters of refunds whose handler was down; each run fails until it has failed so often. */
  async function kept(mode: SharedMode, count: number, fails: number) {
    const name = `redrive_${randomBytes(6).toString('hex')}`;
    await pool.query(`CREATE SCHEMA ${name}`);
    await pool.query(`CREATE TABLE ${name}.effect (event_id text NOT NULL);
      CREATE TABLE ${name}.exhausted (letter_id text NOT NULL);
      CREATE TABLE ${name}.run (number bigint GENERATED ALWAYS AS IDENTITY, event_id text NOT NULL,
        began timestamptz NOT NULL DEFAULT clock_timestamp(), ended timestamptz)`);
    const stores = sharedStores(mode, name, { pool, redisUrl });
    const { store, deadLetters } = stores;
    await stores.migrate();
    const events = { 'refund.succeeded': z.looseObject({}) };
    const hooks = receiver({ privateKey: KEY, logger: false, store, deadLetters, events });
    hooks.on('refund.succeeded', () => Promise.reject(new Error('down')));
    for (let index = 0; index < count; index += 1) {
      const sent = delivery(fixtures.event('refund.succeeded', { fails }));
      expect((await hooks.receive({ rawBody: sent.body, headers: sent.headers })).status).toBe(500);
    }
    const keptAt = new Map(
      (await lettersOf(hooks)).map((letter) => [letter.eventId, letter.keptAt.getTime()]),
    );
    const end = async () => {
      await pool.query(`DROP SCHEMA ${name} CASCADE`);
      await stores.close();
    };
    return { name, hooks, keptAt, end };
  }

  test.each<SharedMode>(['transactional', 'redis'])(
    'processes each of 200 letters once that fail twice, and processes are killed: %s',
    async (mode) => {
      const delays = ['2s', '3s', '4s', '5s', '6s', '7s'];
      const points = [2, 5, 9, 14, 20, 27].map((seconds) => seconds * 1_000);
      const redrive = { delays, every: '500ms', concurrency: CONCURRENCY };
      const { name, hooks, keptAt, end } = await kept(mode, 200, 2);
      const workers = await Promise.all(
        Array.from({ length: PROCESSES }, () => startWorker(mode, name, { redrive })),
      );
      const kills = (async () => {
        for (let killed = 0; killed < KILLS; killed += 1) {
          await pause(600);
          workers[killed % PROCESSES]?.kill('SIGKILL');
          workers[killed % PROCESSES] = await startWorker(mode, name, { redrive });
        }
      })();
      await until(async () => (await lettersOf(hooks)).length === 0, 60_000);
      await kills;

      const effects = (await rows(`SELECT event_id FROM ${name}.effect`)).map(({ event_id }) => event_id);
      // Only what is written through the transaction is exact when a process dies between effect and completion.
      if (mode === 'transactional') expect(effects.sort()).toEqual([...keptAt.keys()].sort());
      expect(new Set(effects).size).toBe(200);
      expect(effects.length - 200).toBeLessThanOrEqual(KILLS * CONCURRENCY);
      const overlapping = await rows(`SELECT a.event_id FROM ${name}.run a JOIN ${name}.run b
        ON a.event_id = b.event_id AND a.number < b.number AND b.began < COALESCE(a.ended, a.began)`);
      expect(overlapping).toEqual([]);
      const runs = await rows(
        `SELECT event_id, (extract(epoch FROM began) * 1000)::float8 AS at,
           row_number() OVER (PARTITION BY event_id ORDER BY number)::int AS run FROM ${name}.run`,
      );
      const early = runs.filter(
        ({ event_id, at, run }) => at < (keptAt.get(event_id) ?? 0) + (points[run - 1] ?? 0) - CLOCKS_MS,
      );
      // A process that is killed has made a try of which no letter tells.
      expect(early.length).toBeLessThanOrEqual(KILLS * CONCURRENCY);
      await end();
    },
    TIMEOUT_MS,
  );

  test(
    'stops after the last delay, and says so once for each letter',
    async () => {
      const redrive = { delays: ['3s', '300ms', '400ms'], every: '100ms', concurrency: CONCURRENCY };
      const { name, hooks, end } = await kept('postgres', 20, 1_000);
      await Promise.all(Array.from({ length: PROCESSES }, () => startWorker('postgres', name, { redrive })));
      const exhausted = () => rows(`SELECT letter_id FROM ${name}.exhausted`);
      await until(async () => (await exhausted()).length >= 20);
      await pause(1_000);
      const letters = await lettersOf(hooks);
      expect((await exhausted()).map(({ letter_id }) => letter_id).sort()).toEqual(
        letters.map(({ id }) => id).sort(),
      );
      expect(letters.map(({ attempts }) => attempts)).toEqual(Array(20).fill(4));
      const runs = await rows(`SELECT count(*)::int AS runs FROM ${name}.run GROUP BY event_id`);
      expect(runs).toEqual(Array(20).fill({ runs: 3 }));
      await end();
    },
    TIMEOUT_MS,
  );
});
