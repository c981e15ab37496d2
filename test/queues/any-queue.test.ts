// The door for any broker: what a job is, and what a worker is told.
import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, jest, test } from '@jest/globals';
import {
  ConfigurationError,
  type HandlerContext,
  type IdempotencyStore,
  memoryStore,
  NonRetriableError,
  type ReceiverOptions,
  RetryAfterError,
  receiver,
  StoreError,
  type TransactionPaid,
} from 'payment-webhooks';
import { enqueue, type Job, processor } from 'payment-webhooks/queues';
import { fixtures } from 'payment-webhooks/testing';
import { z } from 'zod';
import { captureLog } from '../setup/captured-log.js';
import { CREDENTIALS, KEY, receivable } from '../setup/delivery.js';
import { faultyStore, rejects, WRITES_ONCE } from '../setup/faulty-store.js';
import { down, raise } from '../setup/raise.js';
import { gate, until } from '../setup/waiting.js';

const paid = fixtures.transactionPaid;
const silent = { logger: false } as const;
const here = { queue: 'webhooks' } as const;
const wrong = paid({ id: 'evt-1', payload: { transaction: { status: 'Secret Status' as never } } });
const refund = z.object({ refund: z.object({ id: z.string(), at: z.coerce.date() }) });
const REFUND = { refund: { id: 'r-1', at: '2026-01-15T09:30:00Z' } };

/** The job that a receiver makes of an event. */
async function jobOf(event: object = paid(), headers = {}, options: ReceiverOptions = {}): Promise<Job> {
  const jobs: Job[] = [];
  const add = enqueue(async (job) => void jobs.push(job));
  const hooks = receiver({ privateKey: KEY, store: false, ...silent, ...options });
  hooks.on('*', add).onUnknown(add);
  const { rawBody, headers: own } = receivable(event);
  expect(await hooks.receive({ rawBody, headers: { ...headers, ...own } })).toMatchObject({ status: 200 });
  expect(jobs).toHaveLength(1);
  return jobs[0] as Job;
}

describe('enqueue()', () => {
  test('makes one job of an event: its id, its name, and the bytes that were signed, without credentials', async () => {
    const event = paid();
    const job = await jobOf(event, { ...CREDENTIALS, 'x-account': 'acme' });
    expect(job).toEqual({
      id: `live-${event.id}`,
      name: 'transaction.paid',
      data: {
        rawBody: JSON.stringify(event),
        headers: { 'content-type': 'application/json', 'x-account': 'acme' },
        keyIndex: 0,
      },
    });
    expect((await jobOf({ ...event, sandbox: true })).id).toBe(`sandbox-${event.id}`);
    expect(JSON.parse(JSON.stringify(job))).toEqual(job);
  });

  const digest = (id: string) => createHash('sha256').update(id).digest('hex');

  // A message id of AMQP has at most 255 bytes.
  test.each<[string, string, boolean, string]>([
    ['250 characters', 'a'.repeat(250), false, `live-${'a'.repeat(250)}`],
    ['251 characters', 'a'.repeat(251), false, `live-sha256=${digest('a'.repeat(251))}`],
    ['247 characters in sandbox', 'a'.repeat(247), true, `sandbox-${'a'.repeat(247)}`],
    ['248 characters in sandbox', 'a'.repeat(248), true, `sandbox-sha256=${digest('a'.repeat(248))}`],
    ['83 slashes', '/'.repeat(83), false, `live-${'%2F'.repeat(83)}`],
    ['84 slashes', '/'.repeat(84), false, `live-sha256=${digest('/'.repeat(84))}`],
  ])(
    'gives a job of an event whose id has %s an id that any broker takes',
    async (_, id, sandbox, expected) => {
      expect((await jobOf(paid({ id, sandbox }))).id).toBe(expected);
    },
  );

  test('names the event as it was signed, whatever another handler writes on it', async () => {
    const jobs: Job[] = [];
    const hooks = receiver({ privateKey: KEY, store: false, ...silent });
    hooks
      .on('*', (event) => void Object.assign(event, { id: 'other', event_name: 'renamed' }))
      .on(
        '*',
        enqueue(async (job) => void jobs.push(job)),
      );
    const event = paid();
    expect(await hooks.receive(receivable(event))).toMatchObject({ status: 200 });
    expect(jobs).toMatchObject([{ id: `live-${event.id}`, name: 'transaction.paid' }]);
  });

  test('is answered 2xx once the broker has the job, and 500 if it does not take it', async () => {
    const hooks = receiver({ privateKey: KEY, store: false, ...silent });
    const [asked, taken] = [gate(), gate()];
    const send = jest.fn(() => {
      asked.open();
      return taken.opened;
    });
    hooks.on('*', enqueue(send));
    const answered = jest.fn();
    const first = hooks.receive(receivable()).finally(answered);
    await asked.opened;
    expect(answered).not.toHaveBeenCalled();
    taken.open();
    expect(await first).toMatchObject({ status: 200 });
    send.mockRejectedValueOnce(new Error('the channel is closed'));
    expect(await hooks.receive(receivable())).toMatchObject({ status: 500 });
  });

  test.each([undefined, {}, 'webhooks'])('refuses %p', (send) => {
    expect(() => enqueue(send as never)).toThrow(ConfigurationError);
    expect(() => enqueue(send as never)).toThrow(
      'Pass a function that adds a job to your queue: enqueue(async (job) => …).',
    );
  });
});

