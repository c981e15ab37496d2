import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { RequestHandler } from 'express';
import {
  type Handler,
  type HandlerContext,
  type ReceiverOptions,
  receiver,
  WebhookError,
} from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { asDeployed, setTerminal } from '../setup/as-deployed.js';
import { delivery, KEY, SANDBOX_KEY } from '../setup/delivery.js';
import {
  duplicate,
  expresses,
  type Framework,
  failed,
  processed,
  type Receiving,
  startEndpoint,
  startReceiver,
  timedOut,
} from '../setup/endpoint.js';
import { faultyStore, rejects } from '../setup/faulty-store.js';
import { raise } from '../setup/raise.js';
import { gate, until } from '../setup/waiting.js';

const timedOutFor5s = { ...timedOut, headers: { 'retry-after': '5' } };

const SIGNAL_TAKEN =
  'a handler took its signal and returned after it had aborted, so it counts as failed: it may have given up';
const ANSWERED =
  'other code had already answered this request, so the receiver wrote nothing. In Fastify call reply.hijack() before the ' +
  'receiver; in NestJS do not use @Res({ passthrough: true })';

function lineWith(endpoint: Receiving, msg: string) {
  return endpoint.log.lines.find((line) => line.msg === msg);
}

describe('the handlers of an event', () => {
  test('run at the same time, and the answer waits for all of them', async () => {
    const [one, other] = [gate(), gate()];
    const started: string[] = [];
    const endpoint = startReceiver({ handlers: {} });
    endpoint.hooks.on('*', () => started.push('one') && one.opened);
    endpoint.hooks.on('*', () => started.push('other') && other.opened);
    const reply = endpoint.post();
    await until(() => started.length === 2);
    other.open();
    await pause(20);
    expect(endpoint.records).toEqual([]);
    one.open();
    expect(await reply).toMatchObject(processed);
    expect(started).toEqual(['one', 'other']);
  });

  const values = [undefined, null, false, 0, 'no', new Error('returned'), { status: 500 }];
  test.each([...values, Promise.resolve(false)])('may return %p: it is ignored', async (value) => {
    expect(await startReceiver({ handlers: { '*': () => value } }).post()).toMatchObject(processed);
  });

  test('may return any thenable: it is awaited', async () => {
    let settled = false;
    const then = async (resolve: () => void) => {
      await pause(20);
      settled = true;
      resolve();
    };
    expect(await startReceiver({ handlers: { '*': () => ({ then }) } }).post()).toMatchObject(processed);
    expect(settled).toBe(true);
  });

  test('are given the event, and a context with what belongs to the delivery', async () => {
    const given: unknown[] = [];
    const endpoint = startReceiver({
      privateKey: [SANDBOX_KEY, KEY],
      handlers: { 'transaction.paid': (...both) => given.push(...both) },
    });
    const event = fixtures.transactionPaid();
    const sent = delivery(event);
    await endpoint.post({ ...sent, headers: { ...sent.headers, 'x-request-id': 'r-1' } });
    const [got, context] = given as [unknown, HandlerContext];
    expect(got).toEqual(event);
    const names = ['attempt', 'headers', 'keyIndex', 'log', 'rawBody', 'signal'];
    expect(Object.keys(context).sort()).toEqual(names);
    expect(context).toMatchObject({ attempt: 1, keyIndex: 1, headers: { 'x-request-id': 'r-1' } });
    expect(context.rawBody.equals(sent.body)).toBe(true);
    expect(context.signal).toBeInstanceOf(AbortSignal);
    expect(context.signal).toBe(context.signal);
    expect(context.signal.aborted).toBe(false);
    expect(context.log).toBe(context.log);
  });

  test('log through a logger that is bound to the event', async () => {
    const endpoint = startReceiver({
      handlers: { '*': (_event, { log }) => log.info({ step: 1 }, 'working') },
    });
    const event = fixtures.transactionPaid();
    await endpoint.post(delivery(event));
    expect(lineWith(endpoint, 'working')).toMatchObject({
      step: 1,
      eventId: event.id,
      eventName: 'transaction.paid',
    });
  });

  test('that fail are named in the record, beside those that did not', async () => {
    const endpoint = startReceiver({ handlers: {} });
    endpoint.hooks
      .on('*', function audit() {})
      .on('transaction.*', () => Promise.reject(new Error('down')))
      .on('transaction.paid', () => {}, { name: 'receipt' });
    expect(await endpoint.post()).toMatchObject(failed);
    expect(endpoint.records).toMatchObject([
      {
        status: 500,
        code: 'HANDLER_FAILED',
        handlers: [
          { name: 'audit', status: 'fulfilled', durationMs: expect.any(Number) },
          { name: 'transaction.*', status: 'rejected' },
          { name: 'receipt', status: 'fulfilled' },
        ],
      },
    ]);
  });
});

