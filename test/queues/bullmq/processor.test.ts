import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import {
  EventError,
  HandlerError,
  memoryStore,
  NonRetriableError,
  type TransactionPaid,
  WebhookError,
} from 'payment-webhooks';
import { enqueue, processor, type QueuedDelivery } from 'payment-webhooks/queues/bullmq';
import { fixtures } from 'payment-webhooks/testing';
import { z } from 'zod';
import { asDeployed } from '../../setup/as-deployed.js';
import { captureLog } from '../../setup/captured-log.js';
import { receivable } from '../../setup/delivery.js';
import { startEndpoint } from '../../setup/endpoint.js';
import { faultyStore, repliesAfter } from '../../setup/faulty-store.js';
import { withRedis } from '../../setup/own-redis.js';
import { type QueueTrial, startTrial } from '../../setup/queue-trial.js';
import { gate, until } from '../../setup/waiting.js';

const paid = fixtures.transactionPaid;
const silent = { logger: false } as const;
const refund = z.object({ refund: z.object({ id: z.string(), at: z.coerce.date() }) });
const SOON = { attempts: 3, backoff: { type: 'fixed', delay: 1 } } as const;

/** Queues an event as the receiver does, and returns the id of its job. */
async function queueUp(
  { queue }: QueueTrial,
  event: object,
  more: Partial<QueuedDelivery> = {},
): Promise<string> {
  const { id, sandbox } = event as { id: string; sandbox: boolean };
  const named = { event_name: 'transaction.paid', ...(event as object), id, sandbox };
  const rawBody = Buffer.from(more.rawBody ?? JSON.stringify(event));
  const context = { headers: {}, keyIndex: 0, log: captureLog().logger, ...more, rawBody };
  await enqueue(queue, { jobOptions: SOON })(named, context);
  return `${sandbox ? 'sandbox' : 'live'}-${encodeURIComponent(id)}`;
}

withRedis('a job', () => {
  test('reaches the handlers of its event, and completes with the outcome when all have resolved', async () => {
    const trial = startTrial();
    const event = paid();
    const ran: unknown[] = [];
    const opened = gate();
    let started = 0;
    await queueUp(trial, event);
    const handle = async (given: unknown) => {
      started += 1;
      await opened.opened;
      ran.push(given);
    };
    trial.work(processor({ 'transaction.paid': handle, 'transaction.*': handle, '*': handle }, silent));
    await until(() => started === 3);
    await pause(50);
    expect(trial.finished).toEqual([]);
    opened.open();
    expect(await trial.settled()).toEqual({ id: `live-${event.id}`, outcome: 'processed' });
    expect(ran).toEqual([event, event, event]);
  });

  test('gives handlers the context that the receiver gives them', async () => {
    const trial = startTrial();
    const log = captureLog();
    const event = paid();
    const rawBody = `\uFEFF${JSON.stringify(event)}`;
    const headers = { 'x-account': 'acme' };
    await queueUp(trial, event, { rawBody, headers, keyIndex: 2 });
    const seen = gate<{ signal: AbortSignal; rawBody: Buffer }>();
    const handle = async (
      _event: unknown,
      context: Parameters<typeof seen.open>[0] & { log: typeof log.logger },
    ) => {
      context.log.info({ order: 1 }, 'paid');
      seen.open(context);
    };
    trial.work(processor({ '*': handle }, { logger: log.logger }));
    const context = await seen.opened;
    expect(context).toMatchObject({ attempt: 1, headers, keyIndex: 2 });
    expect(context.rawBody).toEqual(Buffer.from(rawBody));
    expect(context.signal.aborted).toBe(false);
    await trial.settled();
    const [line, summary] = log.lines;
    expect(line).toMatchObject({ msg: 'paid', order: 1, eventId: event.id, eventName: 'transaction.paid' });
    expect(summary).toMatchObject({
      level: 30,
      msg: 'delivery',
      outcome: 'processed',
      attempt: 1,
      sandbox: false,
    });
    expect(summary).not.toHaveProperty('status');
  });

  test('is validated with the schemas of the worker, whose output the handlers get', async () => {
    const trial = startTrial();
    const event = fixtures.event('refund.succeeded', { refund: { id: 'r-1', at: '2026-01-15T09:30:00Z' } });
    await queueUp(trial, event);
    const seen = gate<Date>();
    const handlers = {
      'refund.succeeded': (event: { payload: z.output<typeof refund> }) => seen.open(event.payload.refund.at),
    };
    trial.work(processor(handlers, { events: { 'refund.succeeded': refund }, ...silent }));
    expect(await seen.opened).toEqual(new Date('2026-01-15T09:30:00Z'));
  });

  test('of the sandbox runs like any other, and is an event of its own', async () => {
    const trial = startTrial();
    const ran: boolean[] = [];
    await queueUp(trial, paid({ id: 'evt-1' }));
    await queueUp(trial, paid({ id: 'evt-1', sandbox: true }));
    const handlers = { '*': (event: { sandbox: boolean }) => void ran.push(event.sandbox) };
    trial.work(processor(handlers, { store: memoryStore(), ...silent }));
    await trial.settled(2);
    expect(ran.sort()).toEqual([false, true]);
  });

  test('without a handler for its event is ignored, and that is logged', async () => {
    const trial = startTrial();
    const log = captureLog();
    const event = fixtures.event('refund.succeeded', { refund: { id: 'r-1', at: '2026-01-15' } });
    await queueUp(trial, event);
    const options = { events: { 'refund.succeeded': refund }, logger: log.logger };
    trial.work(processor({ 'transaction.paid': () => {} }, options));
    expect(await trial.settled()).toMatchObject({ outcome: 'ignored' });
    expect(log.lines).toMatchObject([
      { level: 30, outcome: 'ignored', eventId: event.id },
      { level: 40, msg: expect.stringContaining('nothing handles it') },
    ]);
  });
});