describe('processor()', () => {
  const verdictOf = async (handler: () => unknown, options: Parameters<typeof processor>[1] = {}) =>
    processor({ '*': handler }, { ...silent, ...options })((await jobOf()).data, here);

  test('runs the handlers of the event with the context of the receiver, and logs it as a delivery', async () => {
    const seen: [unknown, HandlerContext][] = [];
    const log = captureLog();
    const handle = async (...given: [unknown, HandlerContext]) => {
      given[1].log.info({ order: 1 }, 'paid');
      seen.push(given);
    };
    const event = paid();
    const rawBody = `\uFEFF${JSON.stringify(event)}`;
    const data = { rawBody, headers: { 'x-account': 'acme' }, keyIndex: 2 };
    const work = processor({ 'transaction.paid': handle }, { logger: log.logger });
    expect(await work(data, here)).toEqual({ verdict: 'done', outcome: 'processed' });
    const context = { ...data, rawBody: Buffer.from(rawBody), attempt: 1, signal: { aborted: false } };
    expect(seen).toMatchObject([[event, context]]);
    expect(log.lines).toMatchObject([
      { msg: 'paid', order: 1, eventId: event.id, eventName: 'transaction.paid' },
      { level: 30, msg: 'delivery', outcome: 'processed', attempt: 1, sandbox: false },
    ]);
    expect(log.lines[1]).not.toHaveProperty('status');
  });

  test('knows an event again with a store, of each queue, namespace and mode its own, and of no receiver', async () => {
    const store = memoryStore();
    const event = paid();
    const received = await store.claim(`default:live:${event.id}`, { leaseMs: 1, fingerprint: 'f' });
    if (received.status === 'claimed') await received.claim.complete();
    const { data } = await jobOf(event);
    const outcomeOf = (given: unknown, queue: string, namespace?: string) =>
      processor({ '*': () => {} }, { store, namespace, ...silent })(given, { queue, attempt: 3 });
    const processed = { verdict: 'done', outcome: 'processed' };
    expect(await outcomeOf(data, 'webhooks')).toEqual(processed);
    expect(await outcomeOf(data, 'webhooks')).toEqual({ verdict: 'done', outcome: 'duplicate' });
    expect(await outcomeOf(data, 'another')).toEqual(processed);
    expect(await outcomeOf(data, 'webhooks', 'other')).toEqual(processed);
    const { data: sandboxed } = await jobOf({ ...event, sandbox: true });
    expect(await outcomeOf(sandboxed, 'webhooks')).toEqual(processed);
  });

  test('validates with the schemas of the worker, whose output the handlers get', async () => {
    const seen: unknown[] = [];
    const { data } = await jobOf(fixtures.event('refund.succeeded', REFUND));
    const work = processor(
      { 'refund.succeeded': (event) => void seen.push(event.payload.refund.at) },
      { events: { 'refund.succeeded': refund }, ...silent },
    );
    expect(await work(data, here)).toMatchObject({ outcome: 'processed' });
    expect(seen).toEqual([new Date(REFUND.refund.at)]);
  });

  test('ignores an event without a handler, and logs that', async () => {
    const log = captureLog();
    const event = fixtures.event('refund.succeeded', REFUND);
    const options = { events: { 'refund.succeeded': refund }, logger: log.logger };
    const work = processor({ 'transaction.paid': () => {} }, options);
    expect(await work((await jobOf(event)).data, here)).toEqual({ verdict: 'done', outcome: 'ignored' });
    expect(log.lines).toMatchObject([
      { level: 30, outcome: 'ignored', eventId: event.id },
      { level: 40, msg: expect.stringContaining('nothing handles it') },
    ]);
  });

  test('counts attempts by what the worker says, where no store counts them', async () => {
    const attempts: number[] = [];
    const work = processor({ '*': (_, { attempt }) => void attempts.push(attempt) }, silent);
    const { data } = await jobOf();
    await work(data, { ...here, attempt: 3 });
    await work(data, here);
    expect(attempts).toEqual([3, 1]);
  });

  test('claims the event of a job under its queue and namespace', async () => {
    const { data } = await jobOf();
    const { id } = JSON.parse(data.rawBody);
    const claim = jest.fn<IdempotencyStore['claim']>(async () => ({ status: 'completed', fingerprint: 'x' }));
    const work = processor({ '*': () => {} }, { store: { claim }, namespace: 'eu', ...silent });
    expect(await work(data, { queue: 'web hooks' })).toMatchObject({ outcome: 'duplicate' });
    expect(claim.mock.calls.map(([key]) => key)).toEqual([`web%20hooks/eu:live:${id}`]);
  });

  test('takes the JSON of the whole job too, as text or bytes', async () => {
    const work = processor({ '*': () => {} }, silent);
    const text = JSON.stringify(await jobOf());
    for (const whole of [text, Buffer.from(text), new TextEncoder().encode(text)])
      expect(await work(whole, here)).toEqual({ verdict: 'done', outcome: 'processed' });
  });

  const NO_JOBS = [undefined, null, 5, {}, [[1]], { rawBody: 1 }, '', '{', 'null', Buffer.from([0xff])];
  const NOT_QUEUED = 'BODY_MALFORMED: The job has no delivery. Add jobs to this queue with enqueue() only.';
  test.each<[unknown, string]>([
    ...NO_JOBS.map((data): [unknown, string] => [data, NOT_QUEUED]),
    [{ rawBody: '' }, 'BODY_MALFORMED: The body is empty.'],
    [{ rawBody: 'Secret' }, 'BODY_MALFORMED: The body is not JSON.'],
    [{ rawBody: '{"id":"evt-1"}' }, 'EVENT_INVALID: event_name: '],
    [{ rawBody: JSON.stringify(wrong) }, 'EVENT_INVALID: payload.transaction.status: '],
  ])('gives up %j for good, because no retry can succeed, and says why', async (data, reason) => {
    const log = captureLog();
    const end = await processor({ '*': () => {} }, { logger: log.logger })(data, here);
    expect(end).toMatchObject({
      verdict: 'never',
      error: {
        name: expect.stringMatching(/^(Body|Event)Error$/),
        message: expect.stringContaining(reason),
        ...(reason.includes('payload') && { issues: [{ path: 'payload.transaction.status' }] }),
      },
    });
    expect(inspect(end) + log.text).not.toContain('Secret');
  });

  describe("of a payload that does not fit, with drift: 'handle'", () => {
    test('runs its handlers as it came, with where it does not fit, and the log says so', async () => {
      const log = captureLog();
      const seen: unknown[] = [];
      const handle = (event: unknown, { issues }: HandlerContext) => void seen.push(event, issues);
      const work = processor({ '*': handle }, { drift: 'handle', logger: log.logger });
      const { data } = await jobOf(wrong, {}, { drift: 'handle' });
      expect(await work(data, here)).toMatchObject({ outcome: 'processed' });
      const issues = [{ path: 'payload.transaction.status', message: expect.any(String) }];
      expect(seen).toEqual([wrong, issues]);
      expect(log.lines).toMatchObject([{ level: 40, outcome: 'processed', issues }]);
    });

    test('lets the schemas of the worker decide whether it fits', async () => {
      const seen: unknown[] = [];
      const transaction = z.looseObject({ status: z.string() });
      const events = { 'transaction.paid': z.looseObject({ transaction }) };
      const work = processor(
        { '*': (event, { issues }) => void seen.push(event.payload.transaction.status, issues) },
        { events, ...silent },
      );
      const { data } = await jobOf(wrong, {}, { drift: 'handle' });
      expect(await work(data, here)).toMatchObject({ outcome: 'processed' });
      expect(seen).toEqual(['Secret Status', undefined]);
    });

    test('fails like any other when a handler fails because of it', async () => {
      const { data } = await jobOf(wrong, {}, { drift: 'handle' });
      const handle = ({ payload }: TransactionPaid) => payload.transaction.status.toFixed();
      const work = processor({ '*': handle }, { drift: 'handle', ...silent });
      expect(await work(data, here)).toMatchObject({ verdict: 'failed', error: { name: 'HandlerError' } });
    });
  });

  test('a wait that a handler asks for is later, by its time', async () => {
    const end = await verdictOf(() => {
      throw new RetryAfterError('2h');
    });
    expect(end).toEqual({ verdict: 'later', delayMs: 7_200_000 });
  });

  const unreadable = Object.defineProperty(new Error(), 'message', {
    get: () => {
      throw new Error('a secret');
    },
  });
  const coded = Object.assign(new TypeError('Grace Hopper'), { code: 'ECONNRESET' });
  test.each<[string, unknown, 'never' | 'failed', RegExp]>([
    [
      'a refusal',
      new NonRetriableError('Grace Hopper has no account'),
      'never',
      /^NonRetriableError at any-queue\.test\.ts:\d+$/,
    ],
    ['an error', coded, 'failed', /^TypeError ECONNRESET at any-queue\.test\.ts:\d+$/],
    ['null', null, 'failed', /^null$/],
    ['text', 'the card of Grace Hopper', 'failed', /^string$/],
    ['an error whose getters throw', unreadable, 'failed', /^unreadable$/],
  ])(
    '%s is told by codes and names and never by a message, also when it runs again',
    async (_, thrown, verdict, named) => {
      const store = memoryStore();
      for (let run = 0; run < 2; run += 1) {
        const end = await verdictOf(
          () => {
            throw thrown;
          },
          { store },
        );
        expect(end).toMatchObject({
          verdict,
          error: { code: 'HANDLER_FAILED' },
        });
        const { message, stack } = (end as { error: Error }).error;
        const [, cause] = message.split('HANDLER_FAILED: *: ');
        expect(cause).toMatch(named);
        expect(`${message} ${stack}`).not.toMatch(/Grace|Hopper|card|account|secret/);
      }
    },
  );

  test.each([30_000, 200, Number.NaN, -1, Number.POSITIVE_INFINITY, 'soon', undefined])(
    'an event in progress elsewhere (%p) is later, within a second',
    async (retryAfterMs) => {
      const store = { claim: async () => ({ status: 'in_progress', retryAfterMs }) as never };
      const end = await verdictOf(() => {}, { store });
      expect(end).toEqual({ verdict: 'later', delayMs: expect.any(Number) });
      const { delayMs } = end as { delayMs: number };
      expect(delayMs).toBeGreaterThanOrEqual(1);
      expect(delayMs).toBeLessThanOrEqual(1_000);
    },
  );

  test('a store that is down before any handler ran is later, after that failed', async () => {
    const run = jest.fn();
    const down = faultyStore({ claim: rejects });
    expect(await verdictOf(run, { store: down })).toMatchObject({ verdict: 'later' });
    expect(run).not.toHaveBeenCalled();
    const store = faultyStore({ complete: rejects }, { more: WRITES_ONCE });
    const end = await verdictOf(run, { store });
    expect(end).toMatchObject({ verdict: 'failed', error: { code: 'STORE_UNAVAILABLE' } });
    expect(StoreError.is((end as { error: unknown }).error)).toBe(true);
    expect(run).toHaveBeenCalledTimes(1);
  });

  test('an event that this worker does not declare is failed, a newer one may; and so is one whose schema throws', async () => {
    const { name, data } = await jobOf(fixtures.event('refund.made', {}));
    expect(name).toBe('refund.made');
    expect(await processor({ '*': () => {} }, silent)(data, here)).toMatchObject({
      verdict: 'failed',
      error: { code: 'CONFIGURATION_INVALID', message: expect.stringContaining('option events') },
    });
    const schema = z.any().transform(() => {
      throw new Error('the rates are down');
    });
    const work = processor({ '*': () => {} }, { events: { 'refund.made': schema }, ...silent });
    expect(await work(data, here)).toMatchObject({
      verdict: 'failed',
      error: { message: 'HANDLER_FAILED: The schema declared for this event threw.' },
    });
  });

  test.each([
    ['without', false as const],
    ['with', captureLog().logger],
  ])('whose schema throws a value that throws when it is read has failed, %s a logger', async (_, logger) => {
    const validate = () => raise(new Proxy({}, { has: down, get: down, getPrototypeOf: down }));
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const;
    const { data } = await jobOf(fixtures.event('refund.made', {}));
    const work = processor({ '*': () => {} }, { events: { 'refund.made': schema }, logger });
    expect(await work(data, here)).toMatchObject({ verdict: 'failed', error: { code: 'HANDLER_FAILED' } });
  });

  test('what the store adds is in the context, and a failure is released for the next attempt', async () => {
    const forHandler = () => ({ context: { tenant: 'acme' }, end: () => ({ wrote: false }) });
    const inner = faultyStore({}, { more: { forHandler } });
    const store = inner as unknown as IdempotencyStore<{ tenant: string }>;
    const seen: unknown[] = [];
    const handlers = {
      '*': (_: unknown, { tenant, attempt }: { tenant: string; attempt: number }) => {
        seen.push([tenant, attempt]);
        if (attempt === 1) throw new Error('again');
      },
    };
    const work = processor(handlers, { store, ...silent });
    const { data } = await jobOf();
    expect(await work(data, here)).toMatchObject({ verdict: 'failed' });
    expect(await work(data, here)).toMatchObject({ outcome: 'processed' });
    expect(seen).toEqual([
      ['acme', 1],
      ['acme', 2],
    ]);
    expect(inner.calls).toEqual(['claim', 'release', 'claim', 'complete']);
  });

  const aborted = (signal: AbortSignal) =>
    new Promise((resolve) => signal.addEventListener('abort', resolve));

  test('a lost claim fails the job', async () => {
    const store = faultyStore({ renew: () => false });
    const work = processor({ '*': (_, { signal }) => aborted(signal) }, { store, lease: 60, ...silent });
    const end = await work((await jobOf()).data, here);
    expect(end).toMatchObject({ verdict: 'failed', error: { code: 'CLAIM_LOST' } });
  });

  test('the signal aborts at the timeout, and a handler that never took it may finish late: the event is not run again', async () => {
    const log = captureLog();
    const [finish, aborting] = [gate(), gate()];
    const handle = jest.fn(() => finish.opened);
    const watch = (_event: unknown, { signal }: HandlerContext) =>
      signal.addEventListener('abort', () => aborting.open());
    const options = { store: memoryStore(), timeout: 50, logger: log.logger };
    const work = processor({ '*': handle, 'transaction.paid': watch }, options);
    const { data } = await jobOf();
    expect(await work(data, here)).toMatchObject({
      verdict: 'failed',
      error: { code: 'HANDLER_TIMEOUT', message: expect.stringContaining('HANDLER_TIMEOUT: Not finished') },
    });
    await aborting.opened;
    expect(await work(data, here)).toMatchObject({ verdict: 'later' });
    finish.open();
    await until(() => log.lines.some(({ msg }) => msg === 'handlers settled after the answer'));
    expect(await work(data, here)).toMatchObject({ outcome: 'duplicate' });
    expect(handle).toHaveBeenCalledTimes(1);
  });

  test('a handler that took the signal and returns after the abort has failed: the event runs again', async () => {
    const attempts: number[] = [];
    const handle = async (_event: unknown, { signal, attempt }: HandlerContext) => {
      attempts.push(attempt);
      if (attempt === 1) await aborted(signal);
    };
    const work = processor({ '*': handle }, { store: memoryStore(), timeout: 50, ...silent });
    const { data } = await jobOf();
    expect(await work(data, here)).toMatchObject({
      error: { code: 'HANDLER_TIMEOUT', message: 'HANDLER_TIMEOUT: Not finished after 50 ms: handle.' },
    });
    // Until the handler has settled and its claim is released, another attempt waits.
    await until(async () => (await work(data, here)).verdict === 'done');
    expect(attempts).toEqual([1, 2]);
  });

  test('the signal of the worker reaches the handlers', async () => {
    const losing = new AbortController();
    const { data } = await jobOf();
    const handle = (_: unknown, { signal }: HandlerContext) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        losing.abort();
      });
    const work = processor({ '*': handle }, silent);
    expect(await work(data, { ...here, signal: losing.signal })).toMatchObject({ verdict: 'failed' });
  });

  test('a job that its worker has lost before it starts runs no handler: another worker may have it', async () => {
    const handle = jest.fn();
    const work = processor({ '*': handle }, silent);
    const { data } = await jobOf();
    const end = await work(data, { ...here, signal: AbortSignal.abort() });
    expect(end).toMatchObject({ verdict: 'failed', error: { code: 'CLAIM_LOST' } });
    expect(handle).not.toHaveBeenCalled();
  });

  test.each<[unknown, string]>([
    [undefined, 'queue is undefined.'],
    [{ queue: '' }, 'queue is "".'],
    [{ queue: 'webhooks', attempt: 0 }, 'attempt is 0.'],
    [{ queue: 'webhooks', attempt: '1' }, 'attempt is "1".'],
  ])('details %j are refused', async (details, message) => {
    const work = processor({ '*': () => {} }, silent);
    await expect(work({}, details as never)).rejects.toThrow(message);
  });
});

