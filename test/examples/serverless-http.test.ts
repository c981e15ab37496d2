import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import express from 'express';
import { receiver } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import serverless from 'serverless-http';
import { delivery } from '../setup/delivery.js';
import { type LambdaEvent, SOURCES } from '../setup/lambda-events.js';
import { ROOT } from '../setup/shell.js';
import { withoutLog } from './without-log.js';

const privateKey = 'pri_example';
process.env.SERVICE_PRIVATE_KEY = privateKey;
const example = import('../../examples/serverless-http/app.js');

withoutLog();

const paid = (order_id: string) =>
  fixtures.transactionPaid({ payload: { transaction: { order_id }, customer: { name: 'Zoë 🦊' } } });
const signed = (content: unknown) => delivery(content, privateKey);

const [{ event } = SOURCES[0] as never] = SOURCES;

type Handler = ReturnType<typeof serverless>;

async function invoke(handler: Handler, event: LambdaEvent) {
  const answer = (await handler(event, {})) as { statusCode: number; body: string };
  return { statusCode: answer.statusCode, body: JSON.parse(answer.body) };
}

test('the rest of the app has its parser, and sees what was paid', async () => {
  const { handler } = await example;
  const get = { ...event(signed({}), false), httpMethod: 'GET', path: '/orders/order-9' };
  expect(await invoke(handler, get as LambdaEvent)).toEqual({ statusCode: 200, body: { paid: false } });
  expect(await invoke(handler, event(signed(paid('order-9')), false))).toMatchObject({ statusCode: 200 });
  expect(await invoke(handler, get as LambdaEvent)).toEqual({ statusCode: 200, body: { paid: true } });
});

test('event.json is signed with the key that its README shows', async () => {
  const { handler } = await example;
  const shown = JSON.parse(readFileSync(join(ROOT, 'examples/serverless-http/event.json'), 'utf8'));
  expect(await invoke(handler, shown)).toMatchObject({ statusCode: 200, body: { outcome: 'processed' } });
});

test('a parser above the receiver takes the bytes away, and the answer says so', async () => {
  const app = express();
  app.use(express.json());
  app.post('/hooks', receiver({ privateKey, logger: false }));
  expect(await invoke(serverless(app), event(signed(paid('parsed')), false))).toMatchObject({
    statusCode: 500,
    body: { code: 'BODY_CONSUMED' },
  });
});
