import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type express from 'express';
import type { RequestHandler } from 'express';
import {
  type Handler,
  type Logger,
  memoryDeadLetters,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { deadLetterPage } from 'payment-webhooks/ops';
import { processor } from 'payment-webhooks/queues';
import { startSimulator } from 'payment-webhooks/simulator';
import type { Logger as Pino } from 'pino';
import { pinoHttp } from 'pino-http';
import { fixtures } from '../src/fixtures/fixture.js';
import { Throttle } from '../src/logger.js';
import { listening } from './setup/afterwards.js';
import { captureLog } from './setup/captured-log.js';
import { delivery, KEY, receivable, SANDBOX_KEY, type SentDelivery } from './setup/delivery.js';
import { type Endpoint, expresses, processed, startEndpoint } from './setup/endpoint.js';
import { down, raise } from './setup/raise.js';
import { until } from './setup/waiting.js';

const [INFO, WARN, ERROR] = [30, 40, 50];

afterEach(() => {
  jest.restoreAllMocks();
});

function deliveryLines({ log }: Pick<Endpoint, 'log'>) {
  return log.lines.filter(({ msg }) => msg === 'delivery');
}

/** From now on the monotonic clock is so many milliseconds ahead. */
function advance(ms: number): void {
  const real = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => real() + ms);
}

describe('each delivery', () => {
  const good = delivery();

  test('has one line that says what it was and what became of it', async () => {
    const endpoint = await startEndpoint();
    const event = fixtures.transactionPaid();
    const sent = delivery(event);
    await endpoint.post(sent);
    expect(endpoint.log.lines).toEqual([
      {
        level: INFO,
        time: expect.any(Number),
        pid: expect.any(Number),
        hostname: expect.any(String),
        outcome: 'processed',
        status: 200,
        eventId: event.id,
        eventName: 'transaction.paid',
        sandbox: false,
        attempt: 1,
        keyIndex: 0,
        bytes: sent.body.length,
        ms: expect.any(Number),
        msg: 'delivery',
      },
    ]);
  });

  test.each<[string, number, object, Partial<SentDelivery>[]]>([
    ['a duplicate', INFO, { outcome: 'duplicate', status: 200 }, [good, good]],
    ['a stranger', WARN, { code: 'SIGNATURE_MISSING', status: 401, bytes: 0 }, [{ headers: {} }]],
    [
      'rubbish',
      WARN,
      { code: 'BODY_MALFORMED', status: 400, hint: expect.stringMatching(/^The body is not JSON\. Run /) },
      [delivery('{')],
    ],
    [
      'not an event',
      ERROR,
      { code: 'EVENT_INVALID', status: 422, issues: expect.any(Array) },
      [delivery('{}')],
    ],
  ])('that is %s too', async (_what, level, line, sent) => {
    const endpoint = await startEndpoint();
    for (const each of sent) await endpoint.post(each);
    expect(deliveryLines(endpoint)).toHaveLength(sent.length);
    expect(deliveryLines(endpoint).at(-1)).toMatchObject({ level, ...line });
  });

  test('that fails by our fault has its line every time', async () => {
    const endpoint = await startEndpoint({ handlers: { '*': down } });
    const sent = delivery();
    for (const _ of 'abc') await endpoint.post(sent);
    expect(deliveryLines(endpoint).map(({ level, code, attempt }) => [level, code, attempt])).toEqual([
      [ERROR, 'HANDLER_FAILED', 1],
      [ERROR, 'HANDLER_FAILED', 2],
      [ERROR, 'HANDLER_FAILED', 3],
    ]);
  });
});

