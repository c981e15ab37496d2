import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { type Logger, memoryStore, type ReceiverOptions } from 'payment-webhooks';
import { openTelemetry } from 'payment-webhooks/opentelemetry';
import { enqueue } from 'payment-webhooks/queues/bullmq';
import { fixtures } from 'payment-webhooks/testing';
import { pino } from 'pino';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { withRedis } from '../setup/own-redis.js';
import { startTrial } from '../setup/queue-trial.js';
import { openSocket, wire } from '../setup/raw-socket.js';
import { makeTraces, registerTraces, serverSpan } from '../setup/telemetry.js';
import { gate, until } from '../setup/waiting.js';

const DELIVERY = 'webhook delivery transaction.paid';

/** Behind a server whose requests have a span. */
async function startTraced(options: ReceiverOptions = {}) {
  const traces = registerTraces();
  const traced = { observer: openTelemetry(), handlers: {}, ...options };
  return { traces, ...(await startEndpoint(traced, { before: () => [serverSpan] })) };
}

function idOf(span: ReadableSpan): string {
  return span.spanContext().spanId;
}

function parentOf(span: ReadableSpan): string | undefined {
  return span.parentSpanContext?.spanId;
}

/** A handler that has a span of its own, begun after it has waited for something. */
function working(name: string) {
  return async () => {
    await pause(1);
    await trace.getTracer('shop').startActiveSpan(name, async (span) => {
      await pause(1);
      span.end();
    });
  };
}

describe('the spans', () => {
  test('are a tree: request, delivery, handlers, and what the handlers begin', async () => {
    const { traces, hooks, post } = await startTraced();
    hooks.on('transaction.paid', working('update orders'), { name: 'book' });
    hooks.on('*', working('send mail'), { name: 'receipt' });
    expect(await post()).toMatchObject({ status: 200 });
    await until(() => traces.spans.length === 6);

    const request = traces.span('POST /hooks');
    const delivered = traces.span(DELIVERY);
    const book = traces.span('webhook handler book');
    const receipt = traces.span('webhook handler receipt');
    expect(parentOf(request)).toBeUndefined();
    expect(parentOf(delivered)).toBe(idOf(request));
    expect(parentOf(book)).toBe(idOf(delivered));
    expect(parentOf(receipt)).toBe(idOf(delivered));
    expect(parentOf(traces.span('update orders'))).toBe(idOf(book));
    expect(parentOf(traces.span('send mail'))).toBe(idOf(receipt));
    expect(new Set(traces.spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    expect([delivered, book, receipt].map(({ kind }) => kind)).toEqual(Array(3).fill(SpanKind.INTERNAL));
    expect(delivered.instrumentationScope.name).toBe('payment-webhooks');
  });

  test('of concurrent deliveries do not mix', async () => {
    const { traces, hooks, post } = await startTraced();
    hooks.on('*', working('work'), { name: 'book' });
    const events = Array.from({ length: 20 }, () => fixtures.transactionPaid());
    await Promise.all(events.map((event) => post(delivery(event))));
    await until(() => traces.spans.length === 80);
    for (const event of events) {
      const own = traces.spans.filter((span) => span.attributes['messaging.message.id'] === event.id);
      expect(own.map(({ name }) => name).sort()).toEqual([DELIVERY, 'webhook handler book']);
      expect(new Set(own.map((span) => span.spanContext().traceId)).size).toBe(1);
    }
    expect(new Set(traces.spans.map((span) => span.spanContext().traceId)).size).toBe(20);
  });

  test('continue no trace of the headers by themselves: they are unsigned, and the server’s to judge', async () => {
    const traces = registerTraces();
    const { post } = await startEndpoint({ observer: openTelemetry() });
    const sent = delivery();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await post({ ...sent, headers: { ...sent.headers, traceparent } });
    expect(parentOf(traces.span(DELIVERY))).toBeUndefined();
  });

  test('end as the handlers do, also when that is after the answer', async () => {
    const work = gate();
    const { traces, hooks, post } = await startTraced({ timeout: 30 });
    hooks.on('*', () => work.opened, { name: 'slow' });
    expect(await post()).toMatchObject({ status: 503, body: { code: 'HANDLER_TIMEOUT' } });
    await until(() => traces.spans.length === 2);
    expect(traces.span(DELIVERY)).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'HANDLER_TIMEOUT', 'http.response.status_code': 503 },
    });
    work.open();
    await until(() => traces.spans.length === 3);
    expect(parentOf(traces.span('webhook handler slow'))).toBe(idOf(traces.span(DELIVERY)));
    expect(traces.span('webhook handler slow').status.code).toBe(SpanStatusCode.UNSET);
  });

  test('go to the provider that is given, and not to the registered one', async () => {
    const registered = registerTraces();
    const given = makeTraces();
    const { hooks, post } = await startTraced({
      observer: openTelemetry({ tracerProvider: given.provider }),
    });
    hooks.on('*', () => {}, { name: 'book' });
    await post();
    await until(() => given.spans.length === 2);
    expect(parentOf(given.span('webhook handler book'))).toBe(idOf(given.span(DELIVERY)));
    await until(() => registered.spans.length === 1);
  });

  test('are made by a given provider that is not registered, without a parent', async () => {
    const given = makeTraces();
    const { post } = await startEndpoint({ observer: openTelemetry({ tracerProvider: given.provider }) });
    expect(await post()).toMatchObject({ status: 200 });
    await until(() => given.spans.length === 2);
    expect(given.spans.map(parentOf)).toEqual([undefined, undefined]);
  });
});

