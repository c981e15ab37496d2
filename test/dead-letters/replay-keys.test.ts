// Which private key signed a letter, and what a replay makes of one that is not configured any more.
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import {
  ConfigurationError,
  cachedKeys,
  type DeadLetterStore,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY, receivable } from '../setup/delivery.js';
import { faultyDeadLetters, lettersOf } from '../setup/faulty-dead-letters.js';

const LEAKED = 'pri_leaked_5f2c9a7e4b1d';
const idOf = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 12);

/** One app: its deployments share both stores, and what their handlers saw. */
function app(deadLetters: DeadLetterStore = memoryDeadLetters()) {
  const store = memoryStore();
  const ran: string[] = [];
  const start = (privateKey: ReceiverOptions['privateKey'], options: ReceiverOptions = {}) => {
    const log = captureLog();
    const hooks = receiver({ privateKey, logger: log.logger, store, ...options, deadLetters });
    return { hooks, log, letters: hooks.deadLetters };
  };
  /** A deployment with handlers. */
  const deploy = (privateKey: ReceiverOptions['privateKey'], options: ReceiverOptions = {}) => {
    const deployed = start(privateKey, options);
    deployed.hooks.on('*', ({ id }) => void ran.push(id));
    return deployed;
  };
  /** Keeps an event that a handler has failed. */
  const keep = async (id: string, key: string, headers: object = {}, options: ReceiverOptions = {}) => {
    const { hooks } = start([KEY, LEAKED], options);
    hooks.on('*', () => Promise.reject(new Error('down')));
    const sent = delivery({ ...fixtures.transactionPaid(), id }, key);
    await hooks.receive({ rawBody: sent.body, headers: { ...sent.headers, ...headers } });
  };
  return { deploy, keep, ran, deadLetters };
}

describe('a letter', () => {
  test('is not replayed once its key is revoked, unless any key is asked for', async () => {
    const { deploy, keep, ran } = app();
    await keep('forged', LEAKED);
    await keep('genuine', KEY);
    const { letters, hooks, log } = deploy(KEY);
    expect(await letters.replay({ dryRun: true })).toMatchObject({ processed: 1, keyNotConfigured: 1 });
    expect(log.lines).toEqual([]);
    expect(await letters.replay()).toMatchObject({ processed: 1, keyNotConfigured: 1, failed: 0 });
    expect(ran).toEqual(['genuine']);
    const [left, ...others] = await lettersOf(hooks);
    expect([left?.eventId, left?.attempts, others]).toEqual(['forged', 1, []]);
    expect(log.text.join('')).toContain('because its private key is not configured');
    expect(await letters.replay({ keys: 'any' })).toMatchObject({ processed: 1, keyNotConfigured: 0 });
    expect(ran).toEqual(['genuine', 'forged']);
  });

  test('is replayed while its key is one of those that are configured', async () => {
    const { deploy, keep, ran } = app();
    await keep('a', LEAKED);
    expect(await deploy([KEY, LEAKED]).letters.replay()).toMatchObject({ processed: 1 });
    expect(ran).toEqual(['a']);
  });

  test('is one of a key that was cached and has been revoked', async () => {
    const { deploy, keep, ran } = app();
    await keep('forged', LEAKED);
    let keys = [KEY, LEAKED];
    const privateKey = cachedKeys(() => keys, { refreshOnMismatch: 1, ttl: '1h' });
    const { hooks, letters } = deploy(privateKey);
    await hooks.receive(receivable(fixtures.transactionPaid()));
    keys = [KEY];
    // Its window for loading again is one millisecond.
    for (const end = performance.now() + 2; performance.now() < end; ) await null;
    expect(await letters.replay()).toMatchObject({ keyNotConfigured: 1 });
    expect(ran).toHaveLength(1);
  });
});

