import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { memoryStore, type ReceiverOptions, receiver } from 'payment-webhooks';
import { processor } from 'payment-webhooks/queues';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY, receivable, SANDBOX_KEY } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';

const environment = { ...process.env };
afterEach(() => {
  jest.useRealTimers();
  process.env = { ...environment };
});

/** What a production server has decided: nothing to warn of. */
const DECIDED: ReceiverOptions = {
  privateKey: KEY,
  signatureHeader: 'X-Pay-Signature',
  sandbox: 'ignore',
  store: { ...memoryStore(), claim: memoryStore().claim, scope: 'shared' as const },
  deadLetters: { ...faultyDeadLetters(), scope: 'shared' },
};

function warnings(options: ReceiverOptions, NODE_ENV = 'production') {
  process.env.NODE_ENV = NODE_ENV;
  const log = captureLog();
  receiver({ ...DECIDED, ...options, logger: log.logger });
  return log.lines.map(({ level, option, msg }) => ({ level, option, msg }));
}

const warning = (option: string, part: string | RegExp) => ({
  level: 40,
  option,
  msg: typeof part === 'string' ? expect.stringContaining(part) : expect.stringMatching(part),
});

const PREFIX = / does not begin with "pri_", as private keys do\./;
const COMMA = / has a comma in it\. If it is two keys, pass an array: \['pri_new', 'pri_old'\]$/;
const SANDBOX = / is a sandbox key, which verifies no live event\./;
const PUBLISHED = / is a published example key, so anyone could forge a payment\./;
const named = (name: string, fault: RegExp) =>
  new RegExp(`^${name.replace(/[[\]]/g, '\\$&')}${fault.source}`);

describe('in production a receiver warns once, when it is created, of', () => {
  test('everything that is left out', () => {
    const nothing = {
      signatureHeader: undefined,
      sandbox: undefined,
      store: undefined,
      deadLetters: undefined,
    };
    expect(
      warnings(nothing)
        .map(({ option }) => option)
        .sort(),
    ).toEqual(['deadLetters', 'sandbox', 'signatureHeader', 'store'].sort());
  });

  test.each<[string, ReceiverOptions, string, string | RegExp]>([
    ['an unset sandbox policy', { sandbox: undefined }, 'sandbox', 'set the option sandbox to "ignore"'],
    ['the memory store', { store: memoryStore() }, 'store', 'the memory store is not shared'],
    [
      'no dead letters',
      { deadLetters: undefined },
      'deadLetters',
      /^deadLetters is not set: .* does not deliver it again/,
    ],
    [
      'the header of the docs',
      { signatureHeader: undefined },
      'signatureHeader',
      /placeholder.* Set it to the name/,
    ],
    [
      'it in any case',
      { signatureHeader: 'x-Service-SIGNATURE' },
      'signatureHeader',
      'is X-SERVICE-SIGNATURE, a placeholder',
    ],
    ['another prefix', { privateKey: 'whsec_5f2c' }, 'privateKey', named('privateKey', PREFIX)],
    ['one of them', { privateKey: [KEY, 'sk_5f2c', 'sk_2'] }, 'privateKey', named('privateKey[1]', PREFIX)],
    ['a comma', { privateKey: 'pri_5f2c,9a7e' }, 'privateKey', named('privateKey', COMMA)],
    ['a comma in one of them', { privateKey: [KEY, 'pri_5,f'] }, 'privateKey', named('privateKey[1]', COMMA)],
    ['a sandbox key', { privateKey: SANDBOX_KEY }, 'privateKey', named('privateKey', SANDBOX)],
    [
      'one next to a live key',
      { privateKey: [KEY, SANDBOX_KEY] },
      'privateKey',
      named('privateKey[1]', SANDBOX),
    ],
    ['the key of the docs', { privateKey: 'pri_example' }, 'privateKey', named('privateKey', PUBLISHED)],
    [
      'that of the simulator',
      { privateKey: [KEY, 'pri_sim_dev'] },
      'privateKey',
      named('privateKey[1]', PUBLISHED),
    ],
    ['its sandbox key', { privateKey: 'pri_sandbox_sim_dev' }, 'privateKey', named('privateKey', PUBLISHED)],
  ])('%s', (_, options, option, part) => {
    expect(warnings(options)).toEqual([warning(option, part)]);
    expect(JSON.stringify(warnings(options))).not.toMatch(/5f2c|9a7e/);
  });

  test.each([
    ['sk_5f2c', PREFIX],
    ['sk_5f2c,sk_9a7e', COMMA],
    [SANDBOX_KEY, SANDBOX],
    ['pri_example', PUBLISHED],
  ])('a key in the environment: %s', (key, fault) => {
    process.env.SERVICE_PRIVATE_KEY = key;
    const { privateKey: _, ...rest } = DECIDED;
    process.env.NODE_ENV = 'production';
    const log = captureLog();
    receiver({ ...rest, logger: log.logger });
    expect(log.lines).toContainEqual(
      expect.objectContaining(warning('privateKey', named('SERVICE_PRIVATE_KEY', fault))),
    );
  });

  test('nothing that was decided', () => {
    expect(warnings({})).toEqual([]);
    expect(warnings({ sandbox: 'accept', privateKey: [KEY, SANDBOX_KEY] })).toEqual([]);
    expect(warnings({ sandbox: 'only', privateKey: SANDBOX_KEY })).toEqual([]);
    expect(warnings({ privateKey: () => 'sk_1' })).toEqual([]);
    expect(warnings({ privateKey: 'pri_example_own' })).toEqual([]);
    // Dead letters need a store.
    const withoutStore = warnings({ store: false, deadLetters: undefined });
    expect(withoutStore).toEqual([warning('deadLetters', 'deadLetters is not set')]);
  });

  test.each(['a,b', 'pri_example', 'pri_sim_dev'])(
    'nothing outside of production, with the key %s',
    (privateKey) => {
      const undecided = {
        signatureHeader: undefined,
        sandbox: undefined,
        store: memoryStore(),
        deadLetters: undefined,
        privateKey,
      };
      for (const env of ['test', 'development', 'staging']) expect(warnings(undecided, env)).toEqual([]);
    },
  );

  test('nothing that only a receiver has, in a worker', () => {
    process.env.NODE_ENV = 'production';
    process.env.SERVICE_PRIVATE_KEY = 'a,b';
    const log = captureLog();
    processor({ '*': () => {} }, { logger: log.logger });
    expect(log.lines).toEqual([]);
  });
});

