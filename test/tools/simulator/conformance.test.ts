// Both sides of the wire against each other: this package's receiver, and the simulated service that never saw it.
import { expect, test } from '@jest/globals';
import express from 'express';
import { type ReceiverOptions, receiver } from 'payment-webhooks';
import { type FaultKind, faultKinds, type Simulator } from 'payment-webhooks/simulator';
import { shop } from './shop.js';
import { simulator } from './world.js';

async function world(options: ReceiverOptions = {}, service?: Simulator) {
  const running = service ?? (await simulator());
  return { service: running, handled: await shop(running, { sandbox: 'accept', ...options }) };
}

const answers = (service: Simulator) =>
  service
    .deliveries()
    .flatMap(({ attempts }) =>
      attempts.map(({ response }) => [response?.status, JSON.parse(response?.body ?? 'null')]),
    );

test('a delivery is verified, handled and acknowledged', async () => {
  const { service, handled } = await world();
  const [delivery] = await service.trigger('transaction.paid');
  expect(handled).toEqual([delivery?.event_id]);
  expect(answers(service)).toEqual([[200, { received: true, outcome: 'processed' }]]);
});

test('a failing handler is retried on schedule until it succeeds', async () => {
  let failures = 3;
  const { service, handled } = await world({
    handlers: {
      'transaction.paid': () => {
        failures -= 1;
        if (failures >= 0) throw new Error('The database is down.');
      },
    },
  });
  await service.trigger('transaction.paid');
  await service.advance('1m');
  const [delivery] = service.deliveries();
  expect(delivery?.status).toBe('delivered');
  expect(delivery?.attempts.map(({ response }) => response?.status)).toEqual([500, 500, 500, 200]);
  expect(delivery?.attempts[0]?.diagnosis).toMatch(/^Your handler failed/);
  expect(new Set(handled).size).toBe(1);
});

test('sandbox events arrive as such', async () => {
  const { service, handled } = await world({ sandbox: 'only' });
  await service.trigger('transaction.paid');
  await service.trigger('transaction.paid', { sandbox: true });
  expect(handled).toHaveLength(1);
  expect(answers(service).map(([, body]) => body.outcome)).toEqual(['ignored', 'processed']);
});

test('sandbox events may be signed with the sandbox key', async () => {
  const service = await simulator({ sandboxSigning: 'sandbox-key' });
  const { handled } = await world({ privateKey: [service.privateKey, service.sandboxKey] }, service);
  await service.trigger('transaction.paid', { sandbox: true });
  expect(handled).toHaveLength(1);
});

test('a payload that does not fit is 422, and the diagnosis says so', async () => {
  const { service } = await world();
  await service.trigger('transaction.paid', { payload: { transaction: { status: '1' as never } } });
  const [attempt] = service.deliveries()[0]?.attempts ?? [];
  expect(attempt?.response?.status).toBe(422);
  expect(attempt?.diagnosis).toMatch(/^Your endpoint rejected the event\./);
});

test('express.json() before the receiver is named as the cause', async () => {
  const service = await simulator();
  const app = express();
  app.use(express.json());
  app.post('/hooks', receiver({ privateKey: service.privateKey, logger: false }));
  await service.attach(app, '/hooks');
  const [delivery] = await service.trigger('transaction.paid');
  expect(delivery?.attempts[0]?.diagnosis).toBe(
    'Your receiver no longer has the raw body: express.json() runs before receiver(). Mount receiver() first.',
  );
});

test('500 events at once are each handled once', async () => {
  const { service, handled } = await world();
  const deliveries = await service.trigger('transaction.paid', {}, { count: 500 });
  expect(deliveries.every(({ status }) => status === 'delivered')).toBe(true);
  expect(new Set(handled)).toEqual(new Set(deliveries.map(({ event_id }) => event_id)));
  expect(handled).toHaveLength(500);
});

/** The faults that a receiver refuses before a handler runs. */
const REFUSED: ReadonlySet<FaultKind> = new Set([
  'tamper_body',
  'reserialize_body',
  'wrong_key',
  'missing_signature',
  'uppercase_signature',
]);

test.each([...faultKinds])(
  'with the fault %s no event is lost, and none is processed twice',
  async (kind) => {
    const { service, handled } = await world();
    service.faults.add({ kind, times: 3, delayMs: 20 });
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      for (const { event_id } of await service.trigger('transaction.paid')) ids.push(event_id);
      if (REFUSED.has(kind) && n === 2) expect(handled).toEqual([]);
    }
    await service.advance('10m');
    expect([...handled].sort()).toEqual([...ids].sort());
    expect(service.deliveries().every(({ status }) => status === 'delivered')).toBe(true);
    const labelled = service
      .deliveries()
      .flatMap(({ attempts }) => attempts.filter(({ fault }) => fault === kind));
    expect(labelled).toHaveLength(3);
    if (!REFUSED.has(kind)) return;
    for (const { response, diagnosis } of labelled) {
      expect(response).toMatchObject({ status: 401, body: '{"message":"Unauthenticated."}' });
      expect(diagnosis).toMatch(/^Rejected, as expected/);
    }
  },
);