test('the time of a handler is what it took, in the record of the delivery', async () => {
  const endpoint = startReceiver({ handlers: {} });
  endpoint.hooks.on('*', () => pause(40)).on('*', () => {});
  await endpoint.post();
  const [record] = endpoint.records;
  const [slow, quick] = record?.handlers.map(({ durationMs }) => durationMs) ?? [];
  expect(slow).toBeGreaterThanOrEqual(39);
  expect(slow).toBeLessThanOrEqual(record?.durationMs ?? 0);
  expect(quick).toBeLessThan(slow ?? 0);
});

describe('what a store adds to the context', () => {
  const start = async (context: object) => {
    const given: object[] = [];
    const forHandler = () => ({ context, end: () => ({ wrote: false }) });
    const endpoint = startReceiver({
      store: faultyStore({}, { more: { forHandler } }),
      handlers: { '*': (_event, context) => void given.push(context) },
    });
    const event = fixtures.transactionPaid();
    await endpoint.post(delivery(event));
    return { event, context: given[0] as HandlerContext & { once?: object } };
  };

  test('is there for the handlers, beside the rest', async () => {
    const once = () => {};
    const { event, context } = await start({ once });
    expect(context.once).toBe(once);
    expect({ ...context }).toHaveProperty('once', once);
    expect(context).toMatchObject({ attempt: 1, keyIndex: 0 });
    expect(context).not.toHaveProperty('issues');
    expect(JSON.parse(String(context.rawBody))).toEqual(event);
    expect(context.signal.aborted).toBe(false);
  });

  test('replaces nothing', async () => {
    const { context } = await start({ attempt: 7, rawBody: 'forged', signal: 'forged', log: 'forged' });
    expect(context.attempt).toBe(1);
    expect(context.rawBody).toBeInstanceOf(Buffer);
    expect(context.signal).toBeInstanceOf(AbortSignal);
    expect(context.log).toHaveProperty('info');
  });
});

const SECRET = 'card 4111-1111';
const get = () => raise(new Error(SECRET));
const trapped = new Proxy({}, { get, getPrototypeOf: get });
const unreadable = Object.defineProperties(new Error(), { stack: { get }, message: { get }, code: { get } });
const ofFramework = { status: 200, statusCode: 404, expose: true, body: SECRET };

const thrown: [string, () => unknown][] = [
  ['an error', () => Promise.reject(new Error(SECRET))],
  ['an error, synchronously', () => raise(new Error(SECRET))],
  ['null, synchronously', () => raise(null)],
  ['null', () => Promise.reject(null)],
  ['undefined', () => Promise.reject(undefined)],
  ['text', () => Promise.reject(SECRET)],
  ['a symbol', () => Promise.reject(Symbol(SECRET))],
  ['an object without a prototype', () => raise(Object.assign(Object.create(null), { message: SECRET }))],
  ['an error whose members throw', () => Promise.reject(unreadable)],
  ['an object of which everything throws', () => Promise.reject(trapped)],
  ['from the then of what it returns', () => Object.defineProperty({}, 'then', { get })],
  ['an error as of an HTTP framework', () => Promise.reject(Object.assign(new Error(SECRET), ofFramework))],
  ['an aggregate of errors', () => Promise.reject(new AggregateError([new Error(SECRET)], SECRET))],
  ['an error with itself as its cause', () => Promise.reject(new Error(SECRET, { cause: { self: thrown } }))],
];

