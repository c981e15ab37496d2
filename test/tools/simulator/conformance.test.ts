// Both sides of the wire against each other: this package's receiver, and the simulated service that never saw it.
import { expect, test } from '@jest/globals';
import express from 'express';
import { type ReceiverOptions, receiver } from 'payment-webhooks';
import { faultKinds, type Simulator } from 'payment-webhooks/simulator';
import { DIAGNOSES } from '../../../src/tools/simulator/delivery/diagnose.js';
import { shop } from './shop.js';
import { simulator } from './world.js';

async function world(options: ReceiverOptions = {}) {
  const service = await simulator();
  return { service, handled: await shop(service, { sandbox: 'accept', ...options }) };
}

const attemptsOf = (service: Simulator) => service.deliveries().flatMap(({ attempts }) => attempts);
const answers = (service: Simulator) =>
  attemptsOf(service).map(({ response }) => [response?.status, JSON.parse(response?.body ?? 'null')]);

test('a delivery is verified, handled and acknowledged', async () => {
  const { service, handled } = await world();
  const [delivery] = await service.trigger('transaction.paid');
  expect(handled).toEqual([delivery?.event_id]);
  expect(answers(service)).toEqual([[200, { received: true, outcome: 'processed' }]]);
});

test('a failing handler is retried on schedule until it succeeds', async () => {
  let failures = 3;
  const paid = () => {
    failures -= 1;
    if (failures >= 0) throw new Error('The database is down.');
  };
  const { service, handled } = await world({ handlers: { 'transaction.paid': paid } });
  await service.trigger('transaction.paid');
  await service.advance('1m');
  expect(service.deliveries()).toMatchObject([{ status: 'delivered' }]);
  expect(answers(service).map(([status]) => status)).toEqual([500, 500, 500, 200]);
  expect(attemptsOf(service)[0]?.diagnosis).toMatch(/^Your handler failed/);
  expect(new Set(handled).size).toBe(1);
});

test('sandbox events arrive as such', async () => {
  const { service, handled } = await world({ sandbox: 'only' });
  await service.trigger('transaction.paid');
  await service.trigger('transaction.paid', { sandbox: true });
  expect(handled).toHaveLength(1);
  expect(answers(service).map(([, body]) => body.outcome)).toEqual(['ignored', 'processed']);
});

test('a payload that does not fit is 422, and the diagnosis says so', async () => {
  const { service } = await world();
  await service.trigger('transaction.paid', { payload: { transaction: { status: '1' as never } } });
  const diagnosis = expect.stringMatching(/^Your endpoint rejected the event\./);
  expect(attemptsOf(service)).toMatchObject([{ response: { status: 422 }, diagnosis }]);
});

test('express.json() before the receiver is named as the cause', async () => {
  const service = await simulator();
  const hooks = receiver({ privateKey: service.privateKey, logger: false });
  await service.attach(express().use(express.json()).post('/hooks', hooks), '/hooks');
  await service.trigger('transaction.paid');
  expect(attemptsOf(service)).toMatchObject([{ diagnosis: DIAGNOSES.bodyConsumed }]);
});

test('500 events at once are each handled once', async () => {
  const { service, handled } = await world();
  const deliveries = await service.trigger('transaction.paid', {}, { count: 500 });
  expect(deliveries.every(({ status }) => status === 'delivered')).toBe(true);
  expect(new Set(handled)).toEqual(new Set(deliveries.map(({ event_id }) => event_id)));
  expect(handled).toHaveLength(500);
});

/** The faults that a receiver refuses before a handler runs. */
const REFUSED = ['tamper_body', 'reserialize_body', 'wrong_key', 'missing_signature', 'uppercase_signature'];

test.each([...faultKinds])(
  'with the fault %s no event is lost, and none is processed twice',
  async (kind) => {
    const { service, handled } = await world();
    service.faults.add({ kind, times: 3, delayMs: 20 });
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      for (const { event_id } of await service.trigger('transaction.paid')) ids.push(event_id);
      if (REFUSED.includes(kind) && n === 2) expect(handled).toEqual([]);
    }
    await service.advance('10m');
    expect(handled.sort()).toEqual(ids.sort());
    expect(service.deliveries().every(({ status }) => status === 'delivered')).toBe(true);
    const labelled = attemptsOf(service).filter(({ fault }) => fault === kind);
    expect(labelled).toHaveLength(3);
    if (!REFUSED.includes(kind)) return;
    const response = { status: 401, body: '{"message":"Unauthenticated."}' };
    const refused = { response, diagnosis: expect.stringMatching(/^Rejected, as expected/) };
    expect(labelled).toMatchObject([refused, refused, refused]);
  },
);
