// Keys that are loaded: when they are loaded again, what a rotation looks like, and what forged deliveries can cause.
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  type CachedKeysOptions,
  ConfigurationError,
  cachedKeys,
  type KeyFunction,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { RECEIVER_STATS, type ReceiverStats } from '../../src/deliveries/receiver-stats.js';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { raise } from '../setup/raise.js';
import { gate, until } from '../setup/waiting.js';

const OLD = 'pri_old';
const NEW = 'pri_new';
const down = () => Promise.reject(Object.assign(new Error(`the secret is ${OLD}`), { code: 'ECONNREFUSED' }));

beforeEach(() => {
  // Time passes when a test says so; everything else waits for real.
  const timers = [
    'setImmediate',
    'clearImmediate',
    'setInterval',
    'clearInterval',
    'setTimeout',
    'clearTimeout',
  ];
  const doNotFake = ['Date', 'hrtime', 'nextTick', 'queueMicrotask', ...timers] as never;
  jest.useFakeTimers({ doNotFake });
});

afterEach(() => {
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTime(ms);

/** A secret manager whose answers a test changes, and a receiver that asks it. */
function start(options: CachedKeysOptions = {}, receiverOptions: ReceiverOptions = {}) {
  const log = captureLog();
  const manager = { loads: 0, answer: async (): Promise<string | string[]> => OLD };
  const load = () => {
    manager.loads += 1;
    return manager.answer();
  };
  const hooks = receiver({
    privateKey: cachedKeys(load, { logger: log.logger, ...options }),
    logger: log.logger,
    handlers: { 'transaction.paid': async () => {} },
    ...receiverOptions,
  });
  const retryAfter: (string | undefined)[] = [];
  const deliver = async (key: string) => {
    const { body, headers } = delivery(fixtures.transactionPaid(), key);
    const answer = await hooks.receive({ rawBody: body, headers });
    retryAfter.push(answer.headers['Retry-After']);
    return answer.status;
  };
  return { manager, deliver, log, hooks, retryAfter };
}

describe('cachedKeys()', () => {
  test('loads again soon after a load that threw at once', async () => {
    const { manager, deliver } = start();
    manager.answer = () => raise(new Error('no such file'));
    expect(await deliver(OLD)).toBe(503);
    manager.answer = async () => OLD;
    pass(1_100);
    expect(await deliver(OLD)).toBe(200);
  });

  test('makes nobody wait for a load that hangs, so that forged deliveries cannot take the room of others', async () => {
    // Longer than the test may take.
    const { manager, deliver } = start({}, { storeTimeout: '10m' });
    expect(await deliver(OLD)).toBe(200);
    manager.answer = () => new Promise(() => {});
    pass(11_000);
    expect(await Promise.all([deliver('pri_forged'), deliver(OLD)])).toEqual([503, 200]);
    pass(2_000);
    expect(await Promise.all([deliver('pri_forged'), deliver(OLD)])).toEqual([503, 200]);
    expect(manager.loads).toBe(2);
  });

  test('loads once for all deliveries that wait, and again when ttl is over', async () => {
    const { manager, deliver } = start({ ttl: '5m' });
    expect(await Promise.all(Array.from({ length: 20 }, () => deliver(OLD)))).toEqual(Array(20).fill(200));
    expect(manager.loads).toBe(1);
    pass(299_000);
    expect([await deliver(OLD), manager.loads]).toEqual([200, 1]);
    pass(2_000);
    expect([await deliver(OLD), await deliver(OLD), manager.loads]).toEqual([200, 200, 2]);
  });

  test('takes a new key with its first delivery', async () => {
    const { manager, deliver } = start();
    expect(await deliver(OLD)).toBe(200);
    manager.answer = async () => [NEW, OLD];
    pass(10_000);
    expect([await deliver(NEW), await deliver(OLD), await deliver(NEW)]).toEqual([200, 200, 200]);
    expect(manager.loads).toBe(2);
  });

  test('takes a new key that another delivery loads while a key function around it is busy', async () => {
    let secret = OLD;
    let busy: Promise<void> | undefined;
    let waiting = 0;
    const cached = cachedKeys(async () => secret);
    const around: KeyFunction = async (given) => {
      const keys = await cached(given);
      waiting += 1;
      await busy;
      return keys;
    };
    const { deliver } = start({}, { privateKey: Object.assign(around, { refresh: cached.refresh }) });
    expect(await deliver(OLD)).toBe(200);
    pass(10_000);
    secret = NEW;
    const work = gate<void>();
    busy = work.opened;
    const first = deliver(NEW);
    await until(() => waiting === 2);
    busy = undefined;
    expect(await deliver(NEW)).toBe(200);
    work.open();
    expect(await first).toBe(200);
  });

  test('refuses the old key once it is gone', async () => {
    const { manager, deliver } = start();
    await deliver(OLD);
    manager.answer = async () => NEW;
    pass(10_000);
    expect(await deliver(NEW)).toBe(200);
    pass(1);
    expect(await deliver(OLD)).toBe(503);
    pass(10_000);
    expect(await deliver(OLD)).toBe(401);
  });

  test('a forged delivery never makes it refuse a new key: 503 until it can load again', async () => {
    const { manager, deliver, retryAfter } = start();
    expect(await deliver(OLD)).toBe(200);
    pass(10_000);
    expect(await deliver('pri_forged')).toBe(401);
    manager.answer = async () => NEW;
    pass(2_500);
    expect([await deliver(NEW), retryAfter.at(-1), manager.loads]).toEqual([503, '8', 2]);
    pass(7_500);
    expect([await deliver(NEW), manager.loads]).toEqual([200, 3]);
  });

  test('nor does a forged delivery whose load had begun before the key changed', async () => {
    const { manager, deliver, retryAfter } = start();
    await deliver(OLD);
    const loading = gate<string>();
    manager.answer = () => loading.opened;
    pass(10_000);
    const forged = deliver('pri_forged');
    await until(() => manager.loads === 2);
    pass(500);
    const genuine = deliver(NEW);
    await new Promise(setImmediate);
    loading.open(OLD);
    expect([await forged, await genuine, retryAfter.at(-1)]).toEqual([401, 503, '10']);
  });

  test('refuses a forged delivery for good when its own load shows that no key made it', async () => {
    const { manager, deliver } = start();
    expect([await deliver('pri_forged'), manager.loads]).toEqual([401, 1]);
  });

  test('nor does an answer that comes after its load was given up, and after the next one has failed', async () => {
    const { manager, deliver } = start();
    const loading = gate<string>();
    manager.answer = () => loading.opened;
    const first = deliver(OLD);
    await until(() => manager.loads === 1);
    pass(1);
    const rotated = deliver(NEW);
    // It has asked for the keys by then.
    await new Promise(setImmediate);
    pass(30_000);
    manager.answer = down;
    expect(await deliver(OLD)).toBe(503);
    loading.open(OLD);
    expect(await Promise.all([first, rotated])).toEqual([200, 503]);
  });

  test('counts and logs such a delivery like a refused one', async () => {
    const { deliver, log, hooks } = start();
    await deliver(OLD);
    pass(1);
    for (let count = 0; count < 3; count += 1) expect(await deliver('pri_forged')).toBe(503);
    const lines = log.lines.filter(({ code }) => code === 'KEY_UNAVAILABLE');
    expect(lines).toMatchObject([{ level: 40, hint: expect.stringContaining('None of the loaded keys') }]);
    expect((hooks as unknown as Record<symbol, ReceiverStats>)[RECEIVER_STATS]?.refused).toBe(3);
  });

  test('10,000 forged deliveries in 10 seconds load the keys at most twice', async () => {
    const { manager, deliver, log } = start();
    expect(await deliver(OLD)).toBe(200);
    pass(1);
    for (let batch = 0; batch < 100; batch += 1) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => deliver('pri_forged')));
      for (const status of answers) expect([401, 503]).toContain(status);
      pass(100);
    }
    expect(log.lines.filter(({ code }) => code === 'KEY_UNAVAILABLE')).toHaveLength(1);
    expect(manager.loads).toBeLessThanOrEqual(2);
    expect(await deliver(OLD)).toBe(200);
  });

  test('goes on with old keys while they cannot be loaded, until staleIfError is over', async () => {
    const { manager, deliver, log } = start({ ttl: '5m', staleIfError: '1h' });
    await deliver(OLD);
    manager.answer = down;
    pass(301_000);
    expect(await deliver(OLD)).toBe(200);
    expect(log.lines.filter(({ level }) => level === 50)).toMatchObject([
      { level: 50, msg: 'the private keys could not be loaded', error: { code: 'ECONNREFUSED' } },
    ]);
    expect(JSON.stringify(log.lines)).not.toContain(OLD);
    pass(3_600_000);
    expect(await deliver(OLD)).toBe(503);
    manager.answer = async () => OLD;
    pass(1_000);
    expect(await deliver(OLD)).toBe(200);
  });

  test('goes on with old keys while a load hangs, and takes its answer when it comes', async () => {
    const { manager, deliver } = start({ ttl: '5m' });
    await deliver(OLD);
    const loading = gate<string>();
    manager.answer = () => loading.opened;
    pass(301_000);
    const waiting = deliver(OLD);
    await until(() => manager.loads === 2);
    pass(1_000);
    expect(await waiting).toBe(200);
    expect([await deliver(OLD), manager.loads]).toEqual([200, 2]);
    loading.open(NEW);
    pass(1);
    expect([await deliver(NEW), await deliver(OLD), manager.loads]).toEqual([200, 503, 2]);
  });

  test('gives up a load that hangs for half a minute', async () => {
    const { manager, deliver } = start({ ttl: '5m' });
    await deliver(OLD);
    manager.answer = () => new Promise(() => {});
    pass(301_000);
    const waiting = deliver(OLD);
    await until(() => manager.loads === 2);
    pass(30_000);
    manager.answer = async () => OLD;
    expect([await waiting, await deliver(OLD), manager.loads]).toEqual([200, 200, 3]);
  });

  test('refuses nobody as a forger while it cannot know: 503, not 401', async () => {
    const { manager, deliver } = start();
    await deliver(OLD);
    manager.answer = down;
    pass(10_000);
    expect([await deliver(NEW), await deliver(NEW), manager.loads]).toEqual([503, 503, 2]);
    expect(await deliver(OLD)).toBe(200);
    manager.answer = async () => NEW;
    pass(1_000);
    expect(await deliver(NEW)).toBe(200);
  });

  test('asks a manager that is down once a second at most', async () => {
    const { manager, deliver } = start();
    manager.answer = down;
    for (let tenth = 0; tenth < 20; tenth += 1) {
      expect(await deliver(OLD)).toBe(503);
      pass(100);
    }
    expect(manager.loads).toBe(2);
  });

  test.each<[string, unknown]>([
    ['a blank secret', ' '],
    ['an empty array', []],
    ['nothing', undefined],
    ['a key in quotes', '"pri_old"'],
  ])('does not replace a key by %s', async (_, answer) => {
    const { manager, deliver } = start();
    await deliver(OLD);
    manager.answer = async () => answer as string;
    pass(301_000);
    expect(await deliver(OLD)).toBe(200);
  });

  test('a new key over HTTP is accepted by the delivery that shows it', async () => {
    let key = OLD;
    const privateKey = cachedKeys(async () => key, { refreshOnMismatch: 1 });
    const endpoint = await startEndpoint({ privateKey });
    expect(await endpoint.post(delivery(fixtures.transactionPaid(), OLD))).toMatchObject({ status: 200 });
    key = NEW;
    pass(2);
    expect(await endpoint.post(delivery(fixtures.transactionPaid(), NEW))).toMatchObject({ status: 200 });
    pass(2);
    expect(await endpoint.post(delivery(fixtures.transactionPaid(), OLD))).toMatchObject({ status: 401 });
    expect(endpoint.records.map(({ status }) => status)).toEqual([200, 200, 401]);
  });

  test.each<[unknown, unknown, RegExp]>([
    ['s3cret', {}, /cachedKeys\(\) was given text\. Pass a function/],
    [async () => OLD, { ttl: 'soon' }, /ttl is "soon"/],
    [async () => OLD, { staleIfError: -1 }, /staleIfError is -1/],
    [async () => OLD, { refreshOnMismatch: 0 }, /refreshOnMismatch is 0/],
    [async () => OLD, { tll: '5m' }, /tll.*ttl/],
  ])('refuses %p with %p', (load, options, message) => {
    expect(() => cachedKeys(load as never, options as never)).toThrow(ConfigurationError);
    expect(() => cachedKeys(load as never, options as never)).toThrow(message);
  });
});
