import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { fixtures } from 'payment-webhooks/testing';
import type { GatewayEvent } from '../../examples/aws-lambda/handler.js';
import { delivery, type SentDelivery } from '../setup/delivery.js';
import { SOURCES } from '../setup/lambda-events.js';
import { ROOT } from '../setup/shell.js';
import { withoutLog } from './without-log.js';

const privateKey = 'pri_example';
process.env.SERVICE_PRIVATE_KEY = privateKey;
const example = import('../../examples/aws-lambda/handler.js');

withoutLog();

const paid = (order_id: string) =>
  // Text that is not ASCII: its bytes and its characters differ.
  fixtures.transactionPaid({ payload: { transaction: { order_id }, customer: { name: 'Zoë 🦊' } } });
const signed = (content: unknown) => delivery(content, privateKey);

async function invoke(event: GatewayEvent) {
  const { handler } = await example;
  const { statusCode, body, headers } = await handler(event);
  return { statusCode, body: JSON.parse(body), headers };
}

describe.each(SOURCES)('behind $name', ({ name, event }) => {
  describe.each([
    ['as text', false],
    ['in base64', true],
  ])('%s', (kind, isBase64Encoded) => {
    const send = (sent: SentDelivery) => invoke(event(sent, isBase64Encoded));

    test('a delivery is processed once', async () => {
      const order = `order of ${name} ${kind}`;
      const sent = signed(paid(order));
      expect(await send(sent)).toMatchObject({
        statusCode: 200,
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
        body: { received: true, outcome: 'processed' },
      });
      expect((await example).paidOrders).toContain(order);
      expect(await send(sent)).toMatchObject({ statusCode: 200, body: { outcome: 'duplicate' } });
    });

    test('a forged one is refused', async () => {
      const order = `forged of ${name} ${kind}`;
      expect(await send(delivery(paid(order), 'pri_another'))).toMatchObject({ statusCode: 401 });
      const sent = signed(paid(order));
      const longer = { ...sent, body: Buffer.concat([sent.body, Buffer.from(' ')]) };
      expect(await send(longer)).toMatchObject({ statusCode: 401 });
      expect((await example).paidOrders).not.toContain(order);
    });

    test('without a body or a signature it is refused', async () => {
      const sent = signed(paid('unsigned'));
      expect(await send({ ...sent, headers: {} })).toMatchObject({ statusCode: 401 });
      const empty = { ...event(sent, isBase64Encoded), body: null, isBase64Encoded };
      expect(await invoke(empty)).toMatchObject({ statusCode: 400, body: { code: 'BODY_MALFORMED' } });
    });
  });
});

describe('bytes that are not UTF-8', () => {
  const bytes = Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff, 0xfe, 0x00]), Buffer.from('"}')]);
  const [{ event } = SOURCES[0] as never] = SOURCES;

  test('keep their signature in base64, and are refused for what they are', async () => {
    expect(await invoke(event(signed(bytes), true))).toMatchObject({
      statusCode: 400,
      body: { code: 'BODY_MALFORMED' },
    });
  });

  test('lose it as text', async () => {
    const { headers } = signed(bytes);
    // The length would tell too.
    const sent = { ...event({ body: bytes, headers }, false), headers, multiValueHeaders: null };
    expect(await invoke(sent as GatewayEvent)).toMatchObject({ statusCode: 401 });
  });
});

test('a signature that comes twice is refused, though one of them fits', async () => {
  const sent = signed(paid('twice'));
  const [{ event } = SOURCES[0] as never] = SOURCES;
  const given = event(sent, false) as APIGatewayProxyEvent;
  const both = ['0'.repeat(64), sent.headers['x-service-signature'] as string];
  const lists = { ...given.multiValueHeaders, 'X-Service-Signature': both };
  expect(await invoke({ ...given, multiValueHeaders: lists })).toMatchObject({
    statusCode: 401,
  });
});

test('event.json is signed with the key that its README shows', async () => {
  const event = JSON.parse(readFileSync(join(ROOT, 'examples/aws-lambda/event.json'), 'utf8'));
  expect(await invoke(event)).toMatchObject({ statusCode: 200, body: { outcome: 'processed' } });
});