describe('the context', () => {
  test('is active in what a handler logs, after it has waited too', async () => {
    const lines: Record<string, unknown>[] = [];
    const mixin = () => ({ span_id: trace.getActiveSpan()?.spanContext().spanId });
    const write = (line: string) => void lines.push(JSON.parse(line));
    const logger = pino({ mixin }, { write }) as Logger;
    const { traces, hooks, post } = await startTraced({ logger });
    hooks.on(
      'transaction.paid',
      async (_event, { log }) => {
        await pause(1);
        log.info('booked');
      },
      { name: 'book' },
    );
    await post();
    await until(() => traces.spans.length === 3);
    const spanOf = (msg: string) => lines.find((line) => line.msg === msg)?.span_id;
    expect(spanOf('booked')).toBe(idOf(traces.span('webhook handler book')));
    expect(spanOf('delivery')).toBe(idOf(traces.span(DELIVERY)));
  });

  test('is active behind a store that has connections of its own', async () => {
    const memory = memoryStore();
    const { traces, hooks, post } = await startTraced({
      store: {
        claim: (...given) =>
          trace.getTracer('redis').startActiveSpan('claim', async (span) => {
            const answer = await memory.claim(...given);
            span.end();
            return answer;
          }),
      },
    });
    hooks.on('*', working('work'), { name: 'book' });
    await post();
    await until(() => traces.spans.length === 5);
    expect(parentOf(traces.span('claim'))).toBe(idOf(traces.span(DELIVERY)));
    expect(parentOf(traces.span('webhook handler book'))).toBe(idOf(traces.span(DELIVERY)));
  });
});

withRedis('with a queue', () => {
  test('the context is active where the job is added', async () => {
    const { queue } = startTrial();
    const { traces, hooks, post } = await startTraced();
    const add: typeof queue.add = (...job) =>
      trace.getTracer('bullmq').startActiveSpan('add job', async (span) => {
        const added = await queue.add(...job);
        span.end();
        return added;
      });
    hooks.on('*', enqueue({ add, getJob: queue.getJob.bind(queue) }));
    const event = fixtures.transactionPaid();
    expect(await post(delivery(event))).toMatchObject({ status: 200 });
    expect(await queue.getJob(`live-${event.id}`)).toBeDefined();
    await until(() => traces.spans.length === 4);
    expect(parentOf(traces.span('add job'))).toBe(idOf(traces.span('webhook handler enqueue')));
  });
});

