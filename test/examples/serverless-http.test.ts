import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import express from 'express';
import { receiver } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import serverless from 'serverless-http';
import { delivery, type SentDelivery } from '../setup/delivery.js';
import { type LambdaEvent, SOURCES } from '../setup/lambda-events.js';
import { ROOT } from '../setup/shell.js';

const privateKey = 'pri_example';
process.env.SERVICE_PRIVATE_KEY = privateKey;
const example = import('../../examples/serverless-http/app.js');

// A function has the log of the package alone, which would be in the output of this test.
beforeAll(() => {
  jest.spyOn(process.stdout, 'write').mockReturnValue(true);
});
afterAll(() => {
  jest.restoreAllMocks();
});

const paid = (order_id: string) =>
  fixtures.transactionPaid({ payload: { transaction: { order_id }, customer: { name: 'Zoë 🦊' } } });
const signed = (content: unknown) => delivery(content, privateKey);

type Handler = ReturnType<typeof serverless>;

async function invoke(handler: Handler, event: LambdaEvent) {
  const answer = (await handler(event, {})) as { statusCode: number; body: string };
  return { statusCode: answer.statusCode, body: JSON.parse(answer.body) };
}

describe.each(SOURCES)('behind $name', ({ name, event }) => {
  test.each([
    ['as text', false],
    ['in base64', true],
  ])('a delivery %s is processed once, and a forged one refused', async (kind, isBase64Encoded) => {
    const { handler, paidOrders } = await example;
    const send = (sent: SentDelivery) => invoke(handler, event(sent, isBase64Encoded));
    const order = `order of ${name} ${kind}`;
    const sent = signed(paid(order));
    expect(await send(sent)).toEqual({ statusCode: 200, body: { received: true, outcome: 'processed' } });
    expect(await send(sent)).toMatchObject({ statusCode: 200, body: { outcome: 'duplicate' } });
    expect(paidOrders).toContain(order);
    expect(await send(delivery(paid('forged'), 'pri_another'))).toMatchObject({ statusCode: 401 });
    expect(paidOrders).not.toContain('forged');
  });
});

test('the rest of the app has its parser', async () => {
  const { handler, paidOrders } = await example;
  paidOrders.add('order-9');
  const [{ event } = SOURCES[0] as never] = SOURCES;
  const get = { ...event(signed({}), false), httpMethod: 'GET', path: '/orders/order-9' };
  expect(await invoke(handler, get as LambdaEvent)).toEqual({ statusCode: 200, body: { paid: true } });
});

test('event.json is signed with the key that its README shows', async () => {
  const { handler } = await example;
  const event = JSON.parse(readFileSync(join(ROOT, 'examples/serverless-http/event.json'), 'utf8'));
  expect(await invoke(handler, event)).toMatchObject({ statusCode: 200, body: { outcome: 'processed' } });
});

test('a parser above the receiver takes the bytes away, and the answer says so', async () => {
  const app = express();
  app.use(express.json());
  app.post('/hooks', receiver({ privateKey, logger: false }));
  const [{ event } = SOURCES[0] as never] = SOURCES;
  expect(await invoke(serverless(app), event(signed(paid('parsed')), false))).toMatchObject({
    statusCode: 500,
    body: { code: 'BODY_CONSUMED' },
  });
});