describe('what a stranger can cause', () => {
  test('is logged once in ten seconds for each reason, and then with a count of what was held back', async () => {
    const endpoint = await startEndpoint();
    const sent = delivery();
    const missing = { ...sent, headers: {} };
    const malformed = { ...sent, headers: { 'x-service-signature': 'rubbish' } };
    const mismatch = { ...sent, headers: { 'x-service-signature': '0'.repeat(64) } };
    for (const each of [missing, malformed, missing, missing, mismatch, malformed, missing])
      await endpoint.post(each);
    expect(deliveryLines(endpoint).map(({ code }) => code)).toEqual([
      'SIGNATURE_MISSING',
      'SIGNATURE_MALFORMED',
      'SIGNATURE_MISMATCH',
    ]);
    expect(deliveryLines(endpoint).every((line) => !('suppressed' in line))).toBe(true);
    endpoint.log.text.length = 0;
    advance(10_001);
    for (const each of [missing, missing, malformed, mismatch]) await endpoint.post(each);
    expect(deliveryLines(endpoint).map(({ code, suppressed }) => [code, suppressed])).toEqual([
      ['SIGNATURE_MISSING', 3],
      ['SIGNATURE_MALFORMED', 1],
      ['SIGNATURE_MISMATCH', undefined],
    ]);
    expect(endpoint.records).toHaveLength(11);
  });

  test('a leaked sandbox key cannot fill the disk either', async () => {
    const endpoint = await startEndpoint({ privateKey: [KEY, SANDBOX_KEY] });
    for (const _ of 'abc') await endpoint.post(delivery(fixtures.transactionPaid(), SANDBOX_KEY));
    expect(deliveryLines(endpoint)).toMatchObject([{ code: 'KEY_MODE_MISMATCH', keyIndex: 1 }]);
  });

  test('and is a mistake of ours is logged once for each cause', async () => {
    const before = (framework: typeof express) => [framework.json(), framework.urlencoded()];
    const endpoint = await startEndpoint({}, { before });
    const sent = delivery();
    const headers = { ...sent.headers, 'content-type': 'application/x-www-form-urlencoded' };
    const form = { ...sent, headers };
    for (const each of [form, form, sent, sent]) await endpoint.post(each);
    const hints = deliveryLines(endpoint).map(({ hint }) => /express\.\w+/.exec(String(hint))?.[0]);
    expect(hints).toEqual(['express.urlencoded', 'express.json']);
  });

  test('without any signature being looked at is held back as well', async () => {
    const endpoint = await startEndpoint({ limit: 100 });
    for (const _ of 'abc') await endpoint.post();
    for (const _ of 'abc') await endpoint.post({ headers: { 'content-encoding': 'gzip' } });
    expect(deliveryLines(endpoint).map(({ code }) => code)).toEqual(['BODY_TOO_LARGE', 'BODY_ENCODED']);
  });

  test('holds back nothing of genuine deliveries', async () => {
    const endpoint = await startEndpoint();
    for (const _ of 'abc') {
      await endpoint.post({ headers: {} });
      await endpoint.post();
    }
    const told = deliveryLines(endpoint).map(({ outcome, code }) => outcome ?? code);
    expect(told).toEqual(['SIGNATURE_MISSING', 'processed', 'processed', 'processed']);
  });

  test('is counted again after each line', () => {
    const throttle = new Throttle();
    const clock = jest.spyOn(performance, 'now');
    const counts = [0, 1, 9_999, 10_000, 10_001, 20_000, 40_000].map((ms) => {
      clock.mockReturnValue(ms);
      return throttle.admit('reason');
    });
    expect(counts).toEqual([0, undefined, undefined, 2, undefined, 1, 0]);
  });
});

describe.each(expresses)('pino-http on %s', (framework) => {
  const start = async (options: ReceiverOptions = {}) => {
    const requests = captureLog();
    const logger = requests.logger as Pino;
    const middleware = pinoHttp({ logger, autoLogging: false, genReqId: () => 'request-7' });
    const before = (): RequestHandler[] => [(req, res, next) => middleware(req, res, next)];
    const endpoint = await startEndpoint(
      { logger: undefined, handlers: { '*': (_event, { log }) => log.info('working') }, ...options },
      { framework, before },
    );
    return { endpoint, requests };
  };

  test('the logger of the request is used, for the delivery and for the handlers', async () => {
    const { endpoint, requests } = await start();
    const event = fixtures.transactionPaid();
    await endpoint.post(delivery(event));
    expect(requests.lines).toMatchObject([
      { msg: 'working', req: { id: 'request-7' }, eventId: event.id, eventName: 'transaction.paid' },
      { msg: 'delivery', req: { id: 'request-7' }, outcome: 'processed' },
    ]);
  });

  test('the option logger comes before it', async () => {
    const own = captureLog();
    const { endpoint, requests } = await start({ logger: own.logger });
    await endpoint.post();
    expect(own.lines.map(({ msg }) => msg)).toEqual(['working', 'delivery']);
    expect(requests.lines).toEqual([]);
  });

  test('logger: false silences it too', async () => {
    const { endpoint, requests } = await start({ logger: false });
    expect(await endpoint.post()).toMatchObject(processed);
    expect(requests.lines).toEqual([]);
  });

  test('a req.log that is no logger is left alone', async () => {
    jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const spoils: RequestHandler = (req, _res, next) => {
      Object.assign(req, { log: 'none' });
      next();
    };
    const endpoint = await startEndpoint({ logger: undefined }, { framework, before: () => [spoils] });
    expect(await endpoint.post()).toMatchObject(processed);
  });
});

