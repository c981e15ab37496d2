// What a deadline of one delivery runs must see the async context of that delivery, and of no other.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import type { RequestHandler } from 'express';
import type { HandlerContext, Logger, ReceiverOptions, TransactionPaid } from 'payment-webhooks';
import { openTelemetry } from 'payment-webhooks/opentelemetry';
import { processor } from 'payment-webhooks/queues/bullmq';
import { pino } from 'pino';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery } from '../setup/delivery.js';
import { expresses, startEndpoint } from '../setup/endpoint.js';
import { faultyStore, hangs, rejects } from '../setup/faulty-store.js';
import { head, openSocket } from '../setup/raw-socket.js';
import { registerTraces, serverSpan } from '../setup/telemetry.js';
import { until } from '../setup/waiting.js';

/** In the order of the alphabet: which of them is answered first is up to the machine. */
const IDS = ['first', 'second', 'third'];
const OWN = IDS.map((id) => [id, id]);

const requestId = new AsyncLocalStorage<string>();
const identify: RequestHandler = (req, _res, next) =>
  requestId.run(String(req.headers['x-request-id']), next);

/** One delivery for each id, some milliseconds apart, so that they wait beside each other. */
function deliverEach(post: (sent: ReturnType<typeof delivery>, id: string) => Promise<unknown>) {
  return Promise.all(
    IDS.map(async (id, index) => {
      await pause(index * 7);
      const { body, headers } = delivery(fixtures.transactionPaid({ id }));
      return post({ body, headers: { ...headers, 'x-request-id': id } }, id);
    }),
  );
}

/** A handler that ends when its signal aborts, and notes whose context its listener saw. */
function noteOnAbort(seen: unknown[], contextOf: () => unknown = () => requestId.getStore()) {
  return ({ id }: TransactionPaid, { signal }: HandlerContext) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => {
        seen.push([id, contextOf()]);
        resolve();
      });
    });
}

describe.each(expresses)('the AsyncLocalStorage of a middleware, on %s', (framework) => {
  const start = (options: ReceiverOptions) =>
    startEndpoint({ logger: false, ...options }, { framework, before: () => [identify] });

  test.each<[string, ReceiverOptions]>([
    ['a handler timed out', { timeout: 60 }],
    ['its claim was lost', { lease: 90, store: faultyStore({ renew: () => Promise.resolve(false) }) }],
    ['its lease lapsed', { lease: 90, store: faultyStore({ renew: rejects }) }],
    ['maxHandlerTime was over', { lease: 90, maxHandlerTime: 20 }],
  ])('is the delivery’s own in an abort listener when %s', async (_, options) => {
    const seen: unknown[] = [];
    const endpoint = await start({ ...options, handlers: { 'transaction.paid': noteOnAbort(seen) } });
    await deliverEach(endpoint.post);
    expect(seen.sort()).toEqual(OWN);
  });

  test('is the delivery’s own where its claim is renewed', async () => {
    const seen: unknown[] = [];
    const renew = (real: () => Promise<unknown>) => {
      seen.push(requestId.getStore());
      return real();
    };
    const handlers = { '*': () => until(() => new Set(seen).size === IDS.length) };
    const { post } = await start({ lease: 240, store: faultyStore({ renew }), handlers });
    await deliverEach(post);
    expect([...new Set(seen)].sort()).toEqual(IDS);
  });

  test.each<[string, ReceiverOptions]>([
    ['a key function', { privateKey: () => new Promise<string>(() => {}) }],
    ['a claim', { store: faultyStore({ claim: hangs }) }],
    ['a completion', { store: faultyStore({ complete: hangs }) }],
    [
      'a handler',
      { timeout: '60ms', handlers: { '*': () => new Promise(() => {}) }, maxHandlerTime: 70, lease: 90 },
    ],
  ])('is the delivery’s own in log lines and records when %s hangs', async (_, options) => {
    const [seen, lines]: [unknown[], Record<string, unknown>[]] = [[], []];
    const logger = pino(
      { mixin: () => ({ requestId: requestId.getStore() }) },
      { write: (line: string) => void lines.push(JSON.parse(line)) },
    ) as Logger;
    const observer = { settled: () => void seen.push(requestId.getStore()) };
    const common = { storeTimeout: 60, handlers: { '*': () => {} } };
    const { post } = await start({ ...common, ...options, observer, logger });
    await deliverEach(post);
    expect(seen.sort()).toEqual(IDS);
    // Lines that a stranger can cause are throttled, so there may be one alone.
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(IDS).toContain(line.requestId);
    for (const line of lines) expect(line.requestId).toBe(line.eventId ?? line.requestId);
  });

  test('is the delivery’s own when a body does not arrive', async () => {
    const seen: unknown[] = [];
    const observer = { settled: () => void seen.push(requestId.getStore()) };
    const { port } = await start({ bodyTimeout: 60, observer });
    await deliverEach(async ({ headers }) => {
      const sender = await openSocket(port);
      sender.write(head([...Object.entries(headers), ['content-length', 100]]));
      expect(await sender.until(/\}$/)).toMatch(/^HTTP\/1\.1 408 /);
    });
    expect(seen.sort()).toEqual(IDS);
  });
});

test('the AsyncLocalStorage of a worker is the job’s own in an abort listener when the job is cancelled', async () => {
  const seen: unknown[] = [];
  const cancel = new AbortController();
  const work = processor({ 'transaction.paid': noteOnAbort(seen) }, { logger: false });
  const jobs = IDS.map((id) => {
    const data = { rawBody: delivery(fixtures.transactionPaid({ id })).body.toString() };
    const moveToDelayed = () => Promise.reject(new Error('not to be delayed'));
    const job = { data, queueName: 'webhooks', attemptsStarted: 1, moveToDelayed };
    return requestId.run(id, () => work(job, 'token', cancel.signal));
  });
  // The handlers begin in microtasks.
  await pause(1);
  requestId.run('whoever cancels', () => cancel.abort());
  await Promise.allSettled(jobs);
  expect(seen).toEqual(OWN);
});

test('the active span is one of the delivery’s own trace in an abort listener', async () => {
  const traces = registerTraces();
  const seen: [string, string | undefined][] = [];
  const active = () => trace.getActiveSpan()?.spanContext().traceId;
  const handlers = { 'transaction.paid': noteOnAbort(seen, active) };
  const options = { timeout: 60, observer: openTelemetry(), handlers };
  const { post } = await startEndpoint(options, { before: () => [serverSpan] });
  await deliverEach(post);
  const own = traces.spans
    .filter(({ name }) => name.startsWith('webhook delivery'))
    .map((span) => [span.attributes['messaging.message.id'], span.spanContext().traceId]);
  expect(new Set(own.map(([, traceId]) => traceId)).size).toBe(IDS.length);
  expect(new Map(seen)).toEqual(new Map(own as [string, string][]));
});
