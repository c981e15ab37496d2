import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import { MeterProvider as RealMeterProvider } from '@opentelemetry/sdk-metrics';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { openTelemetry } from 'payment-webhooks/opentelemetry';
import { badDeliveries, fixtures } from 'payment-webhooks/testing';
import { delivery, KEY } from '../setup/delivery.js';
import { duplicate, processed, startEndpoint } from '../setup/endpoint.js';
import { down } from '../setup/raise.js';
import { makeMetrics, makeTraces, registerMetrics, registerTraces } from '../setup/telemetry.js';
import { until } from '../setup/waiting.js';

const rejections: unknown[] = [];
const note = (reason: unknown) => void rejections.push(reason);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => {
  process.off('unhandledRejection', note);
  expect(rejections).toEqual([]);
});

describe('without an SDK', () => {
  test('deliveries go as they would without an observer', async () => {
    const { post, handled, log } = await startEndpoint({ observer: openTelemetry() });
    const event = fixtures.transactionPaid();
    expect(await post(delivery(event))).toMatchObject(processed);
    expect(await post(delivery(event))).toMatchObject(duplicate);
    expect(handled).toEqual([event.id]);
    expect(log.lines.filter(({ msg }) => msg === 'the observer failed')).toEqual([]);
  });

  test('the observer has no functions, so that it costs nothing', () => {
    const { around, handler, settled } = openTelemetry();
    expect([around, handler, settled]).toEqual([undefined, undefined, undefined]);
  });

  test('it has them as soon as there is one, for spans or for metrics', () => {
    const observer = openTelemetry();
    registerTraces();
    expect(observer.around).toBeInstanceOf(Function);
    trace.disable();
    expect(observer.around).toBeUndefined();
    registerMetrics();
    expect(observer.settled).toBeInstanceOf(Function);
    metrics.disable();
    expect(observer.settled).toBeUndefined();
  });
});

describe('an SDK', () => {
  test('may be registered after the receiver is made', async () => {
    const { post } = await startEndpoint({ observer: openTelemetry() });
    await post();
    const traces = registerTraces();
    const measured = registerMetrics();
    await post();
    await until(() => traces.spans.length === 2);
    expect(await measured.points('webhook.deliveries')).toMatchObject([{ value: 1 }]);
  });

  test('may give way to another', async () => {
    const { post } = await startEndpoint({ observer: openTelemetry() });
    const [earlier, former] = [registerTraces(), registerMetrics()];
    await post();
    trace.disable();
    metrics.disable();
    const [later, latter] = [registerTraces(), registerMetrics()];
    await post();
    await until(() => later.spans.length === 2);
    expect(earlier.spans).toHaveLength(2);
    for (const { points } of [former, latter])
      expect(await points('webhook.deliveries')).toMatchObject([{ value: 1 }]);
  });

  test('may be one for metrics alone, which has no context', async () => {
    const measured = registerMetrics();
    const { post } = await startEndpoint({ observer: openTelemetry() });
    await post();
    expect(await measured.points('webhook.handler.duration')).toHaveLength(1);
    expect(await measured.points('webhook.deliveries')).toMatchObject([{ value: 1 }]);
  });
});

/** What a customer would not want to read there, and what would let others forge events. */
function secretsOf(event: ReturnType<typeof fixtures.transactionPaid>, signature: string): string[] {
  const { customer, transaction, payment_method, metadata } = event.payload;
  const words = [
    ...Object.values(customer ?? {}),
    ...Object.values(metadata ?? {}),
    transaction.amount,
    transaction.order_id,
    payment_method?.card?.fingerprint,
    signature,
    KEY,
    'Authorization',
    'quoted by an error',
  ];
  return words.filter((word): word is string => typeof word === 'string' && word.length > 4);
}

test('nothing that is exported has a customer, an amount, a key, a signature or the text of an error in it', async () => {
  const traces = registerTraces();
  const measured = registerMetrics();
  let fails = true;
  const { post } = await startEndpoint({
    observer: openTelemetry(),
    handlers: {
      '*': (event) => {
        fails = !fails;
        if (fails) throw new Error(`quoted by an error: ${event.payload.customer?.email}`);
      },
    },
  });
  const event = fixtures.transactionPaid({ payload: { customer: { zip_code: 'ZIP 77413' } } });
  const sent = delivery(event);
  const signature = sent.headers['x-service-signature'] ?? '';
  await post({ ...sent, headers: { ...sent.headers, Authorization: 'Basic secret' } });
  await post(sent);
  await post(delivery(fixtures.transactionPaid()));
  await post(delivery({ ...event, id: 'other', payload: { ...event.payload, transaction: {} } }));
  for (const bad of badDeliveries(event, { privateKey: KEY }))
    await post({ body: Buffer.from(bad.body), headers: bad.headers });
  const spans = traces.spans.map(({ name, status, attributes, events, links }) => {
    return { name, status, attributes, events, links };
  });
  const exported = JSON.stringify([spans, await measured.all()]);
  expect(exported).toContain(event.id);
  expect(exported).toContain('HANDLER_FAILED');
  expect(secretsOf(event, signature).filter((word) => exported.includes(word))).toEqual([]);
});

const processor = { onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {} };
const withProcessor = (broken: object) =>
  new NodeTracerProvider({ spanProcessors: [{ ...processor, ...broken }] });
const meter = new RealMeterProvider().getMeter('broken');
const brokenMeter = { createCounter: () => ({ add: down }), createHistogram: () => ({ record: down }) };
const brokenCounter: MeterProvider = { getMeter: () => Object.assign(Object.create(meter), brokenMeter) };

test.each<[string, object]>([
  ['has no tracer to give', { tracerProvider: { getTracer: down } satisfies TracerProvider }],
  ['cannot begin a span', { tracerProvider: withProcessor({ onStart: down }) }],
  ['cannot end a span', { tracerProvider: withProcessor({ onEnd: down }) }],
  ['has no meter to give', { meterProvider: { getMeter: down } satisfies MeterProvider }],
  ['cannot count', { meterProvider: brokenCounter }],
])('a provider that %s harms no delivery, and is logged', async (_what, options) => {
  const endpoint = await startEndpoint({ observer: openTelemetry(options) });
  expect(await endpoint.post()).toMatchObject(processed);
  expect(endpoint.handled).toHaveLength(1);
  await until(() => endpoint.log.lines.some(({ msg }) => msg === 'the observer failed'));
  expect(endpoint.hooks.inFlight).toBe(0);
});

describe('openTelemetry()', () => {
  test.each([
    ['an option that does not exist', { tracer: {} }, 'Unknown option "tracer"'],
    ['an invalid tracer provider', { tracerProvider: {} }, 'tracerProvider is an object. Pass'],
    ['an invalid meter provider', { meterProvider: null }, 'meterProvider is null. Pass'],
    ['a slip', 'otel', 'openTelemetry() was given "otel"'],
  ])('refuses %s', (_what, options, message) => {
    expect(() => openTelemetry(options as object)).toThrow(message);
  });

  test.each([[undefined], [{}], [{ tracerProvider: undefined, meterProvider: undefined }]])(
    'takes %j',
    (options) => {
      expect(openTelemetry(options)).toBeInstanceOf(Object);
    },
  );

  test('takes real providers', () => {
    const { provider: tracerProvider } = makeTraces();
    const { provider: meterProvider } = makeMetrics();
    expect(openTelemetry({ tracerProvider, meterProvider }).around).toBeInstanceOf(Function);
  });
});