describe('req.log of another middleware', () => {
  const unreadable = new Proxy({}, { get: () => raise(new Error('no')), has: () => raise(new Error('no')) });
  const winston = { configure() {}, transports: [], info: down, warn: down, error: down };
  test.each<[string, PropertyDescriptor]>([
    ['a getter that throws', { get: down }],
    ['an object whose getters throw', { value: unreadable }],
    ['a winston logger', { value: winston }],
    ['a logger of LogTape', { value: { category: [], getChild() {}, info: down, warn: down, error: down } }],
  ])('is left alone if it is %s', async (_, log) => {
    const written: unknown[] = [];
    jest.spyOn(process.stdout, 'write').mockImplementation((line) => written.push(line) > 0);
    const spoils: RequestHandler = (req, _res, next) => {
      Object.defineProperty(req, 'log', log);
      next();
    };
    for (const framework of expresses) {
      const endpoint = await startEndpoint({ logger: undefined }, { framework, before: () => [spoils] });
      expect(await endpoint.post()).toMatchObject(processed);
    }
    await until(() => written.join('').includes('"outcome":"processed"'));
  });

  test('leaves the page of dead letters alone too', async () => {
    const hooks = receiver({ privateKey: KEY, deadLetters: memoryDeadLetters() });
    const page = deadLetterPage(hooks, { authorize: down });
    const port = await listening((req, res) => {
      Object.defineProperty(req, 'log', { get: down });
      void page(req, res);
    });
    jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    expect((await fetch(`http://127.0.0.1:${port}/letters`)).status).toBe(500);
  });
});

test.each<[string, (options: { logger: Logger }) => unknown]>([
  ['the receiver', (options) => receiver({ privateKey: KEY, ...options })],
  ['the processor of jobs', (options) => processor({ '*': () => {} }, options)],
  [
    'the page of dead letters',
    (options) =>
      deadLetterPage(receiver({ privateKey: KEY, deadLetters: memoryDeadLetters() }), {
        authorize: () => null,
        ...options,
      }),
  ],
  ['the simulator', (options) => startSimulator({ port: 0, ...options })],
])('%s refuses a winston logger, with the wrapper to copy', async (_, start) => {
  const lost = { configure() {}, transports: [], info() {}, warn() {}, error() {} } as unknown as Logger;
  const error = await Promise.resolve()
    .then(() => start({ logger: lost }))
    .then(
      () => undefined,
      (error) => error,
    );
  const [, wrapper = '', given = ''] = /Wrap it: (.*); and pass (\{.*\})\.$/.exec(error?.message) ?? [];
  const calls: unknown[][] = [];
  const level = (name: string) => ({ [name]: (...args: unknown[]) => void calls.push([name, ...args]) });
  const log = { ...level('info'), ...level('warn'), ...level('error') };
  const wrapped = new Function('log', `${wrapper}; return (${given});`)(log) as Logger;
  wrapped.warn({ code: 'X' }, 'delivery');
  wrapped.info('of a handler');
  expect(calls).toEqual([
    ['warn', 'delivery', { code: 'X' }],
    ['info', 'of a handler'],
  ]);
});

