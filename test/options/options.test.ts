import { join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { ConfigurationError, memoryStore, type ReceiverOptions, receiver } from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { RECEIVER_RULES, resolveOptions } from '../../src/options/options.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY, receivable } from '../setup/delivery.js';
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

  test('has its documented default', () => {
    expect(resolve({ privateKey: KEY })).toMatchObject(expected);
  });

  test('has the same default when it is given as undefined', () => {
    const options = Object.fromEntries(Object.keys(RECEIVER_RULES).map((name) => [name, undefined]));
    expect(resolve({ ...options, privateKey: KEY })).toMatchObject(expected);
  });

  test('has the same default in options without a prototype', () => {
    expect(resolve(Object.assign(Object.create(null), { privateKey: KEY }))).toMatchObject(expected);
  });

  test('lets the whole object be left out when the key is in the environment', async () => {
    process.env.SERVICE_PRIVATE_KEY = KEY;
    const sent = receivable();
    jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    for (const hooks of [receiver(), receiver(undefined), receiver({})]) {
      expect(await hooks.receive(sent)).toMatchObject({ status: 200 });
    }
  });

  test('gives each receiver a memory store of its own', async () => {
    const sent = receivable();
    const outcomes = [];
    for (const hooks of [
      receiver({ privateKey: KEY, logger: false }),
      receiver({ privateKey: KEY, logger: false }),
    ]) {
      hooks.on('*', () => {});
      for (const _ of ['first', 'again']) outcomes.push(JSON.parse((await hooks.receive(sent)).body));
    }
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      'processed',
      'duplicate',
      'processed',
      'duplicate',
    ]);
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

  test.each(['quux', 'constructor', '__proto__', ''])(
    'an unknown option %j that resembles none is refused',
    (name) => {
      const options = JSON.parse(`{${JSON.stringify(name)}: 1}`);
      expect(refusal({ privateKey: KEY, ...options }).message).toBe(`Unknown option "${name}". ${ALL}`);
    },
  );

  test.each([null, 5, true, [], () => {}])('%p instead of options is refused', (options) => {
    expect(refusal(options).message).toMatch(
      /^receiver\(\) was given .+. Give an object of options, or nothing\.$/,
    );
  });

  test('a key instead of options is refused without being quoted', () => {
    const { message, stack } = refusal(KEY);
    expect(message).toContain('Give an object of options');
    expect(`${message}${stack}`).not.toContain(KEY);
  });

  test('a request instead of options is answered with how to mount the receiver', () => {
    const request = { method: 'POST', url: '/hooks', socket: {}, headers: {} };
    expect(refusal(request).message).toContain(
      "app.post('/hooks', receiver()), not app.post('/hooks', receiver)",
    );
  });
});

