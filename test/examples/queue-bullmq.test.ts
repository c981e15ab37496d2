import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { type Compiled, compile } from '../setup/compiled.js';
import { delivery } from '../setup/delivery.js';
import { ownRedis, withRedis } from '../setup/own-redis.js';
import { deliverUntilAccepted } from '../setup/persistent-sender.js';
import { freePort } from '../setup/ports.js';
import { type Running, startUntil } from '../setup/shell.js';
import { until } from '../setup/waiting.js';

const [APP, WORKER] = ['examples/queue-bullmq/app.ts', 'examples/queue-bullmq/worker.ts'] as const;
const privateKey = 'pri_example';
const PATIENCE_MS = '400';
/** Half of them of the app, half of the worker. */
const KILLS = 6;

function paymentOf(order_id: string) {
  return fixtures.transactionPaid({ payload: { transaction: { order_id } } });
}

withRedis('the example queue-bullmq', () => {
  const redis = ownRedis(privateKey);
  let compiled: Compiled;
  const running: Running[] = [];

  beforeAll(() => {
    compiled = compile([APP, WORKER]);
  });

  afterAll(async () => {
    await Promise.all(running.map((each) => each.stop()));
    compiled.remove();
  });

  const ordersInLedger = async () =>
    (await redis.client.lrange('ledger', 0, -1)).map((line) => line.slice(0, line.indexOf(' ')));

  test('exports an app for the tests of users, which answers 200 once the event is in the queue', async () => {
    const { app, queue } = await import('../../examples/queue-bullmq/app.js');
    await queue.waitUntilReady();
    const event = paymentOf('in-process');
    for (let copy = 0; copy < 2; copy += 1) {
      const answer = await deliver(app, event, { privateKey });
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    }
    expect(await queue.getWaiting()).toMatchObject([{ id: `live-${event.id}` }]);
    await queue.obliterate();
    await queue.close();
  }, 90_000);

  test('loses no event when app and worker are killed with kill -9, again and again', async () => {
    const port = await freePort();
    const env = { PORT: String(port), SERVICE_PRIVATE_KEY: privateKey, PATIENCE_MS };
    const startApp = () => startUntil('http://localhost:', `exec node ${compiled.of(APP)}`, env);
    const startWorker = () => startUntil('Working on the events', `exec node ${compiled.of(WORKER)}`, env);
    running.push(await startApp(), await startWorker());
    let kills = 0;
    const orders: string[] = [];
    const lane = async () => {
      while (kills < KILLS) {
        const order = `order-${orders.length}`;
        orders.push(order);
        await deliverUntilAccepted(port, delivery(paymentOf(order), privateKey));
        await pause(5);
      }
    };
    const sending = Promise.all(Array.from({ length: 4 }, lane));
    for (; kills < KILLS; kills += 1) {
      await pause(Math.random() * 400);
      const victim = kills % 2;
      await running[victim]?.stop('SIGKILL');
      running[victim] = await (victim === 0 ? startApp() : startWorker());
    }
    await sending;
    const missing = async () => {
      const done = new Set(await ordersInLedger());
      return orders.filter((order) => !done.has(order));
    };
    await until(async () => (await missing()).length === 0, 60_000).catch(() => {});
    expect(await missing()).toEqual([]);
    await Promise.all(running.map((each) => each.stop()));
    // A worker has ten jobs in hand at most, and only those can run again.
    const written = (await ordersInLedger()).filter((order) => orders.includes(order));
    expect(written.length - orders.length).toBeLessThanOrEqual((KILLS / 2) * 10);
  }, 240_000);
});