withRedis('a job that fails', () => {
  asDeployed();

  test('is retried by BullMQ with the next attempt number until a handler resolves', async () => {
    const trial = startTrial();
    await queueUp(trial, paid());
    const attempts: number[] = [];
    const handle = async (_event: unknown, { attempt }: { attempt: number }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new TypeError('the database is down');
    };
    trial.work(processor({ '*': handle }, silent));
    expect(await trial.settled(3)).toMatchObject({ outcome: 'processed' });
    expect(attempts).toEqual([1, 2, 3]);
  });

  test('names the handler, the kind of error and its place, and never its message', async () => {
    const trial = startTrial();
    const id = await queueUp(trial, paid({ payload: { customer: { name: 'Secret Customer' } } }));
    const handle = async (event: TransactionPaid) => {
      throw Object.assign(new RangeError(`card of ${event.payload.customer?.name}`), {
        code: 'ECONNREFUSED',
      });
    };
    const log = captureLog();
    trial.work(processor({ 'transaction.paid': handle, '*': async () => {} }, { logger: log.logger }));
    const { error } = await trial.settled(3);
    expect(error).toBeInstanceOf(HandlerError);
    expect(error?.message).toBe('HANDLER_FAILED: handle failed with RangeError ECONNREFUSED');
    const stored = await trial.job(id);
    expect(stored.failedReason).toBe(error?.message);
    expect(stored.stacktrace).toHaveLength(3);
    expect(stored.stacktrace?.[0]).toMatch(
      /^HandlerError: HANDLER_FAILED: .*\n {4}at .*processor\.test\.ts:\d+:\d+/,
    );
    const { data: _, ...withoutBody } = stored.asJSON();
    expect(JSON.stringify(withoutBody) + log.text.join()).not.toContain('Secret');
    // What was thrown stays in the process of the worker, for its own `failed` listener.
    expect(error?.cause).toMatchObject({ message: 'card of Secret Customer' });
  });
});

const wrong = paid({ id: 'evt-1', payload: { transaction: { status: 'Secret Status' as never } } });