describe('a value that an option cannot take', () => {
  const times = ['lease', 'bodyTimeout', 'timeout', 'maxHandlerTime', 'storeTimeout'] as const;

  test.each(
    times.flatMap((option) =>
      [NaN, -1, Infinity, -Infinity, 2 ** 31, null, 'soon', '', '-1s', '30d', {}, 5n].map(
        (value) => [option, value] as const,
      ),
    ),
  )('%s: %p is refused, because a timer would misread it', (option, value) => {
    const { message } = refusal({ privateKey: KEY, [option]: value });
    expect(message).toMatch(
      new RegExp(`^${option} is .+. Give milliseconds from [01] to 2,147,483,647, or text like "10s"\\.$`),
    );
  });

  test.each(times.flatMap((option) => [[option, '10s', 10_000] as const, [option, '1500', 1_500] as const]))(
    '%s: %p is %d milliseconds',
    (option, value, ms) => {
      expect(resolve({ privateKey: KEY, [option]: value, logger: false })[option]).toBe(ms);
    },
  );

  test.each(times)('%s takes the longest time that a timer can wait', (option) => {
    expect(() => resolve({ privateKey: KEY, [option]: 2_147_483_647 })).not.toThrow();
  });

  test.each(['lease', 'bodyTimeout', 'maxHandlerTime', 'storeTimeout'])('%s: 0 is refused', (option) => {
    expect(refusal({ privateKey: KEY, [option]: 0 }).message).toContain(
      `${option} is 0. Give milliseconds from 1`,
    );
  });

  test('timeout: 0 means none, so the claim bounds the delivery', () => {
    expect(resolve({ privateKey: KEY, timeout: 0, maxHandlerTime: 5_000 })).toMatchObject({
      timeout: 5_000,
    });
  });

  test.each([
    'banana',
    '',
    ' ',
    '256 kilobytes',
    '12banana',
    '-1kb',
    '0',
    '0kb',
    NaN,
    -1,
    0,
    1.5,
    Infinity,
    1e300,
    null,
    true,
    [],
  ])('limit: %p is refused, because it would be read as no limit', (limit) => {
    expect(refusal({ privateKey: KEY, limit }).message).toMatch(
      /^limit is .+. Give a number of bytes above 0/,
    );
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

  test.each(['512mb', '5gb', '1tb', 536_870_889, 2 ** 32, Number.MAX_SAFE_INTEGER])(
    'limit: %p is refused, because no such body could be parsed',
    (limit) => {
      const given = typeof limit === 'string' ? `"${limit}"` : limit;
      expect(refusal({ privateKey: KEY, limit }).message).toBe(
        `limit is ${given}. Give at most 536,870,888 bytes, such as "511mb". A larger body cannot be parsed.`,
      );
    },
  );

  test.each([NaN, -1, 0, 1.5, Infinity, 2 ** 60, '10', null])('maxInFlight: %p is refused', (maxInFlight) => {
    expect(refusal({ privateKey: KEY, maxInFlight }).message).toMatch(
      /^maxInFlight is .+. Give a whole number from 1\.$/,
    );
  });

  test.each(['', 'X SIGNATURE', 'X-SIGNATURE:', 'x\nsignature', 'ä', null, 5])(
    'signatureHeader: %p is refused',
    (signatureHeader) => {
      expect(refusal({ privateKey: KEY, signatureHeader }).message).toContain('signatureHeader is ');
    },
  );

  test.each(['deny', 'Accept', '', true, false, null])('sandbox: %p is refused', (sandbox) => {
    expect(refusal({ privateKey: KEY, sandbox }).message).toContain('Give "accept", "ignore" or "only"');
  });

  test.each(['handel', 'Handle', 'kept', '', true, false, null])('drift: %p is refused', (drift) => {
    const given = typeof drift === 'string' ? `"${drift}"` : drift;
    expect(refusal({ privateKey: KEY, drift }).message).toBe(`drift is ${given}. Give "keep" or "handle".`);
  });

  test.each(['', 'a:b', 'a b', 'ä', 'x'.repeat(65), null, 7])('namespace: %p is refused', (namespace) => {
    expect(refusal({ privateKey: KEY, namespace }).message).toContain('namespace is ');
  });

  test.each([true, null, 'redis', {}, memoryStore, { claim: 5 }])('store: %p is refused', (store) => {
    expect(refusal({ privateKey: KEY, store }).message).toContain(
      'Give a store such as memoryStore(), or false',
    );
  });

  test.each([true, null, 'info', {}, { info() {}, warn() {} }])('logger: %p is refused', (logger) => {
    expect(refusal({ privateKey: KEY, logger }).message).toContain(
      'Give a logger with info(), warn() and error()',
    );
  });

  test.each([null, true, () => {}, { settled: true }, { around: 'x' }, { handler: null }])(
    'observer: %p is refused',
    (observer) => {
      expect(refusal({ privateKey: KEY, observer }).message).toContain(
        'Give an object with functions around, handler, settled or exhausted',
      );
    },
  );

  test.each([null, true, 'transaction.paid', [], [() => {}], new Map([['transaction.paid', () => {}]])])(
    'handlers: %p is refused, because every event would be ignored',
    (handlers) => {
      expect(refusal({ privateKey: KEY, handlers }).message).toMatch(
        /^handlers is .+. Give an object of functions by pattern/,
      );
    },
  );

  test.each([undefined, null, 'save', {}])('a handler that is %p is refused', (handler) => {
    expect(refusal({ privateKey: KEY, handlers: { 'transaction.paid': handler } }).message).toContain(
      'Give a function (event, context)',
    );
  });

  test('handlers with a pattern that nothing matches are refused', () => {
    expect(refusal({ privateKey: KEY, handlers: { 'transaction.payed': () => {} } }).message).toContain(
      'Did you mean "transaction.paid"?',
    );
  });

  test.each([null, true, 'refund.succeeded', [], new Map([['refund.succeeded', z.looseObject({})]])])(
    'events: %p is refused, because none would be declared',
    (events) => {
      expect(refusal({ privateKey: KEY, events }).message).toMatch(
        /^events is .+. Give an object of schemas by event name/,
      );
    },
  );

  test.each([
    'refund',
    '.succeeded',
    'refund.',
    '*',
    'refund.*',
    'refund succeeded.now',
    '',
    'r.'.padEnd(257, 'x'),
  ])('events with the name %j are refused', (name) => {
    expect(refusal({ privateKey: KEY, events: { [name]: z.looseObject({}) } }).message).toContain(
      'Give <resource>.<action>',
    );
  });

  test.each([null, undefined, 'string', {}, () => true, { '~standard': {} }])(
    'events with %p for a schema are refused',
    (schema) => {
      expect(refusal({ privateKey: KEY, events: { 'refund.succeeded': schema } }).message).toContain(
        'Give a Standard Schema for its payload',
      );
    },
  );
});

describe('the private key', () => {
  test.each([
    ['', 'is empty'],
    ['   ', 'is blank'],
    ['\n', 'is blank'],
    ['undefined', 'is the text of a missing value'],
    ['null', 'is the text of a missing value'],
    ['[object Object]', 'is the text of a missing value'],
    [null, 'is null, not text'],
    [42, 'is of type number, not text'],
    [{ key: KEY }, 'is of type object, not text'],
    [`${KEY}\n`, 'ends with a line break'],
    [`"${KEY}"`, 'is in quotes'],
    [`${KEY}\u0000`, 'has a line break or another control character'],
    [` ${KEY}`, 'begins or ends with white space'],
    [[], 'is an empty list'],
    [[undefined], 'is of type undefined'],
  ])('%j is refused, naming the fault', (privateKey, fault) => {
    expect(refusal({ privateKey }).message).toMatch(new RegExp(`^privateKey ${fault}`));
  });

  test.each([[`${KEY}\n`], [` ${KEY}`], [[KEY, `${KEY} `]], [{ key: KEY }]])(
    'a bad key is never quoted',
    (privateKey) => {
      const { message, stack } = refusal({ privateKey });
      expect(`${message}${stack}`).not.toContain(KEY);
    },
  );

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
  test('signatureHeader names the header, in any case', async () => {
    const hooks = receiver({ privateKey: KEY, signatureHeader: 'X-Pay-Signature', logger: false });
    const { body, headers } = delivery();
    const signed = { rawBody: body, headers: { 'x-PAY-signature': headers['x-service-signature'] } };
    expect((await hooks.receive(signed)).status).toBe(200);
    expect((await hooks.receive({ rawBody: body, headers })).status).toBe(401);
  });

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

  test('store: false remembers nothing', async () => {
    const attempts: number[] = [];
    const hooks = receiver({ privateKey: KEY, store: false, logger: false });
    hooks.on('*', (_event, { attempt }) => attempts.push(attempt));
    const sent = receivable();
    for (const _ of ['first', 'again']) {
      expect(JSON.parse((await hooks.receive(sent)).body).outcome).toBe('processed');
    }
    expect(attempts).toEqual([1, 1]);
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

  test('a schema may change the payload: handlers get its output', async () => {
    const events = { 'refund.succeeded': z.object({ amount: z.string().transform(Number) }) };
    const amounts: number[] = [];
    const hooks = receiver({ privateKey: KEY, events, logger: false });
    hooks.on('refund.succeeded', (event) => amounts.push(event.payload.amount));
    await hooks.receive(receivable(fixtures.event('refund.succeeded', { amount: '12.5' })));
    expect(amounts).toEqual([12.5]);
  });
});

function warnings(options: ReceiverOptions) {
  const log = captureLog();
  receiver({ privateKey: KEY, logger: log.logger, ...options });
  return log.lines.map(({ level, option, msg }) => ({ level, option, msg }));
}

describe('a lease shorter than storeTimeout', () => {
  test('is taken, with a warning that says what it leads to', () => {
    expect(warnings({ lease: 1_000 })).toEqual([
      {
        level: 40,
        option: 'lease',
        msg:
          'lease (1000 ms) is shorter than storeTimeout (2000 ms): a claim that comes after its lease has ended is ' +
          'given back and answered 503',
      },
    ]);
  });

  test.each<[string, ReceiverOptions]>([
    ['as long', { lease: 500, storeTimeout: 500 }],
    ['without a store', { lease: 500, store: false }],
  ])('is not warned of when it is not, or does not matter: %s', (_, options) => {
    expect(warnings(options)).toEqual([]);
  });
});

describe('a timeout longer than maxHandlerTime', () => {
  test('is taken, with a warning that says what it leads to', () => {
    expect(warnings({ timeout: 20_000, maxHandlerTime: 10_000, lease: 5_000 })).toEqual([
      {
        level: 40,
        option: 'timeout',
        msg:
          'timeout (20000 ms) is longer than maxHandlerTime (10000 ms): ' +
          'a retry can run beside a handler whose delivery is not answered yet',
      },
    ]);
  });

  test.each<[string, ReceiverOptions]>([
    ['as long', { timeout: 10_000, maxHandlerTime: 10_000 }],
    ['without a store', { timeout: 20_000, maxHandlerTime: 10_000, store: false }],
  ])('is not warned of when it is not, or does not matter: %s', (_, options) => {
    expect(warnings(options)).toEqual([]);
  });
});

describe('a time below 100 ms', () => {
  test.each<[string, ReceiverOptions]>([
    ['timeout', { timeout: 10 }],
    ['timeout', { timeout: '10' }],
    ['bodyTimeout', { bodyTimeout: 10 }],
  ])('is taken, with a warning that numbers are milliseconds: %s', (option, options) => {
    expect(warnings(options)).toEqual([
      {
        level: 40,
        option,
        msg: `${option} is 10 milliseconds. Write '10s' for seconds, or '10ms' if it is meant`,
      },
    ]);
  });

  test.each<ReceiverOptions>([
    { timeout: '10ms' },
    { timeout: 0 },
    { timeout: 100 },
    { bodyTimeout: '50ms' },
  ])('is not warned of when it is not, or is meant: %j', (options) => {
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
        msg: 'privateKey was given as undefined, so SERVICE_PRIVATE_KEY is used. Leave the option out if that is meant',
      },
    ]);
    const log = captureLog();
    receiver({ logger: log.logger });
    expect(log.lines).toEqual([]);
  });

  test('is named before the environment variable that is missing', () => {
    delete process.env.SERVICE_PRIVATE_KEY;
    expect(() => receiver({ privateKey: undefined })).toThrow(
      /^privateKey was given as undefined, and the environment variable SERVICE_PRIVATE_KEY is not set\. Give /,
    );
  });
});

describe('a memory store in a worker of node:cluster', () => {
  test('is warned of, because each worker has its own', async () => {
    const program = join(__dirname, '../setup/cluster-worker.ts');
    const { stdout } = await node(['--import', 'tsx', program]);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      {
        level: 40,
        option: 'store',
        msg: 'each worker of node:cluster has its own memory store, so a retry that another worker gets runs the event again: use redisStore(), postgresStore() or sqlStore()',
      },
    ]);
  });
});

