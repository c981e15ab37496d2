// test/consumers/serverless.consumer.ts starts it as a Worker; here it is called as one.
import { expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { delivery, type SentDelivery } from '../setup/delivery.js';
import { withoutLog } from './without-log.js';

const privateKey = 'pri_example';
process.env.SERVICE_PRIVATE_KEY = privateKey;

withoutLog();

test('takes deliveries at /hooks, and nothing elsewhere', async () => {
  const { default: worker } = await import('../../examples/cloudflare-workers/worker.js');
  const waits: Promise<unknown>[] = [];
  const context = { waitUntil: (promise: Promise<unknown>) => void waits.push(promise) };
  const post = async ({ body, headers }: SentDelivery, path = '/hooks') => {
    const request = new Request(`https://shop.example${path}`, {
      method: 'POST',
      headers,
      body: body as never,
    });
    return (await worker.fetch(request, {}, context)).status;
  };
  const sent = delivery(fixtures.transactionPaid(), privateKey);
  expect([await post(sent), await post(sent)]).toEqual([200, 200]);
  expect(await post({ ...sent, body: Buffer.concat([sent.body, Buffer.from(' ')]) })).toBe(401);
  expect(await post(sent, '/')).toBe(404);
  expect(waits).toHaveLength(3);
  await Promise.all(waits);
});
