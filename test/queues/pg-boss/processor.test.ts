import { expect, jest, test } from '@jest/globals';
import { type HandlerContext, memoryStore, RetryAfterError, type TransactionPaid } from 'payment-webhooks';
import { enqueue, processor } from 'payment-webhooks/queues/pg-boss';
import { fixtures } from 'payment-webhooks/testing';
import { type BossTrial, ownBossSchema, withPostgres } from '../../setup/boss-trial.js';
import { captureLog } from '../../setup/captured-log.js';
import { faultyStore, rejects } from '../../setup/faulty-store.js';
import { contextOf } from '../../setup/queue-trial.js';
import { gate, until } from '../../setup/waiting.js';

const paid = fixtures.transactionPaid;
const silent = { logger: false } as const;

/** Queues an event with three attempts, which follow one another at once. */
async function queueUp({ boss, queue }: BossTrial, event: ReturnType<typeof paid>, options = {}) {
  const jobOptions = { retryLimit: 2, retryDelay: 0, retryBackoff: false, ...options };
  await enqueue(boss, { queue, jobOptions })(event, contextOf(event));
}

withPostgres('a job', () => {
  const schema = ownBossSchema();

  test('without retryCount is refused: the number of the attempt would be wrong', async () => {
    const work = processor({ '*': () => {} }, silent);
    const job = { id: 'x', name: 'webhooks', data: {}, expireInSeconds: 900 };
    await expect(work([job])).rejects.toThrow('includeMetadata: true');
  });

  test('in a batch runs beside the others, and all are retried when one fails', async () => {
    const trial = await schema.start();
    const events = [paid(), paid(), paid()];
    for (const event of events) await queueUp(trial, event);
    const runs: string[] = [];
    const handle = async (event: TransactionPaid, { attempt }: HandlerContext) => {
      const fails = event.id === events[0]?.id && runs.length < 3;
      runs.push(`${event.id} ${fails ? 'fails' : attempt}`);
      if (fails) throw new Error('no');
    };
    const work = processor({ 'transaction.paid': handle }, { store: memoryStore(), ...silent });
    await trial.work(work, { batchSize: 3 });
    await until(async () => (await trial.jobs()).every(({ state }) => state === 'completed'));
    expect(runs).toHaveLength(4);
    expect(new Set(runs.slice(1)).size).toBe(3);
  });

  test('that failed for good goes to the dead letter queue, where the same function processes it', async () => {
    const letters = await schema.start();
    const trial = await schema.start({ deadLetter: letters.queue });
    const event = paid();
    await queueUp(trial, event);
    await trial.work(processor({ '*': () => Promise.reject(new Error('no')) }, silent));
    const error = { name: 'HandlerError', code: 'HANDLER_FAILED' };
    expect(await trial.job('failed')).toMatchObject({ retry_count: 2, output: error });
    const [letter] = await letters.jobs();
    expect(JSON.parse(letter?.data.rawBody ?? '')).toEqual(event);
    await letters.work(processor({ '*': () => {} }, silent));
    await letters.job('completed');
  });

  test('is given to another worker when its own is stuck, whose signal aborts', async () => {
    const trial = await schema.start();
    await queueUp(trial, paid(), { expireInSeconds: 1 });
    const aborted = gate<unknown>();
    const attempts: number[] = [];
    const handle = async (_event: unknown, { signal, attempt }: HandlerContext) => {
      attempts.push(attempt);
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted.open(signal.reason);
      throw signal.reason;
    };
    await trial.work(processor({ '*': handle }, { store: memoryStore(), ...silent }));
    expect(await aborted.opened).toMatchObject({ code: 'CLAIM_LOST' });
    await trial.job('completed');
    expect(attempts).toEqual([1, 2]);
  });

  test('whose store is down spends no attempt and runs no handler, until it expires', async () => {
    const trial = await schema.start();
    const log = captureLog();
    const store = faultyStore({ claim: rejects });
    const ran: unknown[] = [];
    await queueUp(trial, paid(), { retryLimit: 0, expireInSeconds: 3 });
    await trial.work(processor({ '*': (event) => void ran.push(event) }, { store, logger: log.logger }));
    await until(() => log.lines.some(({ code }) => code === 'STORE_UNAVAILABLE'));
    expect(await trial.jobs()).toMatchObject([{ state: 'active', retry_count: 0 }]);
    await trial.job('failed');
    expect(ran).toEqual([]);
  });
});

test('a job that expires while it waits to run again is not run again', async () => {
  const expiring = new AbortController();
  const handle = jest.fn(() => {
    setImmediate(() => expiring.abort());
    throw new RetryAfterError('1h');
  });
  const { rawBody, headers } = contextOf(paid());
  const data = { rawBody: rawBody.toString(), headers, keyIndex: 0 };
  const job = { id: 'x', name: 'webhooks', data, expireInSeconds: 900, retryCount: 0 };
  const work = processor({ '*': handle }, silent);
  await expect(work([{ ...job, signal: expiring.signal }])).rejects.toMatchObject({ code: 'CLAIM_LOST' });
  expect(handle).toHaveBeenCalledTimes(1);
});

test.each([null, {}, 'postgres://'])('processor() refuses %j for a boss', (boss) => {
  const make = () => processor({ '*': () => {} }, { boss: boss as never });
  expect(make).toThrow('Pass the PgBoss of this worker.');
});
