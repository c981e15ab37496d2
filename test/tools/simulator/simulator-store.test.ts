// The store is bounded, and never drops a pending delivery.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { call, subscribed, triggered } from './world.js';

test('keeps 500 deliveries, also after the history was cleared, and drops the oldest finished ones', async () => {
  const { service } = await subscribed();
  await service.trigger('transaction.paid', {}, { count: 3 });
  await call(`${service.baseUrl}/_sim/deliveries`, { method: 'DELETE' });
  const first = await service.trigger('transaction.paid', {}, { count: 3 });
  await service.trigger('transaction.paid', {}, { count: 500 });
  expect(service.deliveries()).toHaveLength(500);
  for (const { id } of first) expect(service.deliveries({ id })).toEqual([]);
});

test('never drops a delivery with a pending retry', async () => {
  const { service } = await subscribed({}, 500, 500, 200);
  const waiting = await service.trigger('transaction.paid', {}, { count: 2 });
  await service.trigger('transaction.paid', {}, { count: 600 });
  expect(service.deliveries()).toHaveLength(500);
  expect(service.deliveries({ status: 'retrying' }).map(({ id }) => id)).toEqual(waiting.map(({ id }) => id));
  await service.advance('1m');
  expect(service.deliveries({ id: String(waiting[0]?.id) })[0]?.status).toBe('delivered');
});

test('keeps the latest 100 attempts of a delivery, with their numbers', async () => {
  const { service, delivery } = await triggered();
  for (let n = 0; n < 104; n += 1) await service.resend(String(delivery?.id));
  const attempts = service.deliveries()[0]?.attempts ?? [];
  expect([attempts.length, attempts[0]?.number, attempts.at(-1)?.number]).toEqual([100, 6, 105]);
});

test('memory does not grow between 1,000 and 4,000 events', async () => {
  const { service, received } = await subscribed();
  const heapAfter = async (rounds: number) => {
    for (let round = 0; round < rounds; round += 1) {
      await service.trigger('transaction.paid', {}, { count: 1_000 });
      received.splice(0);
    }
    collectGarbage();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const early = await heapAfter(1);
  const late = await heapAfter(3);
  expect(service.deliveries()).toHaveLength(500);
  // A delivery with its attempt takes some 4 KB: 3,000 that were kept would be 12 MB.
  expect(late - early).toBeLessThan(5);
}, 60_000);

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
