// The store is bounded, and never drops a pending delivery.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { endpoint, simulator } from './world.js';

test('keeps 500 deliveries, and drops the oldest finished ones', async () => {
  const service = await simulator();
  const { url } = await endpoint();
  await service.webhooks.create({ url });
  const first = await service.trigger('transaction.paid', {}, { count: 3 });
  await service.trigger('transaction.paid', {}, { count: 500 });
  const kept = service.deliveries();
  expect(kept).toHaveLength(500);
  for (const { id } of first) expect(service.deliveries({ id })).toEqual([]);
});

test('never drops a delivery with a pending retry', async () => {
  const service = await simulator();
  const { url } = await endpoint(500, 500, 200);
  await service.webhooks.create({ url });
  const waiting = await service.trigger('transaction.paid', {}, { count: 2 });
  for (let round = 0; round < 2; round += 1) await service.trigger('transaction.paid', {}, { count: 600 });
  expect(service.deliveries()).toHaveLength(500);
  expect(service.deliveries({ status: 'retrying' }).map(({ id }) => id)).toEqual(waiting.map(({ id }) => id));
  await service.advance('1m');
  expect(service.deliveries({ id: String(waiting[0]?.id) })[0]?.status).toBe('delivered');
});

test('keeps the latest 100 attempts of a delivery, with their numbers', async () => {
  const service = await simulator();
  const { url } = await endpoint();
  await service.webhooks.create({ url });
  const [delivery] = await service.trigger('transaction.paid');
  for (let n = 0; n < 104; n += 1) await service.resend(String(delivery?.id));
  const attempts = service.deliveries()[0]?.attempts ?? [];
  expect([attempts.length, attempts[0]?.number, attempts.at(-1)?.number]).toEqual([100, 6, 105]);
});

test('memory does not grow between 1,000 and 6,000 events', async () => {
  const service = await simulator();
  const { url, received } = await endpoint();
  await service.webhooks.create({ url });
  const heapAfter = async (rounds: number) => {
    for (let round = 0; round < rounds; round += 1) {
      await service.trigger('transaction.paid', {}, { count: 1_000 });
      received.splice(0);
    }
    collectGarbage();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const early = await heapAfter(1);
  const late = await heapAfter(5);
  expect(service.deliveries()).toHaveLength(500);
  // A delivery with its attempt takes some 4 KB: 5,000 that were kept would be 20 MB.
  expect(late - early).toBeLessThan(5);
}, 60_000);

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
