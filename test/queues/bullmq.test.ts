import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { memoryStore } from 'payment-webhooks';
import { enqueue, processor } from 'payment-webhooks/queues/bullmq';
import { redisStore } from 'payment-webhooks/stores/redis';
import { fixtures } from 'payment-webhooks/testing';
import { type Compiled, compile } from '../setup/compiled.js';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { withRedis } from '../setup/own-redis.js';
import { contextOf, redisUrl, startTrial } from '../setup/queue-trial.js';
import { startRedis } from '../setup/services.js';
import { node } from '../setup/shell.js';
import { gate, until } from '../setup/waiting.js';

const paid = fixtures.transactionPaid;
const silent = { logger: false } as const;
/** A crashed or stuck worker is noticed within a second, instead of within a minute. */
const ATTENTIVE = { lockDuration: 400, stalledInterval: 150, maxStalledCount: 10 } as const;

withRedis('a worker of BullMQ', () => {
  const DYING = 'test/queues/bullmq/dying-worker.ts';
  let client: Redis;
  let compiled: Compiled;
  const prefix = `test:${process.pid}:${Date.now()}:`;

  beforeAll(() => {
    client = new Redis(redisUrl);
    compiled = compile([DYING]);
  });
  afterAll(async () => {
    const left = await client.keys(`${prefix}*`);
    if (left.length > 0) await client.del(left);
    await client.quit();
    compiled.remove();
  });

  test('that is killed in the middle of a job loses nothing: another one runs it', async () => {
    const trial = startTrial();
    const event = paid();
    const { hooks, post } = await startEndpoint({ handlers: {} });
    hooks.on('*', enqueue(trial.queue));
    await post(delivery(event));
    const { code } = await node([compiled.of(DYING), trial.name, redisUrl, prefix]);
    expect(code).not.toBe(0);
    expect(await trial.queue.getActiveCount()).toBe(1);
    const attempts: number[] = [];
    const handlers = { '*': (_: unknown, { attempt }: { attempt: number }) => void attempts.push(attempt) };
    const store = redisStore({ sendCommand: (...args) => client.call(...args), prefix });
    trial.work(processor(handlers, { store, ...silent }), ATTENTIVE);
    expect(await trial.settled()).toMatchObject({ id: `live-${event.id}`, outcome: 'processed' });
    // The number of the attempt that died is not used again.
    expect(attempts).toEqual([2]);
  }, 90_000);

  test('that has lost its lock is not joined by another one while it works', async () => {
    const trial = startTrial();
    const store = memoryStore();
    const event = paid();
    await enqueue(trial.queue)(event, contextOf(event));
    const finish = gate();
    let runs = 0;
    const handlers = {
      '*': async () => {
        runs += 1;
        await finish.opened;
      },
    };
    const options = { store, lease: 5_000, ...silent };
    trial.work(processor(handlers, options), { ...ATTENTIVE, skipLockRenewal: true, skipStalledCheck: true });
    await until(() => runs === 1);
    const stalled = gate<string>();
    trial.work(processor(handlers, options), ATTENTIVE).on('stalled', stalled.open);
    const id = await stalled.opened;
    await until(async () => (await trial.job(id)).isDelayed());
    finish.open();
    await pause(50);
    await (await trial.job(id)).promote();
    await until(() => trial.finished.some(({ outcome }) => outcome === 'duplicate'));
    expect(runs).toBe(1);
  }, 90_000);

  test('that crashes with more others than BullMQ forgives leaves its job, which is retried by the next delivery', async () => {
    const trial = startTrial();
    const event = paid();
    const { hooks, post } = await startEndpoint({ handlers: {}, store: false });
    hooks.on('*', enqueue(trial.queue));
    await post(delivery(event));
    await node([compiled.of(DYING), trial.name, redisUrl, prefix]);
    const handlers = { '*': () => {} };
    const worker = trial.work(processor(handlers, silent), { ...ATTENTIVE, maxStalledCount: 0 });
    expect((await trial.settled()).error?.message).toContain('stalled more than allowable');
    await worker.close();
    expect((await post(delivery(event))).status).toBe(200);
    trial.work(processor(handlers, silent), ATTENTIVE);
    expect(await trial.settled(2)).toMatchObject({ outcome: 'processed' });
  }, 90_000);

  test('that closes finishes the job in hand and leaves the others to the next one', async () => {
    const trial = startTrial();
    const [first, second] = [paid(), paid()];
    for (const event of [first, second]) await enqueue(trial.queue)(event, contextOf(event));
    const [running, finish] = [gate(), gate()];
    const ran: string[] = [];
    const handlers = {
      '*': async ({ id }: { id: string }) => {
        running.open();
        await finish.opened;
        ran.push(id);
      },
    };
    const worker = trial.work(processor(handlers, silent));
    await running.opened;
    let closed = false;
    const closing = worker.close().then(() => {
      closed = true;
    });
    await pause(50);
    expect(closed).toBe(false);
    finish.open();
    await closing;
    expect(ran).toEqual([first.id]);
    const counts = await trial.queue.getJobCounts('completed', 'waiting', 'active');
    expect(counts).toEqual({ completed: 1, waiting: 1, active: 0 });
  });
});

withRedis('while Redis is down', () => {
  test.each([
    ['a queue that waits for it', {}, 503, 'HANDLER_TIMEOUT'],
    ['a queue that fails fast', { enableOfflineQueue: false }, 500, 'HANDLER_FAILED'],
  ])(
    '%s lets no delivery be answered 2xx, and the retry finds one job',
    async (_what, connection, status, code) => {
      const redis = await startRedis();
      const port = redis.port;
      const queue = new Queue('webhooks', { connection: { port, retryStrategy: () => 50, ...connection } });
      queue.on('error', () => {});
      await queue.waitUntilReady();
      const { hooks, post } = await startEndpoint({ handlers: {}, timeout: 300 });
      hooks.on('*', enqueue(queue));
      const event = delivery(paid());
      await redis.stop();
      expect(await post(event)).toMatchObject({ status, body: { code } });
      const back = await startRedis(['--port', String(port)]);
      await queue.waitUntilReady();
      await until(async () => {
        const { status } = await post(event);
        if (status !== 200) expect(status).toBeGreaterThanOrEqual(500);
        return status === 200;
      });
      expect(await queue.getJobCounts('waiting')).toEqual({ waiting: 1 });
      await queue.close();
      await back.stop();
    },
    90_000,
  );
});
