import { join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import {
  ConfigurationError,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { RECEIVER_RULES, resolveOptions } from '../../src/options/options.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY, receivable } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { node } from '../setup/shell.js';

const environment = { ...process.env };

afterEach(() => {
  jest.restoreAllMocks();
  process.env = { ...environment };
});

/** What `receiver()` says about options that no compiler has seen. */
function refusal(options: unknown): ConfigurationError {
  try {
    receiver(options as ReceiverOptions);
  } catch (error) {
    if (ConfigurationError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const resolve = (options: ReceiverOptions) => resolveOptions(options, memoryStore);

describe('an option that is left out', () => {
  const expected = {
    signatureHeader: 'x-service-signature',
    sandbox: 'accept',
    drift: 'keep',
    namespace: 'default',
    lease: 30_000,
    limit: 262_144,
    maxHandlerTime: 300_000,
    maxInFlight: 1_000,
    logger: undefined,
    observer: undefined,
    bodyTimeout: 10_000,
    timeout: 10_000,
    storeTimeout: 2_000,
  };

  const undefinedOptions = Object.fromEntries(Object.keys(RECEIVER_RULES).map((name) => [name, undefined]));
  test.each<[string, object]>([
    ['left out', {}],
    ['undefined', undefinedOptions],
    ['left out of options without a prototype', Object.create(null)],
  ])('has its documented default when it is %s', (_, options) => {
    expect(resolve(Object.assign(options, { privateKey: KEY }))).toMatchObject(expected);
  });

  test('lets the whole object be left out when the key is in the environment', async () => {
    process.env.SERVICE_PRIVATE_KEY = KEY;
    jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    for (const hooks of [receiver(), receiver(undefined), receiver({})])
      expect(await hooks.receive(receivable())).toMatchObject({ status: 200 });
  });

  test('gives each receiver a memory store of its own', async () => {
    const sent = delivery();
    const [one, other] = [startReceiver(), startReceiver()];
    expect(await one.answers(sent, sent)).toEqual(['200 processed', '200 duplicate']);
    expect(await other.answers(sent)).toEqual(['200 processed']);
  });
});

describe('options as a whole', () => {
  const ALL = `The options are ${Object.keys(RECEIVER_RULES).join(', ')}.`;

  test.each([
    ['limits', 'limit'],
    ['drfit', 'drift'],
    ['Handlers', 'handlers'],
    ['signatureheader', 'signatureHeader'],
    ['private_key', 'privateKey'],
    ['maxInflight', 'maxInFlight'],
    ['secret', 'privateKey'],
    ['key', 'privateKey'],
    ['signingSecret', 'privateKey'],
    ['webhookSecret', 'privateKey'],
    ['header', 'signatureHeader'],
    ['log', 'logger'],
  ])('an unknown option %s is refused, and %s is suggested', (name, meant) => {
    expect(refusal({ privateKey: KEY, [name]: undefined }).message).toBe(
      `Unknown option "${name}". Did you mean "${meant}"? ${ALL}`,
    );
  });

  test.each(['quux', 'constructor', '__proto__', ''])('an unknown option %j is refused', (name) => {
    const options = JSON.parse(`{${JSON.stringify(name)}: 1}`);
    expect(refusal({ privateKey: KEY, ...options }).message).toBe(`Unknown option "${name}". ${ALL}`);
  });

  test.each([null, 5, true, [], () => {}])('%p instead of options is refused', (options) => {
    const message = /^receiver\(\) was given .+. Pass an object of options, or nothing\.$/;
    expect(refusal(options).message).toMatch(message);
  });

  test('a key instead of options is refused without being quoted', () => {
    const { message, stack } = refusal(KEY);
    expect(message).toContain('Pass an object of options');
    expect(`${message}${stack}`).not.toContain(KEY);
  });

  test('a request instead of options is answered with how to mount the receiver', () => {
    const { message } = refusal({ method: 'POST', url: '/hooks', socket: {}, headers: {} });
    expect(message).toContain("app.post('/hooks', receiver()), not app.post('/hooks', receiver)");
  });
});

const shown = (value: unknown) => (typeof value === 'string' ? `"${value}"` : String(value));
const TIMES = ['lease', 'bodyTimeout', 'timeout', 'maxHandlerTime', 'storeTimeout'] as const;
const NO_TIMES = [NaN, -1, Infinity, -Infinity, 2 ** 31, null, 'soon', '', '-1s', '30d', {}, 5n];
const NO_SIZES = ['banana', '', ' ', '256 kilobytes', '12banana', '-1kb', '0', '0kb', 'Infinity', NaN, -1, 0];
const NO_OBJECTS = [null, true, 'transaction.paid', []];
const NO_NAMES = ['refund', '.succeeded', 'refund.', '*', 'refund.*', 'refund succeeded.now', ''];

/** The whole message, and no more. */
const whole = (text: string) => new RegExp(`^${text.replace(/[.()]/g, '\\$&')}$`);

class Payments {
  readonly #paid: unknown[] = [];

  'transaction.paid'(event: unknown): void {
    this.#paid.push(event);
  }
}

type Message = string | RegExp | ((value: unknown, option: string) => string | RegExp);
/** Values that an option cannot take, and what the message has in it. */
const REFUSED: readonly [options: string | readonly string[], values: readonly unknown[], Message][] = [
  // A timer would misread them.
  [
    TIMES,
    NO_TIMES,
    (_, option) =>
      new RegExp(
        `^${option} is .+. Pass milliseconds from [01] to 2,147,483,647, or a string like "10s"\\.$`,
      ),
  ],
  [
    TIMES.filter((option) => option !== 'timeout'),
    [0],
    (_, option) => `${option} is 0. Pass milliseconds from 1`,
  ],
  // It would be read as no limit.
  [
    'limit',
    [...NO_SIZES, 1.5, Infinity, 1e300, null, true, [], {}],
    /^limit is .+. Pass a number of bytes above 0/,
  ],
  [
    'limit',
    ['512mb', '5gb', '1tb', 536_870_889, 2 ** 32, Number.MAX_SAFE_INTEGER],
    (limit) =>
      whole(
        `limit is ${shown(limit)}. Pass at most 536,870,888 bytes, such as "511mb". A larger body cannot be parsed.`,
      ),
  ],
  [
    'maxInFlight',
    [NaN, -1, 0, 1.5, Infinity, 2 ** 60, '10', null],
    /^maxInFlight is .+. Pass an integer from 1\.$/,
  ],
  [
    'signatureHeader',
    ['', 'X SIGNATURE', 'X-SIGNATURE:', 'x\nsignature', 'ä', null, 5],
    'signatureHeader is ',
  ],
  ['sandbox', ['deny', 'Accept', '', true, false, null], 'Pass "accept", "ignore" or "only"'],
  [
    'drift',
    ['handel', 'Handle', 'kept', '', true, false, null],
    (drift) => whole(`drift is ${shown(drift)}. Pass "keep" or "handle".`),
  ],
  ['namespace', ['', 'a:b', 'a b', 'ä', 'x'.repeat(65), null, 7], 'namespace is '],
  [
    'store',
    [true, null, 'redis', {}, memoryStore, { claim: 5 }],
    'Pass a store such as memoryStore(), or false',
  ],
  [
    'logger',
    [true, null, 'info', {}, { info() {}, warn() {} }],
    'Pass a logger like pino, with info(fields, text), warn() and error()',
  ],
  [
    'observer',
    [null, true, () => {}, { settled: true }, { around: 'x' }, { handler: null }],
    'Pass an object with functions around, handler, settled or exhausted',
  ],
  // Every event would be ignored.
  [
    'handlers',
    [...NO_OBJECTS, [() => {}], new Map([['transaction.paid', () => {}]])],
    /^handlers is .+. Pass an object of functions by pattern/,
  ],
  [
    'handlers',
    [new Payments(), new (class extends Payments {})(), Object.create({ 'transaction.paid': () => {} })],
    /^handlers inherits "transaction.paid", .+ Pass an object of functions by pattern/,
  ],
  [
    'handlers',
    [undefined, null, 'save', {}].map((handler) => ({ 'transaction.paid': handler })),
    'Pass a function (event, context)',
  ],
  ['handlers', [{ 'transaction.payed': () => {} }], 'Did you mean "transaction.paid"?'],
  // None would be declared.
  [
    'events',
    [...NO_OBJECTS, new Map([['refund.succeeded', z.looseObject({})]])],
    /^events is .+. Pass an object of schemas by event name/,
  ],
  [
    'events',
    [Object.create({ 'refund.succeeded': z.looseObject({}) })],
    /^events inherits "refund.succeeded", .+ Pass an object of schemas by event name/,
  ],
  [
    'events',
    [...NO_NAMES, 'r.'.padEnd(257, 'x')].map((name) => ({ [name]: z.looseObject({}) })),
    'Pass <resource>.<action>',
  ],
  [
    'events',
    [null, undefined, 'string', {}, () => true, { '~standard': {} }].map((schema) => ({ 'a.b': schema })),
    'Pass a Standard Schema for its payload',
  ],
];

describe('a value of an option', () => {
  const cases = REFUSED.flatMap(([options, values, message]) =>
    [options].flat().flatMap((option) => values.map((value) => [option, value, message] as const)),
  );
  test.each(cases)('%s: %p is refused', (option, value, message) => {
    const refused = refusal({ privateKey: KEY, [option]: value }).message;
    expect(refused).toMatch(typeof message === 'function' ? message(value, option) : message);
  });

  test.each(TIMES.flatMap((option) => [[option, '10s', 10_000] as const, [option, '1500', 1_500] as const]))(
    '%s: %p is %d milliseconds',
    (option, value, ms) => {
      expect(resolve({ privateKey: KEY, [option]: value, logger: false })[option]).toBe(ms);
    },
  );

  test.each(TIMES)('%s: the longest time that a timer can wait is taken', (option) => {
    expect(() => resolve({ privateKey: KEY, [option]: 2_147_483_647 })).not.toThrow();
  });

  test('handlers: functions that an instance of a class has itself are taken', async () => {
    class OwnHandlers extends Payments {
      override 'transaction.paid' = () => {};
    }
    const hooks = receiver({ privateKey: KEY, logger: false, handlers: new OwnHandlers() });
    expect((await hooks.receive(receivable())).body).toContain('"processed"');
  });

  test('timeout: 0 means none, so the claim bounds the delivery', () => {
    const { timeout } = resolve({ privateKey: KEY, timeout: 0, maxHandlerTime: 5_000 });
    expect(timeout).toBe(5_000);
  });

  test.each([
    [1, 1],
    [262_144, 262_144],
    ['1', 1],
    ['512b', 512],
    ['256kb', 262_144],
    ['256 KB', 262_144],
    ['1.5mb', 1_572_864],
    ['511mb', 535_822_336],
    [536_870_888, 536_870_888],
  ])('limit: %p is %d bytes', (limit, bytes) => {
    expect(resolve({ privateKey: KEY, limit }).limit).toBe(bytes);
  });
});

describe('the private key', () => {
  // The other faults: test/signature.test.ts.
  test.each([
    ['', 'is empty'],
    [null, 'is null, not text'],
    [`${KEY}\n`, 'ends with a line break'],
    [[], 'is an empty array'],
    [[undefined], 'is of type undefined'],
  ])('%j is refused, naming the fault', (privateKey, fault) => {
    expect(refusal({ privateKey }).message).toMatch(new RegExp(`^privateKey ${fault}`));
  });

  test.each([`${KEY}\n`, ` ${KEY}`, [[KEY, `${KEY} `]], { key: KEY }])('is never quoted', (privateKey) => {
    const { message, stack } = refusal({ privateKey });
    expect(`${message}${stack}`).not.toContain(KEY);
  });

  test('the bad one of several is named by its place', () => {
    expect(refusal({ privateKey: [KEY, ''] }).message).toMatch(/^privateKey\[1\] is empty/);
  });

  test('none at all is refused, naming the variable that would hold it', () => {
    delete process.env.SERVICE_PRIVATE_KEY;
    expect(refusal({}).message).toContain('environment variable SERVICE_PRIVATE_KEY');
    expect(refusal({ privateKey: undefined }).message).toContain('environment variable SERVICE_PRIVATE_KEY');
  });

  test.each(['', ' ', `${KEY}\n`])('%j in the environment is refused, naming the variable', (value) => {
    process.env.SERVICE_PRIVATE_KEY = value;
    const { message } = refusal({});
    expect(message).toMatch(/^The environment variable SERVICE_PRIVATE_KEY (?:is|has|ends) /);
    expect(message).not.toContain(KEY);
  });

  test('the option comes before the environment', async () => {
    process.env.SERVICE_PRIVATE_KEY = 'pri_another';
    const answer = await receiver({ privateKey: KEY, logger: false }).receive(receivable());
    expect(answer.status).toBe(200);
  });

  test('the environment is read when the receiver is made, not for each delivery', async () => {
    process.env.SERVICE_PRIVATE_KEY = KEY;
    const hooks = receiver({ logger: false });
    process.env.SERVICE_PRIVATE_KEY = 'pri_another';
    expect((await hooks.receive(receivable())).status).toBe(200);
  });

  test('a function is not called before there is a delivery', () => {
    const keys = jest.fn(() => KEY);
    receiver({ privateKey: keys });
    expect(keys).not.toHaveBeenCalled();
  });
});

describe('an option that is given', () => {
  test('namespace separates receivers that share a store', async () => {
    const store = memoryStore();
    const ran: string[] = [];
    const sent = receivable();
    for (const namespace of ['orders', 'mail', 'orders']) {
      const hooks = receiver({ privateKey: KEY, store, namespace, logger: false });
      hooks.on('*', () => ran.push(namespace));
      await hooks.receive(sent);
    }
    expect(ran).toEqual(['orders', 'mail']);
  });

  test('events joins the declared ones, and naming a built-in one replaces its schema', async () => {
    const events = {
      'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string() }) }),
      'transaction.paid': z.looseObject({ only: z.string() }),
    };
    const hooks = receiver({ privateKey: KEY, events, logger: false });
    expect(hooks.eventNames).toEqual(['transaction.paid', 'refund.succeeded']);
    hooks.on('*', () => {});
    const status = async (event: object) => {
      return (await hooks.receive(receivable(event))).status;
    };
    expect(await status(fixtures.event('refund.succeeded', { refund: { id: 'r-1' } }))).toBe(200);
    expect(await status(fixtures.event('refund.succeeded', { refund: {} }))).toBe(422);
    expect(await status(fixtures.event('transaction.paid', { only: 'this' }))).toBe(200);
    expect(await status(fixtures.transactionPaid())).toBe(422);
  });
});

function warnings(options: ReceiverOptions) {
  const log = captureLog();
  receiver({ privateKey: KEY, logger: log.logger, ...options });
  return log.lines.map(({ level, option, msg }) => ({ level, option, msg }));
}

const inMilliseconds = (option: string) =>
  `${option} is 10 milliseconds. Write '10s' for seconds, or '10ms' if you mean milliseconds`;

describe('a time that is probably a mistake', () => {
  test.each<[string, ReceiverOptions, string]>([
    [
      'lease',
      { lease: 1_000 },
      'lease (1000 ms) is shorter than storeTimeout (2000 ms): a claim that is granted after its lease has ended is ' +
        'released and answered 503',
    ],
    [
      'timeout',
      { timeout: 20_000, maxHandlerTime: 10_000, lease: 5_000 },
      'timeout (20000 ms) is longer than maxHandlerTime (10000 ms): ' +
        'a retry can run next to a handler whose delivery is not answered yet',
    ],
    ['timeout', { timeout: 10 }, inMilliseconds('timeout')],
    ['timeout', { timeout: '10' }, inMilliseconds('timeout')],
    ['bodyTimeout', { bodyTimeout: 10 }, inMilliseconds('bodyTimeout')],
    [
      'redrive',
      { deadLetters: memoryDeadLetters({ retention: 3_000 }), redrive: { delays: [1_000, 2_000] } },
      'redrive retries for 3000 ms, but dead letters expire after 3000 ms. Raise their retention, or shorten redrive.delays',
    ],
  ])('is taken, with a warning of %s that says what it leads to: %j', (option, options, msg) => {
    expect(warnings(options)).toEqual([{ level: 40, option, msg }]);
  });

  test.each<ReceiverOptions>([
    { lease: 500, storeTimeout: 500 },
    { lease: 500, store: false },
    { timeout: 10_000, maxHandlerTime: 10_000 },
    { timeout: 20_000, maxHandlerTime: 10_000, store: false },
    { timeout: '10ms' },
    { timeout: 0 },
    { timeout: 100 },
    { bodyTimeout: '50ms' },
    { deadLetters: memoryDeadLetters({ retention: 3_001 }), redrive: { delays: [1_000, 2_000] } },
    { deadLetters: memoryDeadLetters({ retention: 3_000 }) },
    { deadLetters: faultyDeadLetters(), redrive: true },
  ])('is not warned of when it is right, meant, or does not matter: %j', (options) => {
    expect(warnings(options)).toEqual([]);
  });
});

describe('a privateKey that is given as undefined', () => {
  test('is named before the environment variable that was used', () => {
    process.env.SERVICE_PRIVATE_KEY = KEY;
    expect(warnings({ privateKey: undefined })).toEqual([
      {
        level: 40,
        option: 'privateKey',
        msg: 'privateKey was given as undefined, so SERVICE_PRIVATE_KEY is used. Leave the option out if that is intended',
      },
    ]);
    const log = captureLog();
    receiver({ logger: log.logger });
    expect(log.lines).toEqual([]);
  });

  test('is named before the environment variable that is missing', () => {
    delete process.env.SERVICE_PRIVATE_KEY;
    expect(() => receiver({ privateKey: undefined })).toThrow(
      /^privateKey was given as undefined, and the environment variable SERVICE_PRIVATE_KEY is not set\. Pass /,
    );
  });
});

test('a memory store in a worker of node:cluster is warned of, because each worker has its own', async () => {
  const { stdout } = await node(['--import', 'tsx', join(__dirname, '../setup/cluster-worker.ts')]);
  expect(JSON.parse(stdout)).toEqual({
    level: 40,
    option: 'store',
    msg: 'each worker of node:cluster has its own memory store, so a retry that reaches another worker runs the event again: use redisStore(), postgresStore() or sqlStore()',
  });
});
