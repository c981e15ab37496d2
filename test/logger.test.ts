import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type express from 'express';
import type { RequestHandler } from 'express';
import { type Logger, type ReceiverOptions, receiver } from 'payment-webhooks';
import type { Logger as Pino } from 'pino';
import { pinoHttp } from 'pino-http';
import { fixtures } from '../src/fixtures/fixture.js';
import { Throttle } from '../src/logger.js';
import { captureLog } from './setup/captured-log.js';
import { delivery, KEY, SANDBOX_KEY } from './setup/delivery.js';
import { type Endpoint, expresses, startEndpoint } from './setup/endpoint.js';
import { until } from './setup/waiting.js';

const processed = { status: 200, body: { received: true, outcome: 'processed' } };
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

  test.each([
    [
      'a duplicate',
      INFO,
      { outcome: 'duplicate', status: 200 },
      async (endpoint: Endpoint) => {
        const sent = delivery();
        await endpoint.post(sent);
        endpoint.log.text.length = 0;
        await endpoint.post(sent);
      },
    ],
    [
      'a stranger',
      WARN,
      { code: 'SIGNATURE_MISSING', status: 401, bytes: 0 },
      (endpoint: Endpoint) => endpoint.post({ headers: {} }),
    ],
    [
      'rubbish',
      WARN,
      { code: 'BODY_MALFORMED', status: 400, hint: expect.stringMatching(/^The body is not JSON\. Run /) },
      (endpoint: Endpoint) => endpoint.post(delivery('{')),
    ],
    [
      'no event',
      ERROR,
      { code: 'EVENT_INVALID', status: 422, issues: expect.any(Array) },
      (endpoint: Endpoint) => endpoint.post(delivery('{}')),
    ],
  ])('that is %s too', async (_what, level, line, act) => {
    const endpoint = await startEndpoint();
    await act(endpoint);
    expect(deliveryLines(endpoint)).toMatchObject([{ level, ...line }]);
  });

  test('that fails by our fault has its line every time', async () => {
    const endpoint = await startEndpoint({ handlers: { '*': () => Promise.reject(new Error('down')) } });
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
    const form = {
      ...sent,
      headers: { ...sent.headers, 'content-type': 'application/x-www-form-urlencoded' },
    };
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
    expect(deliveryLines(endpoint).map(({ outcome, code }) => outcome ?? code)).toEqual([
      'SIGNATURE_MISSING',
      'processed',
      'processed',
      'processed',
    ]);
  });

  test('is counted again after each line', () => {
    const throttle = new Throttle();
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const at = (ms: number) => {
      now = ms;
      return throttle.admit('reason');
    };
    expect([at(0), at(1), at(9_999), at(10_000), at(10_001), at(20_000), at(40_000)]).toEqual([
      0,
      undefined,
      undefined,
      2,
      undefined,
      1,
      0,
    ]);
  });
});

describe.each(expresses)('pino-http on %s', (framework) => {
  const start = async (options: ReceiverOptions = {}) => {
    const requests = captureLog();
    const middleware = pinoHttp({
      logger: requests.logger as Pino,
      autoLogging: false,
      genReqId: () => 'request-7',
    });
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
    const stdout = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const before = (): RequestHandler[] => [
      (req, _res, next) => {
        Object.assign(req, { log: 'none' });
        next();
      },
    ];
    const endpoint = await startEndpoint({ logger: undefined }, { framework, before });
    expect(await endpoint.post()).toMatchObject(processed);
    stdout.mockRestore();
  });
});

describe('a body that somebody has read', () => {
  test.each([
    ['express.json()', "app.post('/hooks', receiver()) before app.use(express.json())"],
    ['express.json()', 'express.json({ verify: keepRawBody })'],
  ])('by %s is an error whose line names the change to make', async (_parser, change) => {
    const endpoint = await startEndpoint({}, { before: (express) => [express.json()] });
    expect(await endpoint.post()).toMatchObject({ status: 500, body: { code: 'BODY_CONSUMED' } });
    expect(deliveryLines(endpoint)).toMatchObject([
      { level: ERROR, code: 'BODY_CONSUMED', hint: expect.stringContaining(change) },
    ]);
  });
});

describe('a logger that is broken', () => {
  const fail = () => {
    throw new Error('disk full');
  };
  const fine = () => {};
  const loggers: Record<string, object> = {
    'throws at every line': { info: fail, warn: fail, error: fail },
    'cannot make a child': { info: fine, warn: fine, error: fine, child: fail },
    'has no child': { info: fine, warn: fine, error: fine },
    'makes children that are none': { info: fine, warn: fine, error: fine, child: () => undefined },
    'makes children that cannot log': { info: fine, warn: fine, error: fine, child: () => ({}) },
    'rejects at every line': {
      info: () => Promise.reject(new Error('down')),
      warn: () => Promise.reject(new Error('down')),
      error: () => Promise.reject(new Error('down')),
    },
  };

  test.each(Object.entries(loggers))('that %s costs no event', async (_what, logger) => {
    let runs = 0;
    const endpoint = await startEndpoint({
      logger: logger as Logger,
      observer: {
        settled() {
          throw new Error('down');
        },
      },
      handlers: {
        '*': (_event, { log }) => {
          expect(log).toHaveProperty('info');
          runs += 1;
          if (runs === 1) throw new Error('down');
        },
      },
    });
    const sent = delivery();
    expect(await endpoint.post({ ...sent, headers: {} })).toMatchObject({ status: 401 });
    expect(await endpoint.post(sent)).toMatchObject({ status: 500 });
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(runs).toBe(2);
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
    const hooks = receiver({ privateKey: KEY }).on('*', () => {});
    const { body, headers } = delivery();
    await hooks.receive({ rawBody: body, headers });
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
        const { defaultLogger } = await import('../src/options/default-logger.js');
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
    expect(JSON.parse(String(first))).toMatchObject({
      level: 40,
      name,
      code: 'BODY_TIMEOUT',
      msg: 'delivery',
    });
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
    const { body, headers } = delivery();
    expect((await hooks.receive({ rawBody: body, headers })).status).toBe(500);
    const calls = writes.map((write) => write.mock.calls.length);
    jest.restoreAllMocks();
    expect(calls).toEqual([0, 0]);
  });
});
