import { describe, expect, jest, test } from '@jest/globals';
import { metrics } from '@opentelemetry/api';
import {
  ConfigurationError,
  type DeadLetterStore,
  memoryDeadLetters,
  type ReceiverOptions,
} from 'payment-webhooks';
import { observeDeadLetters, openTelemetry } from 'payment-webhooks/opentelemetry';
import { fixtures } from 'payment-webhooks/testing';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { hangs, rejects } from '../setup/faulty-store.js';
import { down } from '../setup/raise.js';
import { makeMetrics, registerMetrics } from '../setup/telemetry.js';
import { until } from '../setup/waiting.js';

const NAME = 'webhook.event.name';
const REASON = 'webhook.dead_letter';

async function start(deadLetters: DeadLetterStore = memoryDeadLetters(), options: ReceiverOptions = {}) {
  const endpoint = await startEndpoint({ deadLetters, handlers: { '*': down }, ...options });
  const { hooks } = endpoint;
  const post = (event: object) => endpoint.post(delivery(event));
  // The endpoint does not know that this one has letters.
  return { post, hooks: hooks as typeof hooks & { deadLetters: NonNullable<typeof hooks.deadLetters> } };
}

describe('webhook.dead_letters', () => {
  test('has one series for each reason and declared name, and one for all names from outside', async () => {
    const measured = registerMetrics();
    const { hooks, post } = await start();
    observeDeadLetters(hooks);
    for (const name of ['invented.one', 'invented.two', 'invented.three'])
      await post(fixtures.event(name, {}));
    await post(fixtures.transactionPaid());
    await post(fixtures.transactionPaid());
    await post({ ...fixtures.transactionPaid(), payload: {} });
    const points = await measured.points('webhook.dead_letters');
    expect(points).toHaveLength(3);
    expect(points).toEqual(
      expect.arrayContaining([
        { attributes: { [REASON]: 'unknown', [NAME]: '_OTHER' }, value: 3 },
        { attributes: { [REASON]: 'failed', [NAME]: 'transaction.paid' }, value: 2 },
        { attributes: { [REASON]: 'invalid', [NAME]: 'transaction.paid' }, value: 1 },
      ]),
    );
  });

  test('adds up the receivers of one process, until they are no longer observed', async () => {
    const measured = registerMetrics();
    const [one, other] = [await start(), await start()];
    const stops = [one, other].map(({ hooks }) => observeDeadLetters(hooks));
    for (const { post } of [one, one, other]) await post(fixtures.transactionPaid());
    expect(await measured.value('webhook.dead_letters')).toBe(3);
    stops[0]?.();
    expect(await measured.value('webhook.dead_letters')).toBe(1);
    stops[1]?.();
    expect(await measured.value('webhook.dead_letters')).toBe(0);
  });

  test('is 0 again when the letters are replayed', async () => {
    const measured = registerMetrics();
    const handler = jest.fn(() => {}).mockImplementationOnce(down);
    const { hooks, post } = await start(undefined, { handlers: { '*': handler } });
    observeDeadLetters(hooks);
    await post(fixtures.transactionPaid());
    expect(await measured.value('webhook.dead_letters')).toBe(1);
    expect(await hooks.deadLetters.replay()).toMatchObject({ processed: 1 });
    await until(async () => (await measured.value('webhook.dead_letters')) === 0);
    expect(await measured.value('webhook.dead_letters.age')).toBe(0);
  });

  test.each([
    ['is down', rejects],
    ['hangs', hangs],
  ])('says nothing new while one of the stores %s', async (_, fault) => {
    const measured = registerMetrics();
    const letters = faultyDeadLetters();
    const options = { storeTimeout: 50 };
    const [one, other] = [await start(), await start(letters, options)];
    for (const { hooks } of [one, other]) observeDeadLetters(hooks);
    await one.post(fixtures.transactionPaid());
    letters.faults.list = fault;
    expect(await measured.points('webhook.dead_letters')).toEqual([]);
    expect(await measured.points('webhook.dead_letters.age')).toEqual([]);
  });
});

test('webhook.dead_letters.age is that of the oldest letter in seconds, and 0 without letters', async () => {
  const measured = registerMetrics();
  let now = Date.now() - 3_600_000;
  const { hooks, post } = await start(memoryDeadLetters({ now: () => now }));
  const stop = observeDeadLetters(hooks);
  expect(await measured.value('webhook.dead_letters.age')).toBe(0);
  stop();
  await post(fixtures.transactionPaid());
  now = Date.now();
  await post(fixtures.transactionPaid());
  observeDeadLetters(hooks);
  const age = await measured.value('webhook.dead_letters.age');
  expect(age).toBeGreaterThanOrEqual(3_600);
  expect(age).toBeLessThan(7_200);
});

test('webhook.dead_letters.kept counts deliveries that left a letter, retries too, and none whose letter is gone', async () => {
  const measured = registerMetrics();
  const handler = jest
    .fn(() => {})
    .mockImplementationOnce(down)
    .mockImplementationOnce(down);
  const { post } = await start(undefined, { observer: openTelemetry(), handlers: { '*': handler } });
  const event = fixtures.transactionPaid();
  for (let attempt = 0; attempt < 4; attempt += 1) await post(event);
  await post(fixtures.event('invented.one', {}));
  await post(fixtures.event('invented.two', {}));
  expect(await measured.points('webhook.dead_letters.kept')).toEqual([
    { attributes: { [REASON]: 'failed', [NAME]: 'transaction.paid' }, value: 2 },
    { attributes: { [REASON]: 'unknown', [NAME]: '_OTHER' }, value: 2 },
  ]);
});

test('they go to the provider that is given, and not to the registered one', async () => {
  const registered = registerMetrics();
  const given = makeMetrics();
  const { hooks } = await start();
  observeDeadLetters(hooks, { meterProvider: given.provider });
  expect(await given.value('webhook.dead_letters.age')).toBe(0);
  expect(await registered.all()).toEqual([]);
});

test('without an SDK nothing is counted', async () => {
  metrics.disable();
  const letters = faultyDeadLetters();
  const { hooks } = await start(letters);
  observeDeadLetters(hooks)();
  expect(letters.calls).toEqual([]);
});

test('readers at once count the letters once', async () => {
  const measured = registerMetrics();
  const letters = faultyDeadLetters();
  const { hooks } = await start(letters);
  observeDeadLetters(hooks);
  await Promise.all(Array.from({ length: 10 }, () => measured.all()));
  expect(letters.calls).toEqual(['list']);
});

describe('observeDeadLetters() refuses', () => {
  test('a receiver without dead letters', async () => {
    const { hooks } = await startEndpoint();
    expect(() => observeDeadLetters(hooks as never)).toThrow(ConfigurationError);
    expect(() => observeDeadLetters(hooks as never)).toThrow('Pass what receiver({ deadLetters }) returned.');
    expect(() => observeDeadLetters(undefined as never)).toThrow('observeDeadLetters() was given undefined');
  });

  test('an option that does not exist, and what is no provider', async () => {
    const { hooks } = await start();
    expect(() => observeDeadLetters(hooks, { meter: 1 } as object)).toThrow('Unknown option "meter".');
    expect(() => observeDeadLetters(hooks, { meterProvider: {} as never })).toThrow(
      'Pass an object with getMeter().',
    );
    expect(() => observeDeadLetters(hooks, null as never)).toThrow(ConfigurationError);
  });
});
