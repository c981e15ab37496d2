// Redrive in three processes that are killed meanwhile: each event once, nothing before its time, and an end.
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { needing } from '../setup/platform.js';
import type { SharedMode } from '../setup/shared-stores.js';
import { until } from '../setup/waiting.js';
import { refundThatFails, workerProcesses } from './worker-processes.js';

const PROCESSES = 3;
const LETTERS = 80;
const KILLS = 6;
const CONCURRENCY = 2;
const TIMEOUT_MS = 120_000;
/** How far the clocks of a database and a process may be apart. */
const CLOCKS_MS = 500;

needing('postgres', 'redis-server', 'SQLite').describe('redrive in three processes', () => {
  const { keepLetters } = workerProcesses();

  /** Letters of refunds whose handler was down; each run fails until it has failed so often. */
  async function kept(mode: SharedMode, count: number, fails: number) {
    const refunds = Array.from({ length: count }, () => refundThatFails(fails));
    const declared = { 'refund.succeeded': z.looseObject({}) };
    return keepLetters(mode, refunds, { declared, status: 500 });
  }

  test.each<SharedMode>(['once', 'redis', 'sqlite'])(
    'processes each of 80 letters once that fail twice, and processes are killed: %s',
    async (mode) => {
      // Two tries fail on purpose. On a busy machine others may, for which there are more.
      const delays = [2_000, ...Array<number>(15).fill(1_500)];
      const dueAfter = (run: number) => delays.slice(0, run).reduce((sum, delay) => sum + delay, 0);
      const redrive = { delays, every: '500ms', concurrency: CONCURRENCY };
      const { name, hooks, rows, startWorker, ...kept80 } = await kept(mode, LETTERS, 2);
      const keptAt = new Map((await lettersOf(hooks)).map((letter) => [letter.eventId, +letter.keptAt]));
      const workers = await Promise.all(Array.from({ length: PROCESSES }, () => startWorker({ redrive })));
      const kills = (async () => {
        for (let killed = 0; killed < KILLS; killed += 1) {
          await pause(600);
          workers[killed % PROCESSES]?.kill('SIGKILL');
          workers[killed % PROCESSES] = await startWorker({ redrive });
        }
      })();
      await until(async () => (await lettersOf(hooks)).length === 0, 90_000);
      await kills;

      const effects = await kept80.effects();
      // Only what is written inside `once` is exact when a process crashes between effect and completion.
      if (mode === 'once') expect(effects).toEqual([...keptAt.keys()].sort());
      expect(new Set(effects).size).toBe(LETTERS);
      expect(effects.length - LETTERS).toBeLessThanOrEqual(KILLS * CONCURRENCY);
      expect(await kept80.overlapping('a.began')).toEqual([]);
      const runs = await rows(
        `SELECT event_id, (extract(epoch FROM began) * 1000)::float8 AS at,
           row_number() OVER (PARTITION BY event_id ORDER BY number)::int AS run FROM ${name}.run`,
      );
      const early = runs.filter(
        ({ event_id, at, run }) => at < (keptAt.get(event_id) ?? 0) + dueAfter(run) - CLOCKS_MS,
      );
      // A process that is killed has made a try of which no letter tells.
      expect(early.length).toBeLessThanOrEqual(KILLS * CONCURRENCY);
    },
    TIMEOUT_MS,
  );

  test(
    'stops after the last delay, and says so once for each letter',
    async () => {
      const redrive = { delays: ['1s', '300ms', '400ms'], every: '100ms', concurrency: CONCURRENCY };
      const { name, hooks, rows, column, startWorker } = await kept('postgres', 20, 1_000);
      await Promise.all(Array.from({ length: PROCESSES }, () => startWorker({ redrive })));
      const exhausted = () => column(`SELECT letter_id FROM ${name}.exhausted ORDER BY letter_id`);
      await until(async () => (await exhausted()).length >= 20);
      await pause(500);
      const letters = await lettersOf(hooks);
      expect(await exhausted()).toEqual(letters.map(({ id }) => id).sort());
      expect(letters.map(({ attempts }) => attempts)).toEqual(Array(20).fill(4));
      const runs = await rows(`SELECT count(*)::int AS runs FROM ${name}.run GROUP BY event_id`);
      expect(runs).toEqual(Array(20).fill({ runs: 3 }));
    },
    TIMEOUT_MS,
  );
});
