import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { Histogram } from '@opentelemetry/sdk-metrics';
import { openTelemetry } from 'payment-webhooks/opentelemetry';
import { fixtures } from 'payment-webhooks/testing';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { faultyStore } from '../setup/faulty-store.js';
import { makeMetrics, registerMetrics } from '../setup/telemetry.js';
import { gate, until } from '../setup/waiting.js';

const paid = 'transaction.paid';

describe('webhook.deliveries', () => {
  test('counts by the name of the event, the outcome or code, and the status', async () => {
    const measured = registerMetrics();
    let failures = 1;
    const handler = () => {
      failures -= 1;
      if (failures >= 0) throw new Error('down');
    };
    const { post } = await startEndpoint({ observer: openTelemetry(), handlers: { '*': handler } });
    const sent = delivery();
    await post(sent);
    await post(sent);
    await post(sent);
    await post(sent);
    await post({ ...sent, headers: {} });
    await post(delivery(sent.body, 'pri_other'));
    await post(delivery('{'));
    await post(delivery({ ...fixtures.transactionPaid(), payload: {} }));
    await post(delivery(fixtures.event('refund.made', {})));
    const counted = (await measured.points('webhook.deliveries')).map(({ attributes, value }) => [
      attributes['webhook.event.name'],
      attributes['webhook.outcome'] ?? attributes['webhook.code'],
      attributes['http.response.status_code'],
      value,
    ]);
    expect(counted).toEqual([
      [paid, 'HANDLER_FAILED', 500, 1],
      [paid, 'processed', 200, 1],
      [paid, 'duplicate', 200, 2],
      [undefined, 'SIGNATURE_MISSING', 401, 1],
      [undefined, 'SIGNATURE_MISMATCH', 401, 1],
      [undefined, 'BODY_MALFORMED', 400, 1],
      [paid, 'EVENT_INVALID', 422, 1],
      ['_OTHER', 'ignored', 200, 1],
    ]);
    const keys = (await measured.points('webhook.deliveries')).flatMap(({ attributes }) =>
      Object.keys(attributes),
    );
    expect([...new Set(keys)].sort()).toEqual([
      'http.response.status_code',
      'webhook.code',
      'webhook.event.name',
      'webhook.outcome',
      'webhook.verdict',
    ]);
  });

  test.each(['accept', 'ignore'] as const)(
    'has one line for a thousand invented names, with sandbox: %s',
    async (sandbox) => {
      const measured = registerMetrics();
      const { hooks, post } = await startEndpoint({ observer: openTelemetry(), handlers: {}, sandbox });
      hooks.onUnknown(() => {}, { name: 'keep' });
      for (let index = 0; index < 1_000; index += 1) {
        const answer = await hooks.receive({
          ...rawOf(delivery(fixtures.event(`invented.name-${index}`, {}, { sandbox: true }))),
        });
        expect(answer.status).toBe(200);
      }
      await post(delivery(fixtures.transactionPaid({ sandbox: true })));
      expect(await measured.points('webhook.deliveries')).toEqual([
        { attributes: expect.objectContaining({ 'webhook.event.name': '_OTHER' }), value: 1_000 },
        { attributes: expect.objectContaining({ 'webhook.event.name': paid }), value: 1 },
      ]);
      const points = (await measured.all()).map(({ dataPoints }) => dataPoints.length);
      expect(Math.max(...points)).toBe(2);
    },
  );
});

function rawOf({ body, headers }: ReturnType<typeof delivery>) {
  return { rawBody: body, headers };
}

