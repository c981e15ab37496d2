// Replay in four processes next to live traffic: no event runs twice at once, and none is skipped.
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { ReplayReport } from 'payment-webhooks';
import type { SentDelivery } from '../setup/delivery.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { needing } from '../setup/platform.js';
import type { SharedMode } from '../setup/shared-stores.js';
import { until } from '../setup/waiting.js';
import { refundThatFails, workerProcesses } from './worker-processes.js';

const PROCESSES = 4;
const TIMEOUT_MS = 90_000;

/** A worker answers each question with its number. */
function ask<Answer>(child: ChildProcess, question: object): Promise<Answer> {
  const number = randomInt(2 ** 47);
  return new Promise((resolve) => {
    const hear = (heard: { number: number; answer: Answer }) => {
      if (heard.number !== number) return;
      child.off('message', hear);
      resolve(heard.answer);
    };
    child.on('message', hear);
    child.send({ number, ...question });
  });
}

const replay = (worker: ChildProcess) => ask<ReplayReport>(worker, { replay: { concurrency: 3 } });

async function deliver(worker: ChildProcess, { body, headers }: SentDelivery): Promise<string> {
  const request = { deliver: { body: body.toString('base64'), headers } };
  const { outcome, code } = await ask<{ outcome?: string; code?: string }>(worker, request);
  return outcome ?? code ?? '';
}

needing('postgres', 'redis-server', 'SQLite').describe('replay in four processes', () => {
  const { keepLetters } = workerProcesses();

  /** Every fifth fails once when it is run. */
  const refunds = (count: number) =>
    Array.from({ length: count }, (_, index) => refundThatFails(index % 5 === 0 ? 1 : 0));

  /** Letters of refunds that nobody has declared, and processes that have declared them. */
  async function started(mode: SharedMode, count: number, longest: number) {
    const letters = refunds(count);
    const kept = await keepLetters(mode, letters, { declared: {}, status: 200 });
    const start = () => kept.startWorker({ longest });
    return { ...kept, letters, workers: await Promise.all(Array.from({ length: PROCESSES }, start)) };
  }

  /** Replays in one process until nothing waits any more. */
  async function replayAll(worker: ChildProcess): Promise<number> {
    let processed = 0;
    await until(async () => {
      const report = await replay(worker);
      processed += report.processed;
      return report.failed + report.inProgress === 0;
    });
    return processed;
  }

  /** As the service: again until it is accepted. */
  async function deliverAll(queue: SentDelivery[], workers: readonly ChildProcess[]): Promise<number> {
    let processed = 0;
    const sender = async () => {
      for (let sent = queue.pop(); sent; sent = queue.pop()) {
        await until(async () => {
          const any = workers[randomInt(workers.length)] as ChildProcess;
          const outcome = await deliver(any, sent);
          if (outcome === 'processed') processed += 1;
          return outcome === 'processed' || outcome === 'duplicate';
        });
      }
    };
    await Promise.all(Array.from({ length: 6 }, sender));
    return processed;
  }

  test.each<SharedMode>(['once', 'postgres', 'redis', 'sqlite'])(
    'next to live traffic runs each event until it succeeds, never twice at once: %s',
    async (mode) => {
      const { name, hooks, letters, workers, ...kept } = await started(mode, 40, 15);
      const live = refunds(20);
      // New events, and retries of half of those that are letters.
      const queue = [...live, ...letters.filter((_, index) => index % 2 === 0)].map(({ sent }) => sent);
      const [byDelivery, ...byReplay] = await Promise.all([
        deliverAll(queue, workers),
        ...workers.map(replayAll),
      ]);
      const ids = [...letters, ...live].map(({ id }) => id);
      expect(await kept.overlapping("'infinity'")).toEqual([]);
      expect(await kept.effects()).toEqual([...ids].sort());
      const failedOnce = [...letters, ...live].flatMap(({ id, sent }) =>
        JSON.parse(sent.body.toString()).payload.fails > 0 ? [id] : [],
      );
      const runs = await kept.column(`SELECT event_id FROM ${name}.run ORDER BY event_id`);
      expect(runs).toEqual([...ids, ...failedOnce].sort());
      expect(await lettersOf(hooks)).toEqual([]);
      const replayed = byReplay.reduce((sum, count) => sum + count, 0);
      expect(replayed).toBeGreaterThan(0);
      expect(byDelivery + replayed).toBe(ids.length);
    },
    TIMEOUT_MS,
  );

  test(
    'would be seen to run events twice at once if the claims were not shared',
    async () => {
      const { workers, overlapping } = await started('own claims', 12, 300);
      await Promise.all(workers.map(replay));
      expect((await overlapping("'infinity'")).length).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
