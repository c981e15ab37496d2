import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import type { Histogram } from '@opentelemetry/sdk-metrics';
import type { ReceiverOptions } from 'payment-webhooks';
import { openTelemetry } from 'payment-webhooks/opentelemetry';
import { sqliteDatabase, sqlStore } from 'payment-webhooks/stores/sql';
import { fixtures } from 'payment-webhooks/testing';
import { delivery, receivable } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { faultyStore } from '../setup/faulty-store.js';
import { openSqlite } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { down } from '../setup/raise.js';
import { makeMetrics, registerMetrics } from '../setup/telemetry.js';
import { gate, until } from '../setup/waiting.js';

const paid = 'transaction.paid';

async function start(options: ReceiverOptions = {}) {
  const measured = registerMetrics();
  return { measured, ...(await startEndpoint({ observer: openTelemetry(), ...options })) };
}

describe('webhook.deliveries', () => {
  test('counts by the name of the event, the outcome or code, and the status', async () => {
    const handler = jest.fn(() => {}).mockImplementationOnce(down);
    const { measured, post } = await start({ handlers: { '*': handler } });
    const sent = delivery();
    for (const _ of 'four') await post(sent);
    await post({ ...sent, headers: {} });
    await post(delivery(sent.body, 'pri_other'));
    await post(delivery('{'));
    await post(delivery({ ...fixtures.transactionPaid(), payload: {} }));
    await post(delivery(fixtures.event('refund.made', {})));
    const points = await measured.points('webhook.deliveries');
    const counted = points.map(({ attributes, value }) => [
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
    const keys = points.flatMap(({ attributes }) => Object.keys(attributes));
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
      const { measured, hooks, post } = await start({ handlers: {}, sandbox });
      hooks.onUnknown(() => {}, { name: 'keep' });
      for (let index = 0; index < 1_000; index += 1) {
        const event = fixtures.event(`invented.name-${index}`, {}, { sandbox: true });
        expect(await hooks.receive(receivable(event))).toMatchObject({ status: 200 });
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

describe('the durations', () => {
  test('are in seconds, with buckets that reach from a memory store to a handler that hangs', async () => {
    const store = faultyStore({ claim: (real) => pause(60).then(real) });
    const { measured, hooks, post } = await start({ handlers: {}, store });
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
    const { measured, hooks, post } = await start({ handlers: {} });
    hooks.on('*', () => {}, { name: 'book' });
    hooks.on(paid, function mail() {
      down();
    });
    const sent = delivery();
    await post(sent);
    await post(sent);
    const points = await measured.points('webhook.handler.duration');
    const counts = points.map(({ attributes, value }) => [
      attributes['webhook.handler.name'],
      attributes['webhook.handler.status'],
      (value as Histogram).count,
    ]);
    expect(counts.sort()).toEqual([
      ['book', 'fulfilled', 1],
      ['mail', 'rejected', 2],
    ]);
    expect(points.map(({ attributes }) => Object.keys(attributes).length)).toEqual([2, 2]);
  });

  test('of a store are missing without a store', async () => {
    const { measured, post } = await start({ store: false });
    await post();
    expect(await measured.points('webhook.delivery.duration')).toHaveLength(1);
    expect(await measured.points('webhook.store.duration')).toEqual([]);
  });
});

needing('SQLite').test('webhook.store.batch.size counts the deliveries that shared a statement', async () => {
  const store = sqlStore(sqliteDatabase(openSqlite()));
  await store.migrate();
  const { measured, hooks } = await start({ store, handlers: { '*': () => {} } });
  const receive = (id: string) => {
    const { body, headers } = delivery(fixtures.transactionPaid({ id }));
    return hooks.receive({ rawBody: body, headers });
  };
  const receiveAll = (ids: readonly string[]) => Promise.all(ids.map(receive));
  // The metrics begin with the first delivery.
  await receive('first');
  const answers = await receiveAll(['a', 'b', 'c']);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  const points = await measured.points('webhook.store.batch.size');
  const sizes = points.map(({ attributes, value }) => {
    const { max, sum, buckets } = value as Histogram;
    return [attributes['webhook.store.step'], max, sum, buckets.boundaries.at(-1)];
  });
  expect(sizes.sort()).toEqual([
    ['claim', 3, 4, 200],
    ['complete', 3, 4, 200],
  ]);
});

describe('webhook.in_flight', () => {
  test('is how many deliveries are unanswered, those of all receivers together', async () => {
    const work = gate();
    const handlers = { '*': () => work.opened };
    const one = await start({ handlers });
    const { measured } = one;
    const other = await startEndpoint({ observer: openTelemetry(), handlers });
    const posts = [one.post(), one.post(), other.post()];
    await until(() => one.hooks.inFlight + other.hooks.inFlight === 3);
    expect(await measured.value('webhook.in_flight')).toBe(3);
    work.open();
    await Promise.all(posts);
    expect(await measured.value('webhook.in_flight')).toBe(0);
  });

  test('counts one that was answered without its handlers until they have settled', async () => {
    const work = gate();
    const { measured, hooks, post } = await start({ handlers: {}, timeout: 20 });
    for (const name of ['book', 'mail']) hooks.on('*', () => work.opened, { name });
    expect(await Promise.all([post(), post()])).toMatchObject([{ status: 503 }, { status: 503 }]);
    expect(hooks.inFlight).toBe(2);
    expect(await measured.value('webhook.in_flight')).toBe(2);
    work.open();
    await until(() => hooks.inFlight === 0);
    expect(await measured.value('webhook.in_flight')).toBe(0);
  });

  test('is as before when a handler has failed', async () => {
    const { measured, post } = await start({ handlers: { '*': down } });
    expect(await post()).toMatchObject({ status: 500 });
    expect(await measured.value('webhook.in_flight')).toBe(0);
    expect(await measured.value('webhook.in_progress.age')).toBe(0);
  });
});

test('webhook.in_progress.age grows with the oldest running handler, and is 0 without one', async () => {
  const [oldest, newest] = [gate(), gate()];
  const handler = jest.fn(() => newest.opened).mockReturnValueOnce(oldest.opened);
  const { measured, hooks, post } = await start({ handlers: { '*': handler } });
  const age = () => measured.value('webhook.in_progress.age');
  const first = post();
  await until(() => handler.mock.calls.length === 1);
  await pause(60);
  const secondAt = performance.now();
  const second = post();
  await until(() => handler.mock.calls.length === 2);
  expect(await age()).toBeGreaterThan(0.05);
  oldest.open();
  await first;
  expect(await age()).toBeLessThanOrEqual((performance.now() - secondAt) / 1_000);
  newest.open();
  await second;
  await until(() => hooks.inFlight === 0);
  expect(await age()).toBe(0);
});

test('the metrics go to the provider that is given, and not to the registered one', async () => {
  const registered = registerMetrics();
  const given = makeMetrics();
  const { post } = await startEndpoint({ observer: openTelemetry({ meterProvider: given.provider }) });
  await post();
  expect(await given.points('webhook.deliveries')).toHaveLength(1);
  expect(await registered.all()).toEqual([]);
});