describe('the durations', () => {
  test('are in seconds, with buckets that reach from a memory store to a handler that hangs', async () => {
    const measured = registerMetrics();
    const store = faultyStore({ claim: (real) => pause(60).then(real) });
    const { hooks, post } = await startEndpoint({ observer: openTelemetry(), handlers: {}, store });
    hooks.on('*', () => pause(60), { name: 'book' });
    await post();
    const all = await measured.all();
    const durations = all.filter(({ descriptor }) => descriptor.name.endsWith('.duration'));
    expect(durations.map(({ descriptor }) => [descriptor.name, descriptor.unit])).toEqual([
      ['webhook.delivery.duration', 's'],
      ['webhook.handler.duration', 's'],
      ['webhook.store.duration', 's'],
    ]);
    const [delivered, handled, stored] = durations.map(({ dataPoints }) => dataPoints[0]?.value as Histogram);
    for (const took of [delivered, handled, stored]) {
      expect(took?.count).toBe(1);
      expect(took?.sum).toBeGreaterThan(0.04);
      expect(took?.sum).toBeLessThan(40);
    }
    expect(delivered?.buckets.boundaries).toContain(10);
    expect(handled?.buckets.boundaries).toContain(300);
    expect(stored?.buckets.boundaries).toContain(0.0005);
  });

  test('of handlers have the name of the handler and how it ended', async () => {
    const measured = registerMetrics();
    const { hooks, post } = await startEndpoint({ observer: openTelemetry(), handlers: {} });
    hooks.on('*', () => {}, { name: 'book' });
    hooks.on(paid, function mail() {
      throw new Error('down');
    });
    const sent = delivery();
    await post(sent);
    await post(sent);
    const points = await measured.points('webhook.handler.duration');
    const counts = points.map(({ attributes, value }) => [attributes, (value as Histogram).count]);
    expect(counts).toHaveLength(2);
    expect(counts).toContainEqual([
      { 'webhook.handler.name': 'book', 'webhook.handler.status': 'fulfilled' },
      1,
    ]);
    expect(counts).toContainEqual([
      { 'webhook.handler.name': 'mail', 'webhook.handler.status': 'rejected' },
      2,
    ]);
  });

  test('of a store are missing without a store', async () => {
    const measured = registerMetrics();
    const { post } = await startEndpoint({ observer: openTelemetry(), store: false });
    await post();
    expect(await measured.points('webhook.delivery.duration')).toHaveLength(1);
    expect(await measured.points('webhook.store.duration')).toEqual([]);
  });
});

describe('webhook.in_flight', () => {
  test('is how many deliveries are unanswered, those of all receivers together', async () => {
    const measured = registerMetrics();
    const work = gate();
    const start = () => startEndpoint({ observer: openTelemetry(), handlers: { '*': () => work.opened } });
    const [one, other] = [await start(), await start()];
    const posts = [one.post(), one.post(), other.post()];
    await until(() => one.hooks.inFlight + other.hooks.inFlight === 3);
    expect(await measured.value('webhook.in_flight')).toBe(3);
    work.open();
    await Promise.all(posts);
    expect(await measured.value('webhook.in_flight')).toBe(0);
  });

  test('counts one that was answered without its handlers until they have settled', async () => {
    const measured = registerMetrics();
    const work = gate();
    const { hooks, post } = await startEndpoint({ observer: openTelemetry(), handlers: {}, timeout: 20 });
    for (const name of ['book', 'mail']) hooks.on('*', () => work.opened, { name });
    expect(await Promise.all([post(), post()])).toMatchObject([{ status: 503 }, { status: 503 }]);
    expect(hooks.inFlight).toBe(2);
    expect(await measured.value('webhook.in_flight')).toBe(2);
    work.open();
    await until(() => hooks.inFlight === 0);
    expect(await measured.value('webhook.in_flight')).toBe(0);
  });

  test('is as before when a handler has failed', async () => {
    const measured = registerMetrics();
    const { post } = await startEndpoint({
      observer: openTelemetry(),
      handlers: { '*': () => Promise.reject(new Error('down')) },
    });
    expect(await post()).toMatchObject({ status: 500 });
    expect(await measured.value('webhook.in_flight')).toBe(0);
    expect(await measured.value('webhook.in_progress.age')).toBe(0);
  });
});

describe('webhook.in_progress.age', () => {
  test('grows with the oldest running handler, and is 0 without one', async () => {
    const measured = registerMetrics();
    const gates = [gate(), gate()];
    let calls = 0;
    const handler = () => gates[calls++]?.opened;
    const { hooks, post } = await startEndpoint({ observer: openTelemetry(), handlers: { '*': handler } });
    const age = () => measured.value('webhook.in_progress.age');
    const first = post();
    await until(() => calls === 1);
    await pause(60);
    const secondAt = performance.now();
    const second = post();
    await until(() => calls === 2);
    expect(await age()).toBeGreaterThan(0.05);
    gates[0]?.open();
    await first;
    expect(await age()).toBeLessThanOrEqual((performance.now() - secondAt) / 1_000);
    gates[1]?.open();
    await second;
    await until(() => hooks.inFlight === 0);
    expect(await age()).toBe(0);
  });
});

test('the metrics go to the provider that is given, and not to the registered one', async () => {
  const registered = registerMetrics();
  const given = makeMetrics();
  const { post } = await startEndpoint({ observer: openTelemetry({ meterProvider: given.provider }) });
  await post();
  expect(await given.points('webhook.deliveries')).toHaveLength(1);
  expect(await registered.all()).toEqual([]);
});