withRedis("a job whose payload does not fit, with drift: 'handle',", () => {
  test('reaches its handlers as it came, with where it does not fit, and the log says so', async () => {
    const trial = startTrial();
    const log = captureLog();
    await queueUp(trial, wrong);
    const seen: unknown[] = [];
    const handlers: Parameters<typeof processor>[0] = {
      '*': (event, { issues }) => void seen.push(event, issues),
    };
    trial.work(processor(handlers, { drift: 'handle', logger: log.logger }));
    expect(await trial.settled()).toMatchObject({ outcome: 'processed' });
    const issues = [{ path: 'payload.transaction.status', message: expect.any(String) }];
    expect(seen).toEqual([wrong, issues]);
    expect(log.lines).toMatchObject([{ level: 40, outcome: 'processed', issues }]);
  });

  test('comes from the receiver as bytes, and the schemas of the worker decide whether it fits', async () => {
    const trial = startTrial();
    const { hooks } = await startEndpoint({
      drift: 'handle',
      store: false,
      handlers: { '*': enqueue(trial.queue) },
    });
    expect(await hooks.receive(receivable(wrong))).toMatchObject({ status: 200 });
    const seen: unknown[] = [];
    const events = {
      'transaction.paid': z.looseObject({ transaction: z.looseObject({ status: z.string() }) }),
    };
    trial.work(
      processor(
        { '*': (event, { issues }) => void seen.push(event.payload.transaction.status, issues) },
        { events, ...silent },
      ),
    );
    expect(await trial.settled()).toMatchObject({ outcome: 'processed' });
    expect(seen).toEqual(['Secret Status', undefined]);
  });

  test('is retried like any other when a handler fails because of it', async () => {
    const trial = startTrial();
    const id = await queueUp(trial, wrong);
    const handle = ({ payload }: TransactionPaid) => payload.transaction.status.toFixed();
    trial.work(processor({ '*': handle }, { drift: 'handle', ...silent }));
    expect((await trial.settled(3)).error).toBeInstanceOf(HandlerError);
    expect(await trial.job(id)).toMatchObject({ attemptsMade: 3 });
  });
});

withRedis('a job that can never succeed', () => {
  test('because its handler refused the event says so, by the error that BullMQ never retries', async () => {
    const trial = startTrial();
    const id = await queueUp(trial, paid());
    const refuse = () => {
      throw new NonRetriableError('no');
    };
    trial.work(processor({ '*': refuse }, silent));
    expect((await trial.settled()).error?.name).toBe('UnrecoverableError');
    expect((await trial.job(id)).failedReason).toContain('NonRetriableError');
  });

  test.each([
    ['a payload that does not fit', JSON.stringify(wrong), 'EVENT_INVALID: payload.transaction.status: '],
    ['no event', '{"id":"evt-1"}', 'EVENT_INVALID: event_name: '],
    ['no JSON', 'Secret', 'BODY_MALFORMED: The body is not JSON.'],
    ['nothing', '', 'BODY_MALFORMED: The body is empty.'],
  ])('because it holds %s fails for good at once', async (_what, rawBody, reason) => {
    const trial = startTrial();
    const log = captureLog();
    const id = await queueUp(trial, wrong, { rawBody });
    trial.work(processor({ '*': () => {} }, { logger: log.logger }));
    const { error } = await trial.settled();
    const job = await trial.job(id);
    expect(await job.getState()).toBe('failed');
    expect(job).toMatchObject({ attemptsMade: 1, failedReason: expect.stringContaining(reason) });
    expect(WebhookError.is(error?.cause)).toBe(true);
    expect(job.failedReason + job.stacktrace + inspect(error) + log.text).not.toContain('Secret');
  });

  test('shows where the payload does not fit to a listener of the worker', async () => {
    const trial = startTrial();
    await queueUp(trial, wrong);
    trial.work(processor({ '*': () => {} }, silent));
    const { error } = await trial.settled();
    const { cause } = error as { cause?: unknown };
    expect(EventError.is(cause) && cause.issues).toMatchObject([{ path: 'payload.transaction.status' }]);
  });

  test.each([[{}], [{ rawBody: 1 }], [null], ['text'], [[1]]])(
    'because its data is %j fails at once',
    async (data) => {
      const trial = startTrial();
      await trial.queue.add('other', data, SOON);
      trial.work(processor({ '*': () => {} }, silent));
      expect((await trial.settled()).error?.message).toContain('Add jobs to this queue with enqueue() only');
      expect(await trial.queue.getJobCounts('failed', 'delayed', 'waiting')).toEqual({
        failed: 1,
        delayed: 0,
        waiting: 0,
      });
    },
  );
});