describe('the environment variable', () => {
  const [OLD, NEW] = ['pri_9b1d4f0a', 'pri_3e6d9b2c'];

  test.each([
    `${NEW},${OLD}`,
    `${NEW}, ${OLD}`,
    `${NEW}\n${OLD}`,
    `${NEW}\r\n${OLD}\r\n`,
    `\n${NEW},\n\n ${OLD} ,`,
  ])('has several keys, one per line or separated by commas: %j', async (value) => {
    process.env.SERVICE_PRIVATE_KEY = value;
    const hooks = receiver({ logger: false, handlers: { '*': () => {} } });
    for (const key of [NEW, OLD]) expect((await hooks.receive(receivable(undefined, key))).status).toBe(200);
    for (const key of [value, KEY])
      expect((await hooks.receive(receivable(undefined, key))).status).toBe(401);
  });

  test.each(['sk_one,sk_two', 'pri_one,two', 'sk_one;sk_two'])('has one key: %s', async (value) => {
    process.env.SERVICE_PRIVATE_KEY = value;
    const hooks = receiver({ logger: false, handlers: { '*': () => {} } });
    expect((await hooks.receive(receivable(undefined, value))).status).toBe(200);
    for (const part of value.split(/[,;]/))
      expect((await hooks.receive(receivable(undefined, part))).status).toBe(401);
  });

  test.each([
    [`${NEW},pri_xxxx`, /^Key 2 in the environment variable SERVICE_PRIVATE_KEY is a placeholder/],
    [`pri_,${NEW}`, /^Key 1 in the environment variable SERVICE_PRIVATE_KEY has nothing after its prefix/],
    [`${NEW}\n`, /^The environment variable SERVICE_PRIVATE_KEY ends with a line break/],
    [`${NEW};${OLD}`, /^The environment variable SERVICE_PRIVATE_KEY holds several keys\. .*with commas\.$/],
    [`${NEW}\\n`, /^The environment variable SERVICE_PRIVATE_KEY has an escaped line break/],
    [`${NEW}\nsk_one`, /^The environment variable SERVICE_PRIVATE_KEY has a line break/],
  ])('names which of its keys is wrong: %j', (value, message) => {
    process.env.SERVICE_PRIVATE_KEY = value;
    expect(() => receiver({ logger: false })).toThrow(message);
  });
});

describe('a signature header that no request of the first minute has', () => {
  const MINUTE = 60_000;
  const start = (options: ReceiverOptions = {}) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance', 'queueMicrotask'] });
    const endpoint = startReceiver(options);
    const errors = () => endpoint.log.lines.filter(({ level }) => level === 50);
    return { ...endpoint, errors };
  };
  const good = delivery();
  const unsigned = { ...good, headers: { 'content-type': 'application/json', 'x-pay-signature': 'x' } };

  test('is one error, whatever else arrives', async () => {
    const { post, errors } = start();
    for (const _ of 'abc') expect(await post(unsigned)).toMatchObject({ status: 401 });
    jest.advanceTimersByTime(MINUTE - 1);
    expect(errors()).toEqual([]);
    jest.advanceTimersByTime(1);
    for (const _ of 'abc') await post(unsigned);
    jest.advanceTimersByTime(10 * MINUTE);
    expect(errors()).toMatchObject([
      {
        option: 'signatureHeader',
        requests: 3,
        msg: expect.stringMatching(/had the header x-service-signature, .* set the option signatureHeader/),
      },
    ]);
  });

  test.each<[string, object[]]>([
    ['one delivery had it', [unsigned, good, unsigned]],
    ['a forged one had it', [unsigned, { ...good, headers: { 'x-service-signature': 'x' } }]],
    [
      'no request had a body',
      [
        { ...good, headers: {} },
        { ...good, headers: { 'content-length': '0' } },
      ],
    ],
    ['there was none', []],
  ])('is no error if %s', async (_, sent) => {
    const { post, errors } = start();
    for (const each of sent) await post(each);
    jest.advanceTimersByTime(2 * MINUTE);
    expect(errors()).toEqual([]);
  });

  test('is no error once the receiver is closed, and keeps no process alive', async () => {
    const { hooks, post, errors } = start();
    await post(unsigned);
    await hooks.close();
    await post(unsigned);
    jest.advanceTimersByTime(2 * MINUTE);
    expect(errors()).toEqual([]);
  });
});