describe('a logger that is broken', () => {
  const levels = (log: () => unknown) => ({ info: log, warn: log, error: log });
  const fine = levels(() => {});
  const loggers: Record<string, object> = {
    'throws at every line': levels(() => raise(new Error('disk full'))),
    'cannot make a child': { ...fine, child: down },
    'has no child': fine,
    'makes children that are undefined': { ...fine, child: () => undefined },
    'makes children that cannot log': { ...fine, child: () => ({}) },
    'rejects at every line': levels(() => Promise.reject(new Error('down'))),
  };

  test.each(Object.entries(loggers))('that %s costs no event', async (_what, logger) => {
    const handler = jest.fn<Handler>().mockImplementationOnce(down);
    const endpoint = await startEndpoint({
      logger: logger as Logger,
      observer: { settled: down },
      handlers: { '*': handler },
    });
    const sent = delivery();
    expect(await endpoint.post({ ...sent, headers: {} })).toMatchObject({ status: 401 });
    expect(await endpoint.post(sent)).toMatchObject({ status: 500 });
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(handler.mock.calls).toMatchObject([
      [{}, { log: { info: expect.any(Function) } }],
      [{}, { log: { info: expect.any(Function) } }],
    ]);
  });

  test.each(Object.entries(loggers))('that %s hinders no warning at construction', (_what, logger) => {
    const { NODE_ENV } = process.env;
    process.env.NODE_ENV = 'production';
    expect(() => receiver({ privateKey: KEY, logger: logger as Logger })).not.toThrow();
    process.env.NODE_ENV = NODE_ENV;
  });
});

describe('without a logger', () => {
  test('lines go to the standard output as JSON, named after the package', async () => {
    const written: string[] = [];
    const stdout = jest.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      written.push(String(chunk));
      return true;
    });
    await receiver({ privateKey: KEY })
      .on('*', () => {})
      .receive(receivable());
    await until(() => written.length > 0);
    stdout.mockRestore();
    expect(JSON.parse(written.join(''))).toMatchObject({
      level: INFO,
      name: 'payment-webhooks',
      outcome: 'processed',
      msg: 'delivery',
    });
  });

  test('in a Worker, whose bundlers take the build of pino for browsers, each goes to the console at once', async () => {
    const written: unknown[] = [];
    const console = jest
      .spyOn(globalThis.console, 'log')
      .mockImplementation((line) => void written.push(line));
    try {
      await jest.isolateModulesAsync(async () => {
        jest.doMock('pino', () => jest.requireActual('pino/browser'));
        const { defaultLogger } = await import('../src/default-logger.js');
        const logger = defaultLogger();
        logger.warn({ code: 'BODY_TIMEOUT' }, 'delivery');
        expect(written).toHaveLength(1);
        logger.child?.({ eventId: 'evt-1' }).error({ err: new TypeError('of a handler') }, 'failed');
        const circular: Record<string, unknown> = {};
        circular.self = circular;
        logger.info(circular, 'what JSON cannot hold');
      });
    } finally {
      jest.dontMock('pino');
      console.mockRestore();
    }
    const name = 'payment-webhooks';
    const [first, second, third] = written;
    const told = { level: 40, name, code: 'BODY_TIMEOUT', msg: 'delivery' };
    expect(JSON.parse(String(first))).toMatchObject(told);
    expect(JSON.parse(String(second))).toMatchObject({
      level: 50,
      name,
      eventId: 'evt-1',
      err: { type: 'TypeError', stack: expect.stringMatching(/of a handler/) },
    });
    expect(third).toMatchObject({ level: 30, name, msg: 'what JSON cannot hold' });
  });

  test('with logger: false nothing is written anywhere, and handlers can log all the same', async () => {
    const writes = [process.stdout, process.stderr].map((stream) =>
      jest.spyOn(stream, 'write').mockReturnValue(true),
    );
    const hooks = receiver({ privateKey: KEY, logger: false }).on('*', (_event, { log }) => {
      for (const level of ['info', 'warn', 'error'] as const) log[level]({ step: 1 }, 'working');
      log.child?.({ step: 2 }).info('working');
      throw new Error('down');
    });
    expect((await hooks.receive(receivable())).status).toBe(500);
    const calls = writes.map((write) => write.mock.calls.length);
    jest.restoreAllMocks();
    expect(calls).toEqual([0, 0]);
  });
});