describe('in production', () => {
  const inProduction = (options: ReceiverOptions) => {
    process.env.NODE_ENV = 'production';
    return warnings(options);
  };

  test('an unset sandbox policy and the memory store are warned of, once each', () => {
    expect(inProduction({})).toEqual([
      { level: 40, option: 'sandbox', msg: expect.stringContaining('set the option sandbox to "ignore"') },
      { level: 40, option: 'store', msg: expect.stringContaining('seen by this process only') },
    ]);
  });

  test('what was decided is not warned of', () => {
    const shared = { ...memoryStore(), claim: memoryStore().claim, scope: 'shared' as const };
    expect(inProduction({ sandbox: 'accept', store: shared })).toEqual([]);
    expect(inProduction({ sandbox: 'ignore', store: false })).toEqual([]);
  });

  test.each(['pri_example', 'pri_sim_dev'])('%s is warned of, which anyone could sign with', (key) => {
    const decided = { sandbox: 'ignore', store: false } as const;
    const warning = { level: 40, option: 'privateKey', msg: expect.stringContaining('anyone could forge') };
    expect(inProduction({ ...decided, privateKey: key })).toEqual([warning]);
    expect(inProduction({ ...decided, privateKey: ['pri_own', key] })).toEqual([warning]);
    expect(inProduction({ ...decided, privateKey: 'pri_example_own' })).toEqual([]);
    process.env.SERVICE_PRIVATE_KEY = key;
    expect(inProduction({ ...decided, privateKey: undefined })).toContainEqual(warning);
    process.env.NODE_ENV = 'test';
    expect(warnings({ privateKey: key })).toEqual([]);
  });

  test('outside of it nothing is warned of', () => {
    expect(warnings({})).toEqual([]);
  });
});
