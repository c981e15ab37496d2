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
} from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { down } from '../setup/raise.js';

const LEAKED = 'pri_leaked_5f2c9a7e4b1d';
const idOf = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 12);

/** One app: its deployments share both stores, and what their handlers saw. */
function app(deadLetters: DeadLetterStore = memoryDeadLetters()) {
  const store = memoryStore();
  const ran: string[] = [];
  /** A deployment whose handler succeeds. */
  const deploy = (privateKey: ReceiverOptions['privateKey']) => {
    const handlers = { '*': ({ id }: { id: string }) => void ran.push(id) };
    const { hooks, log, letters, post } = startReceiver({ privateKey, store, deadLetters, handlers });
    return { manager: hooks.deadLetters, log, letters, post };
  };
  /** Keeps an event that a handler has failed. */
  const keep = async (id: string, key: string, headers: object = {}, options: ReceiverOptions = {}) => {
    const failing = startReceiver({
      ...{ privateKey: [KEY, LEAKED], store, deadLetters, handlers: { '*': down } },
      ...options,
    });
    const sent = delivery({ ...fixtures.transactionPaid(), id }, key);
    await failing.post({ ...sent, headers: { ...sent.headers, ...headers } });
  };
  return { deploy, keep, ran };
}

describe('a letter', () => {
  test('is not replayed once its key is revoked, unless any key is asked for', async () => {
    const { deploy, keep, ran } = app();
    await keep('forged', LEAKED);
    await keep('genuine', KEY);
    const { manager, letters, log } = deploy(KEY);
    expect(await manager.replay({ dryRun: true })).toMatchObject({ processed: 1, keyNotConfigured: 1 });
    expect(log.lines).toEqual([]);
    expect(await manager.replay()).toMatchObject({ processed: 1, keyNotConfigured: 1, failed: 0 });
    expect(ran).toEqual(['genuine']);
    const [left, ...others] = await letters();
    expect([left?.eventId, left?.attempts, others]).toEqual(['forged', 1, []]);
    expect(log.text.join('')).toContain('because its private key is not configured');
    expect(await manager.replay({ keys: 'any' })).toMatchObject({ processed: 1, keyNotConfigured: 0 });
    expect(ran).toEqual(['genuine', 'forged']);
  });

  test('is replayed while its key is one of those that are configured', async () => {
    const { deploy, keep, ran } = app();
    await keep('a', LEAKED);
    expect(await deploy([KEY, LEAKED]).manager.replay()).toMatchObject({ processed: 1 });
    expect(ran).toEqual(['a']);
  });

  test('is one of a key that was cached and has been revoked', async () => {
    const { deploy, keep, ran } = app();
    await keep('forged', LEAKED);
    let keys = [KEY, LEAKED];
    const privateKey = cachedKeys(() => keys, { refreshOnMismatch: 1, ttl: '1h' });
    const { manager, post } = deploy(privateKey);
    await post();
    keys = [KEY];
    // Its window for loading again is one millisecond.
    for (const end = performance.now() + 2; performance.now() < end; ) await null;
    expect(await manager.replay()).toMatchObject({ keyNotConfigured: 1 });
    expect(ran).toHaveLength(1);
  });
});

test('a letter without the id of its key is replayed only if any key is asked for', async () => {
  const inner = memoryDeadLetters();
  const keep: DeadLetterStore['keep'] = ({ keyId: _, ...letter }) => inner.keep(letter);
  const { deploy, keep: keepEvent, ran } = app({ ...faultyDeadLetters({}, inner), keep });
  await keepEvent('a', KEY);
  const { manager } = deploy(KEY);
  expect(await manager.replay()).toMatchObject({ processed: 0, keyNotConfigured: 1 });
  expect(await manager.replay({ keys: 'any' })).toMatchObject({ processed: 1 });
  expect(ran).toEqual(['a']);
});

test('the id of the key is listed, and filters list, count, pages and replays', async () => {
  const { deploy, keep, ran } = app();
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await keep(id, id < 'e' ? KEY : LEAKED);
  const { manager, letters } = deploy([KEY, LEAKED]);
  const keyId = idOf(LEAKED);
  const keyIds = (await letters()).map((letter) => letter.keyId);
  expect(keyIds).toEqual([...Array(4).fill(idOf(KEY)), keyId, keyId]);
  expect((await letters({ keyId })).map(({ eventId }) => eventId)).toEqual(['e', 'f']);
  expect(await manager.count({ keyId })).toMatchObject({ total: 2, groups: [{ count: 2 }] });
  expect(await manager.count({ keyId: idOf('none') })).toMatchObject({ total: 0 });
  const first = await manager.page({ keyId }, { limit: 1 });
  expect(first.letters).toMatchObject([{ eventId: 'e' }]);
  const second = await manager.page({ keyId }, { limit: 1, after: first.next ?? '' });
  expect(second.letters).toMatchObject([{ eventId: 'f' }]);
  expect(await manager.replay({ keyId })).toMatchObject({ processed: 2 });
  expect(ran).toEqual(['e', 'f']);
});

test('a letter that is kept again names the key of the latest delivery', async () => {
  const { deploy, keep } = app();
  await keep('a', LEAKED);
  await keep('a', KEY);
  const { manager, letters } = deploy(KEY);
  expect(await letters()).toMatchObject([{ keyId: idOf(KEY), attempts: 2 }]);
  expect(await manager.replay()).toMatchObject({ processed: 1 });
});

describe('a key function', () => {
  const perTenant: ReceiverOptions['privateKey'] = ({ headers }) => {
    if (headers['x-tenant'] !== 'acme') throw new Error('no such tenant');
    return KEY;
  };

  test('is given the headers that keepHeaders names', async () => {
    const { deploy, keep } = app();
    await keep('a', KEY, { 'x-tenant': 'acme' }, { keepHeaders: ['X-Tenant'] });
    expect(await deploy(perTenant).manager.replay()).toMatchObject({ processed: 1 });
  });

  test('that needs another header fails the replay, which says so, unless any key is asked for', async () => {
    const { deploy, keep, ran } = app();
    await keep('a', KEY, { 'x-tenant': 'acme' });
    const { manager, log } = deploy(perTenant);
    expect(await manager.replay()).toMatchObject({ failed: 1, processed: 0 });
    expect(log.lines).toMatchObject([
      { msg: 'replay', code: 'KEY_UNAVAILABLE', hint: expect.stringContaining('keepHeaders') },
    ]);
    expect(ran).toEqual([]);
    expect(await manager.replay({ keys: 'any' })).toMatchObject({ processed: 1 });
  });
});

test.each<[object, RegExp]>([
  [{ keys: 'all' }, /keys is "all"\. Pass "configured" or "any"\./],
  [{ keyId: KEY }, /^keyId is not the id of a key\. Pass the 12 hexadecimal digits/],
  [{ keyId: 7 }, /keyId is not the id of a key/],
  [{ keyId: `${idOf(KEY)}0` }, /keyId is not the id of a key/],
  [{ keyId: ` ${idOf(KEY)}` }, /keyId is not the id of a key/],
])('a replay with %j is refused', async (options, message) => {
  const { manager } = app().deploy(KEY);
  const replaying = manager.replay(options);
  await expect(replaying).rejects.toThrow(ConfigurationError);
  await expect(replaying).rejects.toThrow(message);
});