test('a letter without the id of its key is replayed only if any key is asked for', async () => {
  const inner = memoryDeadLetters();
  const keep: DeadLetterStore['keep'] = ({ keyId: _, ...letter }) => inner.keep(letter);
  const { deploy, keep: keepEvent, ran } = app({ ...faultyDeadLetters({}, inner), keep });
  await keepEvent('a', KEY);
  const { letters } = deploy(KEY);
  expect(await letters.replay()).toMatchObject({ processed: 0, keyNotConfigured: 1 });
  expect(await letters.replay({ keys: 'any' })).toMatchObject({ processed: 1 });
  expect(ran).toEqual(['a']);
});

test('the id of the key is listed, and filters list, count, pages and replays', async () => {
  const { deploy, keep, ran } = app();
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await keep(id, id < 'e' ? KEY : LEAKED);
  const { letters, hooks } = deploy([KEY, LEAKED]);
  const keyId = idOf(LEAKED);
  const keyIds = (await lettersOf(hooks)).map((letter) => letter.keyId);
  expect(keyIds).toEqual([...Array(4).fill(idOf(KEY)), keyId, keyId]);
  expect((await lettersOf(hooks, { keyId })).map(({ eventId }) => eventId)).toEqual(['e', 'f']);
  expect(await letters.count({ keyId })).toMatchObject({ total: 2, groups: [{ count: 2 }] });
  expect(await letters.count({ keyId: idOf('none') })).toMatchObject({ total: 0 });
  const first = await letters.page({ keyId }, { limit: 1 });
  expect(first.letters).toMatchObject([{ eventId: 'e' }]);
  const second = await letters.page({ keyId }, { limit: 1, after: first.next ?? '' });
  expect(second.letters).toMatchObject([{ eventId: 'f' }]);
  expect(await letters.replay({ keyId })).toMatchObject({ processed: 2 });
  expect(ran).toEqual(['e', 'f']);
});

test('a letter that is kept again names the key of the latest delivery', async () => {
  const { deploy, keep } = app();
  await keep('a', LEAKED);
  await keep('a', KEY);
  const { hooks, letters } = deploy(KEY);
  expect(await lettersOf(hooks)).toMatchObject([{ keyId: idOf(KEY), attempts: 2 }]);
  expect(await letters.replay()).toMatchObject({ processed: 1 });
});

describe('a key function', () => {
  const perTenant: ReceiverOptions['privateKey'] = ({ headers }) => {
    if (headers['x-tenant'] !== 'acme') throw new Error('no such tenant');
    return KEY;
  };

  test('is given the headers that keepHeaders names', async () => {
    const { deploy, keep } = app();
    await keep('a', KEY, { 'x-tenant': 'acme' }, { keepHeaders: ['X-Tenant'] });
    expect(await deploy(perTenant).letters.replay()).toMatchObject({ processed: 1 });
  });

  test('that needs another header fails the replay, which says so, unless any key is asked for', async () => {
    const { deploy, keep, ran } = app();
    await keep('a', KEY, { 'x-tenant': 'acme' });
    const { letters, log } = deploy(perTenant);
    expect(await letters.replay()).toMatchObject({ failed: 1, processed: 0 });
    expect(log.lines).toMatchObject([
      { msg: 'replay', code: 'KEY_UNAVAILABLE', hint: expect.stringContaining('keepHeaders') },
    ]);
    expect(ran).toEqual([]);
    expect(await letters.replay({ keys: 'any' })).toMatchObject({ processed: 1 });
  });
});

test.each<[object, RegExp]>([
  [{ keys: 'all' }, /keys is "all"\. Pass "configured" or "any"\./],
  [{ keyId: KEY }, /^keyId is not the id of a key\. Pass the 12 hexadecimal digits/],
  [{ keyId: 7 }, /keyId is not the id of a key/],
  [{ keyId: `${idOf(KEY)}0` }, /keyId is not the id of a key/],
  [{ keyId: ` ${idOf(KEY)}` }, /keyId is not the id of a key/],
])('a replay with %j is refused', async (options, message) => {
  const { letters } = app().deploy(KEY);
  const replaying = letters.replay(options);
  await expect(replaying).rejects.toThrow(ConfigurationError);
  await expect(replaying).rejects.toThrow(message);
});