withRedis('a signal', () => {
  test('aborts at the timeout, and a handler that never took it may finish late: the event is not run again', async () => {
    const trial = startTrial();
    const id = await queueUp(trial, paid());
    const log = captureLog();
    const store = memoryStore();
    const finish = gate();
    let runs = 0;
    const aborted = gate();
    const watch = (_event: unknown, { signal }: { signal: AbortSignal }) =>
      signal.addEventListener('abort', () => aborted.open());
    const handle = async () => {
      runs += 1;
      await finish.opened;
    };
    const handlers = { '*': handle, 'transaction.paid': watch };
    trial.work(processor(handlers, { store, timeout: 50, logger: log.logger }));
    await aborted.opened;
    expect((await trial.settled()).error).toMatchObject({
      code: 'HANDLER_TIMEOUT',
      message: expect.stringContaining('HANDLER_TIMEOUT'),
    });
    await until(() => log.lines.some(({ code }) => code === 'IN_PROGRESS'));
    finish.open();
    await until(() => log.lines.some(({ msg }) => msg === 'handlers settled after the answer'));
    await (await trial.job(id)).promote();
    expect(await trial.settled(2)).toMatchObject({ outcome: 'duplicate' });
    expect(runs).toBe(1);
  });

  test('makes a handler fail that took it and returns after the abort: the event runs again', async () => {
    const trial = startTrial();
    await queueUp(trial, paid());
    const attempts: number[] = [];
    const handle = async (_event: unknown, { signal, attempt }: { signal: AbortSignal; attempt: number }) => {
      attempts.push(attempt);
      if (attempt === 1) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    trial.work(processor({ '*': handle }, { store: memoryStore(), timeout: 50, logger: false }));
    expect((await trial.settled()).error).toMatchObject({
      code: 'HANDLER_TIMEOUT',
      message: 'HANDLER_TIMEOUT: Not finished after 50 ms: handle.',
    });
    expect(await trial.settled(2)).toMatchObject({ outcome: 'processed' });
    expect(attempts).toEqual([1, 2]);
  });

  test('aborts when the worker cancels the job', async () => {
    const trial = startTrial();
    const id = await queueUp(trial, paid());
    const running = gate();
    const handle = async (_event: unknown, { signal, attempt }: { signal: AbortSignal; attempt: number }) => {
      running.open();
      if (attempt > 1) return;
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const worker = trial.work(processor({ '*': handle }, silent));
    await running.opened;
    worker.cancelJob(id);
    expect((await trial.settled()).error).toMatchObject({
      code: 'HANDLER_FAILED',
      cause: { code: 'CLAIM_LOST' },
    });
  });
});

withRedis('with a store', () => {
  test('an event in progress elsewhere waits for a second at most, and spends no attempt', async () => {
    const trial = startTrial();
    const event = paid();
    const inner = memoryStore();
    let first = true;
    const store: typeof inner = {
      claim: async (...asked) => {
        if (!first) return inner.claim(...asked);
        first = false;
        return { status: 'in_progress', retryAfterMs: 30_000 };
      },
    };
    const id = await queueUp(trial, event);
    const queuedAt = performance.now();
    trial.work(processor({ '*': () => {} }, { store, ...silent }));
    await until(async () => (await trial.job(id)).isDelayed());
    const waiting = await trial.job(id);
    expect(waiting.attemptsMade).toBe(0);
    // BullMQ counts from its own clock, so some milliseconds are gone.
    expect(waiting.delay).toBeGreaterThan(500);
    expect(waiting.delay).toBeLessThanOrEqual(1_000);
    expect(await trial.settled()).toMatchObject({ outcome: 'processed' });
    expect(performance.now() - queuedAt).toBeGreaterThan(900);
    expect((await trial.job(id)).attemptsMade).toBe(1);
  });

  test('what the store adds is in the context, and a failure is released for the next attempt', async () => {
    const trial = startTrial();
    const inner = faultyStore({}, { more: { context: { transaction: 'tx' } } as object });
    const store = inner as unknown as import('payment-webhooks').IdempotencyStore<{ transaction: string }>;
    await queueUp(trial, paid());
    const seen: unknown[] = [];
    const handle = async (
      _event: unknown,
      { transaction, attempt }: { transaction: string; attempt: number },
    ) => {
      seen.push([transaction, attempt]);
      if (attempt === 1) throw new Error('again');
    };
    trial.work(processor({ '*': handle }, { store, ...silent }));
    expect(await trial.settled(2)).toMatchObject({ outcome: 'processed' });
    expect(seen).toEqual([
      ['tx', 1],
      ['tx', 2],
    ]);
    expect(inner.calls).toEqual(['claim', 'release', 'claim', 'complete']);
  });

  test('receivers, queues and namespaces that share it do not take each other’s events for done', async () => {
    const [first, second] = [startTrial(), startTrial()];
    const store = memoryStore();
    const event = paid();
    const result = await store.claim(`default:live:${event.id}`, { leaseMs: 1, fingerprint: 'f' });
    if (result.status === 'claimed') await result.claim.complete();
    for (const trial of [first, second]) {
      await queueUp(trial, event);
      trial.work(processor({ '*': () => {} }, { store, ...silent }));
      expect(await trial.settled()).toMatchObject({ outcome: 'processed' });
    }
    const job = await first.job(`live-${event.id}`);
    const other = processor({ '*': () => {} }, { store, namespace: 'other', ...silent });
    expect(await other(job, 'token')).toBe('processed');
    const same = processor({ '*': () => {} }, { store, ...silent });
    expect(await same(job, 'token')).toBe('duplicate');
  });

  test('a lost claim fails the job, whose retry finds the event completed', async () => {
    const trial = startTrial();
    const event = paid();
    const store = faultyStore({ renew: () => false, complete: repliesAfter(0) });
    await queueUp(trial, event);
    const handle = async (_event: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((resolve) => signal.addEventListener('abort', resolve));
    trial.work(processor({ '*': handle }, { store, lease: 60, ...silent }));
    expect((await trial.settled()).error).toMatchObject({ code: 'CLAIM_LOST' });
  });
});

describe('processor() refuses', () => {
  const handlers = { '*': () => {} };

  test.each([
    ['no handler', {}, {}, 'processor() has no handlers. Give at least one, by pattern.'],
    ['missing handlers', undefined, {}, 'processor() has no handlers. Give at least one, by pattern.'],
    ['a list of handlers', [() => {}], {}, 'handlers is a list or a Map'],
    ['a handler that is not a function', { '*': 'paid' }, {}, 'on("*") was given "paid"'],
    ['a misspelled name', { 'transaction.payed': () => {} }, {}, 'Did you mean "transaction.paid"?'],
    ['an unknown option', handlers, { stores: 1 }, 'Unknown option "stores". Did you mean "store"?'],
    ['options of the wrong kind', handlers, 'fast', 'The second argument of processor() is "fast"'],
    ['an object that is not a store', handlers, { store: {} }, 'store is of type object'],
    [
      'a drift that is misspelt',
      handlers,
      { drift: 'handel' },
      'drift is "handel". Give "keep" or "handle".',
    ],
    ['a namespace with a slash', handlers, { namespace: 'a/b' }, 'namespace is "a/b"'],
    ['a lease of nothing', handlers, { lease: 0 }, 'lease is 0'],
    ['a negative timeout', handlers, { timeout: -1 }, 'timeout is -1'],
    ['an object that is not a logger', handlers, { logger: {} }, 'logger is of type object'],
    [
      'an object that is not a schema',
      handlers,
      { events: { 'a.b': {} } },
      'events["a.b"] is of type object',
    ],
  ])('%s', (_what, given, options, message) => {
    expect(() => processor(given as never, options as never)).toThrow(message);
  });

  test('nothing of what is right, without a timeout and without a store', () => {
    expect(processor(handlers, { timeout: 0, store: false, logger: false })).toHaveLength(3);
  });
});