describe('the attributes', () => {
  test('of a delivery and its handler say what it was and what became of it', async () => {
    const { traces, hooks, post } = await startTraced();
    hooks.on('*', () => {}, { name: 'book' });
    const event = fixtures.transactionPaid({ sandbox: true });
    const sent = delivery(event);
    await post(sent);
    await until(() => traces.spans.length === 3);
    expect(traces.span(DELIVERY)).toMatchObject({ status: { code: SpanStatusCode.UNSET }, events: [] });
    expect(traces.span(DELIVERY).attributes).toEqual({
      'messaging.message.id': event.id,
      'messaging.message.body.size': sent.body.length,
      'http.response.status_code': 200,
      'webhook.event.name': 'transaction.paid',
      'webhook.outcome': 'processed',
      'webhook.sandbox': true,
      'webhook.attempt': 1,
      'webhook.key_index': 0,
    });
    expect(traces.span('webhook handler book').attributes).toEqual({
      'messaging.message.id': event.id,
      'webhook.event.name': 'transaction.paid',
      'webhook.handler.name': 'book',
      'webhook.attempt': 1,
    });
  });

  test('are those of the semantic conventions where there is one', async () => {
    const { traces, hooks, post } = await startTraced();
    hooks.on('*', () => Promise.reject(new TypeError('down')), { name: 'book' });
    await post();
    await until(() => traces.spans.length === 3);
    const known = new Set<unknown>(Object.values(conventions));
    const names = new Set(traces.spans.flatMap(({ attributes }) => Object.keys(attributes)));
    expect([...names].filter((name) => !name.startsWith('webhook.')).sort()).toEqual([
      'error.type',
      'http.response.status_code',
      'messaging.message.body.size',
      'messaging.message.id',
    ]);
    expect([...names].filter((name) => !name.startsWith('webhook.') && !known.has(name))).toEqual([]);
  });

  test('of a refused delivery have the code, and no error status', async () => {
    const { traces, post } = await startTraced();
    await post({ headers: {} });
    await until(() => traces.spans.length === 2);
    const { attributes, status } = traces.span('webhook delivery');
    expect(status.code).toBe(SpanStatusCode.UNSET);
    expect(attributes).toEqual({
      'messaging.message.body.size': 0,
      'http.response.status_code': 401,
      'webhook.code': 'SIGNATURE_MISSING',
    });
  });

  test('of a handler that fails have the kind of error, without its message', async () => {
    const { traces, hooks, post } = await startTraced();
    hooks.on('*', () => Promise.reject(new RangeError('ada@example.com is broke')), { name: 'book' });
    hooks.on('*', () => Promise.reject(null), { name: 'mail' });
    await post();
    await until(() => traces.spans.length === 4);
    const failed = (attributes: object) => {
      return { status: { code: SpanStatusCode.ERROR }, events: [], attributes };
    };
    const code = 'HANDLER_FAILED';
    const attributes = { 'error.type': code, 'webhook.code': code, 'http.response.status_code': 500 };
    expect(traces.span('webhook handler book')).toMatchObject(failed({ 'error.type': 'RangeError' }));
    expect(traces.span('webhook handler mail')).toMatchObject(failed({ 'error.type': 'null' }));
    expect(traces.span(DELIVERY)).toMatchObject(failed(attributes));
    const told = traces.spans.map(({ status, attributes }) => ({ status, attributes }));
    expect(JSON.stringify(told)).not.toContain('broke');
  });

  test('have an undeclared event name, but the name of the span has not', async () => {
    const { traces, hooks, post } = await startTraced();
    hooks.onUnknown(() => {}, { name: 'keep' });
    const name = `invented.${'x'.repeat(200)}`;
    const id = 'i'.repeat(200);
    await post(delivery(fixtures.event(name, {}, { id })));
    await until(() => traces.spans.length === 3);
    for (const span of ['webhook delivery', 'webhook handler keep']) {
      expect(traces.span(span).attributes).toMatchObject({
        'webhook.event.name': `${name.slice(0, 63)}…`,
        'messaging.message.id': `${id.slice(0, 63)}…`,
      });
    }
  });

  test('have no status when the sender has left', async () => {
    const work = gate();
    const { traces, hooks, port, senderLeft } = await startTraced();
    hooks.on('*', () => work.opened, { name: 'book' });
    const sender = await openSocket(port);
    sender.write(wire(delivery()));
    await until(() => hooks.inFlight === 1);
    sender.socket.destroy();
    await senderLeft();
    work.open();
    await until(() => traces.spans.length >= 2);
    const { attributes } = traces.span(DELIVERY);
    expect(attributes['webhook.outcome']).toBe('processed');
    expect(Object.keys(attributes)).not.toContain('http.response.status_code');
  });

  test('mark a duplicate whose bytes are others', async () => {
    const { traces, hooks, post } = await startTraced();
    hooks.on('*', () => {}, { name: 'book' });
    const event = fixtures.transactionPaid();
    await post(delivery(event));
    await post(delivery(JSON.stringify(event, null, 1)));
    await until(() => traces.spans.length === 5);
    expect(traces.spans.map(({ attributes }) => attributes)).toContainEqual(
      expect.objectContaining({ 'webhook.outcome': 'duplicate', 'webhook.conflict': true }),
    );
  });
});