describe.each(thrown)('a handler that throws %s', (_what, fail) => {
  asDeployed();

  test('makes the delivery fail, may run again at once, and its words go nowhere', async () => {
    const store = faultyStore();
    const handlers: ReceiverOptions['handlers'] = { '*': (_event, { attempt }) => attempt === 1 && fail() };
    const endpoint = startReceiver({ store, handlers });
    const sent = delivery();
    const reply = await endpoint.post(sent);
    expect(reply).toMatchObject(failed);
    expect(reply.headers).not.toHaveProperty('retry-after');
    expect(store.calls).toEqual(['claim', 'release']);
    expect(await endpoint.post(sent)).toMatchObject(processed);
    const told = [JSON.stringify(reply), ...endpoint.log.text, inspect(endpoint.records, { depth: null })];
    expect(told.join()).not.toContain(SECRET);
    expect(lineWith(endpoint, 'a handler failed')).toMatchObject({
      level: 50,
      handler: '*',
      error: { type: expect.any(String) },
    });
  });
});

describe('while an app is developed or tested', () => {
  const { NODE_ENV } = process.env;
  let restoreTerminal = () => {};
  afterEach(() => {
    process.env.NODE_ENV = NODE_ENV;
    restoreTerminal();
  });

  interface Where {
    readonly env?: string;
    readonly key?: string;
    readonly isTerminal?: boolean;
  }

  const failedLine = async ({ env, key = KEY, isTerminal = false }: Where, options: ReceiverOptions) => {
    const endpoint = startReceiver({ privateKey: ['pri_another', key], ...options });
    if (env === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = env;
    restoreTerminal = setTerminal(isTerminal);
    expect(await endpoint.post(delivery(fixtures.transactionPaid({ sandbox: true }), key))).toMatchObject(
      failed,
    );
    return endpoint.log.lines.find(({ handler }) => handler === '*');
  };
  const errorLine = async (where: Where, thrown: unknown) =>
    (await failedLine(where, { handlers: { '*': () => Promise.reject(thrown) } }))?.error;
  const missing = new TypeError('orders.markPaid is not a function');

  const shown: Where[] = [
    { env: 'development' },
    { env: 'test' },
    { key: 'pri_sim_dev' },
    { key: 'pri_sandbox_sim_dev' },
    { key: 'pri_sim_dev', env: '' },
    { isTerminal: true },
  ];
  test.each(shown)('the message and stack of an error are logged: %j', async (where) => {
    const stack = /^TypeError: orders\.markPaid is not a function\n {4}at .*handler-run\.test/;
    expect(await errorLine(where, missing)).toMatchObject({
      type: 'TypeError',
      message: 'orders.markPaid is not a function',
      stack: expect.stringMatching(stack),
    });
  });

  const hidden: Where[] = [
    ...['production', 'staging', 'Development'].flatMap((env) => [
      { env },
      { env, key: 'pri_sim_dev' },
      { env, isTerminal: true },
    ]),
    {},
    { key: 'pri_simple' },
    { key: SANDBOX_KEY },
  ];
  test.each(hidden)('and nowhere else: %j', async (where) => {
    const line = await failedLine(where, { handlers: { '*': () => Promise.reject(missing) } });
    expect(line?.error).toMatchObject({ type: 'TypeError', at: expect.any(Array) });
    expect(line?.error).not.toHaveProperty('message');
    expect(line?.error).not.toHaveProperty('stack');
    expect(line?.hint).toContain('set NODE_ENV=development');
  });

  test('a serial function that fails is shown like a handler', async () => {
    const sent = delivery(fixtures.transactionPaid({ sandbox: true }), 'pri_sim_dev');
    delete process.env.NODE_ENV;
    restoreTerminal = setTerminal(false);
    const endpoint = startReceiver({ privateKey: 'pri_sim_dev', handlers: {} });
    endpoint.hooks.on('*', () => {}, { serial: () => raise(missing) });
    await endpoint.post(sent);
    const line = lineWith(endpoint, 'the serial function of a handler failed');
    expect(line?.error).toMatchObject({ message: missing.message });
  });

  test('a ConfigurationError of the package is shown everywhere: it quotes no customer', async () => {
    const handlers = { '*': () => void receiver({ privateKey: '' }) };
    const line = await failedLine({ env: 'production' }, { handlers });
    const message =
      'privateKey is empty: anyone could sign with it. Copy the private key from the dashboard.';
    expect(line?.error).toMatchObject({ type: 'ConfigurationError', message });
    expect(line?.error).not.toHaveProperty('stack');
    expect(line).not.toHaveProperty('hint');
  });

  test('thrown text is logged as what it says', async () => {
    const text = 'no such order';
    expect(await errorLine({ env: 'development' }, text)).toEqual({ type: 'string', message: text });
    expect(await errorLine({ env: 'production' }, text)).toEqual({ type: 'string' });
  });

  test('they are cut to what a log line can hold', async () => {
    const endless = new Error('x'.repeat(1_000_000));
    const { message, stack } = (await errorLine({ env: 'test' }, endless)) as Error;
    expect(message).toHaveLength(1_000);
    expect(stack).toHaveLength(4_000);
  });

  test.each<[string, () => unknown]>(thrown)('nothing is made worse by %s', async (_, fail) => {
    const endpoint = startReceiver({ handlers: { '*': () => fail() } });
    expect(await endpoint.post()).toMatchObject(failed);
    expect(lineWith(endpoint, 'a handler failed')).toBeDefined();
  });
});

describe('a handler that takes longer than the timeout', () => {
  const start = (options: ReceiverOptions = {}) => {
    const work = gate();
    const contexts: HandlerContext[] = [];
    const store = faultyStore();
    const handler: Handler = (_event, context) => contexts.push(context) === 1 && work.opened;
    const handlers = { '*': handler };
    const endpoint = startReceiver({ store, timeout: 60, lease: 300, handlers, ...options });
    return { endpoint, work, contexts, store, sent: delivery() };
  };

  test('is answered 503 and told to stop, and goes on under its claim', async () => {
    const { endpoint, work, store, sent } = start();
    expect(await endpoint.post(sent)).toMatchObject(timedOutFor5s);
    expect(endpoint.records).toMatchObject([
      { status: 503, code: 'HANDLER_TIMEOUT', handlers: [{ status: 'running' }] },
    ]);
    expect(endpoint.hooks.inFlight).toBe(1);
    await until(() => store.calls.filter((call) => call === 'renew').length >= 4);
    expect(await endpoint.post(sent)).toMatchObject({ status: 503, body: { code: 'IN_PROGRESS' } });
    expect(store.calls).not.toContain('release');
    work.open();
    await until(() => endpoint.hooks.inFlight === 0);
  });

  test('completes the event when it succeeds late, and that is logged', async () => {
    const { endpoint, work, contexts, sent } = start();
    await endpoint.post(sent);
    work.open();
    await until(() => endpoint.hooks.inFlight === 0);
    expect(await endpoint.post(sent)).toMatchObject(duplicate);
    expect(contexts).toHaveLength(1);
    expect(lineWith(endpoint, 'handlers settled after the answer')).toMatchObject({
      level: 30,
      outcome: 'processed',
    });
    // Telemetry was told at the answer; the line is all that comes later.
    const told = endpoint.records.map(({ outcome, code }) => outcome ?? code);
    expect(told).toEqual(['HANDLER_TIMEOUT', 'duplicate']);
  });

  test('gives the event back when it fails late', async () => {
    const { endpoint, work, contexts, sent } = start();
    await endpoint.post(sent);
    work.fail(new Error('down'));
    await until(() => endpoint.hooks.inFlight === 0);
    const late = lineWith(endpoint, 'handlers settled after the answer');
    expect(late).toMatchObject({ level: 50, code: 'HANDLER_FAILED' });
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(contexts.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test('and asks for its signal only then finds it aborted', async () => {
    const { endpoint, work, contexts, sent } = start();
    await endpoint.post(sent);
    const reason = contexts[0]?.signal.reason;
    expect(contexts[0]?.signal.aborted).toBe(true);
    expect(WebhookError.is(reason) && reason.code).toBe('HANDLER_TIMEOUT');
    work.open();
    await until(() => endpoint.hooks.inFlight === 0);
  });

  test('does not hold up the others, whose success is kept for the retry', async () => {
    const work = gate();
    const ran: string[] = [];
    const endpoint = startReceiver({ timeout: 60, handlers: {} });
    endpoint.hooks.on('*', () => ran.push('book'), { name: 'book' });
    endpoint.hooks.on('*', () => ran.push('mail') === 2 && work.opened, { name: 'mail' });
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject(timedOutFor5s);
    expect(endpoint.records[0]?.handlers).toMatchObject([{ status: 'fulfilled' }, { status: 'running' }]);
    work.fail(new Error('down'));
    await until(() => endpoint.hooks.inFlight === 0);
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(ran).toEqual(['book', 'mail', 'mail']);
  });

  test('with timeout: 0 is waited for', async () => {
    const { endpoint, work, sent } = start({ timeout: 0 });
    const reply = endpoint.post(sent);
    await pause(120);
    expect(endpoint.records).toEqual([]);
    work.open();
    expect(await reply).toMatchObject(processed);
  });

  test('with timeout: 0 and no end is given up with its claim', async () => {
    const { endpoint, sent } = start({ timeout: 0, maxHandlerTime: 150 });
    expect(await endpoint.post(sent)).toMatchObject(timedOutFor5s);
  });
});

describe('a handler that took its signal', () => {
  const aborted = (signal: AbortSignal) => once(signal, 'abort');
  const start = (handler: Handler, options: ReceiverOptions = {}) => {
    const attempts: number[] = [];
    const store = faultyStore();
    const handlers: ReceiverOptions['handlers'] = {
      'transaction.paid': (...given) => attempts.push(given[1].attempt) === 1 && handler(...given),
    };
    const endpoint = startReceiver({ store, timeout: 60, lease: 300, handlers, ...options });
    return { endpoint, attempts, store, sent: delivery() };
  };

  test.each<[string, Handler]>([
    ['gives up and returns', (_event, { signal }) => aborted(signal)],
    ['returns after it has asked for it late', (_event, context) => pause(90).then(() => context.signal)],
    ['has passed on a copy of its context', (_event, context) => pause(90, { ...context })],
    [
      'took it from an object derived from its context',
      (_event, context) => aborted(Object.create(context, { db: { value: 1 } }).signal),
    ],
    ['took it through a proxy', (_event, context) => aborted(new Proxy(context, {}).signal)],
    ['has given it to what then throws', (_event, { signal }) => pause(5_000, undefined, { signal })],
  ])('and %s after the timeout has failed: the retry runs it again', async (_, handler) => {
    const { endpoint, attempts, store, sent } = start(handler);
    expect(await endpoint.post(sent)).toMatchObject(timedOutFor5s);
    await until(() => endpoint.hooks.inFlight === 0);
    expect(store.calls.filter((call) => call !== 'renew')).toEqual(['claim', 'release']);
    const late = lineWith(endpoint, 'handlers settled after the answer');
    expect(late).toMatchObject({ level: 50, code: 'HANDLER_FAILED' });
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(attempts).toEqual([1, 2]);
  });

  test('and returns after the abort says so in the log', async () => {
    const { endpoint, sent } = start((_event, { signal }) => aborted(signal));
    await endpoint.post(sent);
    await until(() => endpoint.hooks.inFlight === 0);
    expect(lineWith(endpoint, SIGNAL_TAKEN)).toMatchObject({ level: 50, handler: 'transaction.paid' });
  });

  test('and returns before the timeout has succeeded', async () => {
    const { endpoint, attempts, sent } = start((_event, { signal }) => void signal.aborted);
    expect(await endpoint.answers(sent, sent)).toEqual(['200 processed', '200 duplicate']);
    expect(attempts).toEqual([1]);
  });

  test('fails alone: one beside it that never took it is not run again when it has a name', async () => {
    const ran: string[] = [];
    const endpoint = startReceiver({ timeout: 60, handlers: {} });
    endpoint.hooks.on('*', async () => void ran.push(await pause(90, 'book')), { name: 'book' });
    endpoint.hooks.on('*', async (_event, { signal, attempt }) => {
      ran.push('ship');
      if (attempt === 1) await aborted(signal);
    });
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject(timedOutFor5s);
    await until(() => endpoint.hooks.inFlight === 0);
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(ran).toEqual(['ship', 'book', 'ship']);
  });

  test('and returns when its lease has lapsed has failed too', async () => {
    const options = { store: faultyStore({ renew: rejects }), timeout: 5_000 };
    const { endpoint, attempts, sent } = start((_event, { signal }) => aborted(signal), options);
    expect(await endpoint.answers(sent, sent)).toEqual(['500 HANDLER_FAILED', '200 processed']);
    expect(attempts).toEqual([1, 2]);
  });
});

describe.each(expresses)('on %s', (framework) => {
  test('when somebody else answers first nothing is written, and that is an error in the log', async () => {
    const { work, started, endpoint } = await slowEndpoint(framework, (res) => {
      res.statusCode = 202;
      res.end('{"by":"somebody else"}');
    });
    const sent = delivery();
    const reply = endpoint.post(sent);
    await started.opened;
    expect(await reply).toMatchObject({ status: 202, body: { by: 'somebody else' } });
    work.open();
    await until(() => endpoint.records.length === 1);
    expect(endpoint.records).toMatchObject([{ status: 0, outcome: 'processed' }]);
    expect(lineWith(endpoint, ANSWERED)).toMatchObject({ level: 50 });
  });

  test('when somebody else has begun an answer it is left alone, and a failure is still given back', async () => {
    let finish = () => {};
    const { work, started, endpoint } = await slowEndpoint(framework, (res) => {
      res.write('{"by":');
      finish = () => res.end('"somebody else"}');
    });
    const sent = delivery();
    const reply = endpoint.post(sent);
    await started.opened;
    work.fail(new Error('down'));
    await until(() => endpoint.records.length === 1);
    finish();
    expect(await reply).toMatchObject({ status: 200, body: { by: 'somebody else' } });
    expect(lineWith(endpoint, ANSWERED)).toBeDefined();
    // Given back: the next delivery runs it.
    const again = endpoint.post(sent);
    await until(() => endpoint.records.length === 2);
    finish();
    await again;
    expect(endpoint.records[1]).toMatchObject({ attempt: 2 });
  });
});

/** An endpoint with a handler that waits, and something mounted before it that may answer in its stead. */
async function slowEndpoint(framework: Framework, meddle: (res: ServerResponse) => void) {
  const work = gate();
  const started = gate();
  const handler: Handler = (_event, { attempt }) => {
    started.open();
    return attempt === 1 ? work.opened : undefined;
  };
  const meddling: RequestHandler = (_req, res, next) => {
    next();
    void started.opened.then(() => meddle(res));
  };
  const endpoint = await startEndpoint(
    { handlers: { '*': handler } },
    { framework, before: () => [meddling] },
  );
  return { work, started, endpoint };
}