const handlers = { '*': () => {} };

test.each([
  ['no handler', {}, {}, 'processor() has no handlers. Pass at least one, by pattern.'],
  ['missing handlers', undefined, {}, 'processor() has no handlers. Pass at least one, by pattern.'],
  ['a list of handlers', [() => {}], {}, 'handlers is an array or a Map'],
  ['inherited handlers', Object.create(handlers), {}, 'handlers inherits "*"'],
  ['a handler that is not a function', { '*': 'paid' }, {}, 'on("*") was given "paid"'],
  ['a misspelled name', { 'transaction.payed': () => {} }, {}, 'Did you mean "transaction.paid"?'],
  ['an unknown option', handlers, { stores: 1 }, 'Unknown option "stores". Did you mean "store"?'],
  ['options of the wrong kind', handlers, 'fast', 'The second argument of processor() is "fast"'],
  ['an object that is not a store', handlers, { store: {} }, 'store is an object'],
  ['a misspelt drift', handlers, { drift: 'handel' }, 'drift is "handel". Pass "keep" or "handle".'],
  ['a namespace with a slash', handlers, { namespace: 'a/b' }, 'namespace is "a/b"'],
  ['a lease of nothing', handlers, { lease: 0 }, 'lease is 0'],
  ['a negative timeout', handlers, { timeout: -1 }, 'timeout is -1'],
  ['an object that is not a logger', handlers, { logger: {} }, 'logger is an object'],
  ['an object for a schema', handlers, { events: { 'a.b': {} } }, 'events["a.b"] is an object'],
])('processor() refuses %s', (_what, given, options, message) => {
  expect(() => processor(given as never, options as never)).toThrow(message);
});
