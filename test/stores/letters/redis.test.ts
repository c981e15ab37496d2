// Dead letters in a real Redis, through both clients and on a cluster.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { ConfigurationError, type NewDeadLetter, receiver, StoreError } from 'payment-webhooks';
import { redisDeadLetters, redisStore, type SendCommand } from 'payment-webhooks/stores/redis';
import { deadLetterContract } from 'payment-webhooks/testing';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { KEY, receivable } from '../../setup/delivery.js';
import { aLetter, countOf, keepTheLetterContract, queryOf, WHY } from '../../setup/letters.js';
import { startMovingSlot } from '../../setup/move-slot.js';
import { needing } from '../../setup/platform.js';
import { clusterClients, redisClients } from '../../setup/redis-clients.js';
import { startRedis } from '../../setup/services.js';
import { until } from '../../setup/waiting.js';
import { keepsSharedLetters, NEW_KEY, OLD_KEY, type SharedLetters } from './shared-letters.js';

const withRedis = needing('redis-server').describe;
/** Every run has keys of its own, also on a server that others use. */
const prefix = `letters:${randomBytes(6).toString('hex')}:`;
const LETTERS = `${prefix}{dead-letters}`;
const BUFFERS = 'ioredis, with Buffers for replies';

withRedis('dead letters in Redis', () => {
  const { io, clients } = redisClients(prefix);

  const open = (options: Partial<Parameters<typeof redisDeadLetters>[0]> = {}) =>
    redisDeadLetters({ sendCommand: (...args) => io.call(...args), prefix, ...options });

  const contract = (name: string, encryptionKeys?: (Buffer | string)[]) =>
    deadLetterContract({
      // Cases with a retention of their own need a place of their own: it is that of every letter there.
      create: ({ retention }) =>
        open({
          sendCommand: (...args) => (clients[name] as SendCommand)(...args),
          ...{ encryptionKeys, retention },
          prefix: `${prefix}${name}:${encryptionKeys?.length}:${retention}:`,
        }),
    });
  keepTheLetterContract({
    'through redis, as they are,': contract('redis'),
    'through redis, encrypted,': contract('redis', [NEW_KEY, OLD_KEY]),
    'through ioredis, as they are,': contract('ioredis'),
    'through ioredis, encrypted,': contract('ioredis', [NEW_KEY, OLD_KEY]),
    'through ioredis, with Buffers for replies, encrypted,': contract(BUFFERS, [OLD_KEY]),
  });

  const dumpOf = async (id: string) => {
    const fields = Object.entries(await io.hgetall(LETTERS)).filter(([field]) => field.endsWith(`:${id}`));
    const stored = Object.fromEntries(fields.map(([field, value]) => [field.charAt(0), value]));
    const { b: body, h: head, i: issues, ...rest } = stored;
    return { body, head, issues, ...rest };
  };
  /** The fields of the hash that are bytes. */
  const FIELDS: Readonly<Record<string, string>> = { body: 'b', head: 'h', issues: 'i' };
  const change: SharedLetters['change'] = async (id, part, edit) => {
    const sealed = FIELDS[part];
    const field = `${sealed ?? 'm'}:${id}`;
    const stored = (await io.hget(LETTERS, field)) ?? '';
    if (part === 'all of the identity') return write(edit(Buffer.from(stored)), 'utf8');
    if (sealed) return write(edit(Buffer.from(stored, 'base64')), 'base64');
    const identity = JSON.parse(stored);
    const changed = edit(identity[part]);
    await io.hset(LETTERS, field, JSON.stringify({ ...identity, [part]: changed }));
    return changed;

    async function write<Value>(value: Value, encoding: BufferEncoding): Promise<Value> {
      if (Buffer.isBuffer(value)) await io.hset(LETTERS, field, value.toString(encoding));
      else await io.hdel(LETTERS, field);
      return value;
    }
  };
  const bytes = ['body', 'head', 'issues', 'all of the identity'];
  keepsSharedLetters({
    open,
    another: (options) => open({ sendCommand: clients.redis as SendCommand, ...options }),
    ...{ dumpOf, change },
    parts: {
      ...{ bytes, optional: bytes },
      identity: ['key', 'fingerprint', 'namespace', 'eventName', 'eventId', 'sandbox'],
    },
    // More than a batch.
    pages: { letters: 450, limit: 40 },
  });

  test('hold neither bytes nor headers when they are discarded', async () => {
    const own = `${prefix}discarded:`;
    const store = open({ prefix: own, encryptionKeys: [OLD_KEY] });
    const id = await store.keep(aLetter());
    await store.discard(id, WHY);
    const fields = await io.hkeys(`${own}{dead-letters}`);
    expect(fields.filter((field) => /^[bhke]:/.test(field))).toEqual([]);
  });

  test('are pruned in batches when their retention is over, tombstones by the time they were discarded', async () => {
    const own = `${prefix}pruned:`;
    const store = open({ prefix: own });
    const [discarded, young] = [aLetter(), aLetter()];
    const old = Array.from({ length: 350 }, () => aLetter());
    for (const letter of [...old, discarded, young]) await store.keep(letter);
    await store.discard(discarded.id, WHY);
    const monthAgo = String(Date.now() - 31 * 86_400_000);
    for (const { id } of old) await io.zadd(`${own}{dead-letters}:ages`, monthAgo, id);
    expect(await countOf(store, queryOf({ namespace: 'default' }))).toBe(1);
    await store.prune();
    expect(await store.prune()).toBe(0);
    const left = await io.zrange(`${own}{dead-letters}:order`, '0', '-1');
    expect(left).toEqual([discarded.id, young.id]);
    const ids = (await io.hkeys(`${own}{dead-letters}`)).map((field) => field.slice(2));
    expect([...new Set(ids)].sort()).toEqual(['rial', discarded.id, young.id, young.key].sort());
  });

  test('have no time to live, so that no policy for such keys chooses them', async () => {
    const own = `${prefix}lasting:`;
    await open({ prefix: own }).keep(aLetter());
    const keys = await io.keys(`${own}*`);
    expect(keys).toHaveLength(3);
    for (const key of keys) expect(await io.pttl(key)).toBe(-1);
  });

  test('are refused, and none makes room, when Redis is full', async () => {
    const server = await startRedis(['--maxmemory', '3mb', '--maxmemory-policy', 'noeviction']);
    const full = new Redis(server.url);
    try {
      const store = open({ sendCommand: (...args) => full.call(...args) });
      const rawBody = randomBytes(100_000);
      const kept: string[] = [];
      const fill = async () => {
        for (let index = 0; index < 100; index += 1) kept.push(await store.keep(aLetter({ rawBody })));
      };
      await expect(fill()).rejects.toThrow('OOM');
      expect(kept.length).toBeGreaterThan(2);
      for (const id of kept) expect(await store.read(id)).toMatchObject({ status: 'found', rawBody });
      const [first = '', second = ''] = kept;
      expect(await store.discard(first, WHY)).toBe(true);
      expect((await store.read(second)).status).toBe('found');
      expect(await store.keep(aLetter())).toHaveLength(32);
    } finally {
      full.disconnect();
      await server.stop();
    }
  });

  test('of one event are removed, discarded and pruned one by one when Redis is full', async () => {
    const server = await startRedis();
    const full = new Redis(server.url);
    try {
      const store = open({ sendCommand: (...args) => full.call(...args) });
      const [expired, processed, discarded, left] = ['1', '2', '3', '4'].map((text) =>
        aLetter({ eventId: 'e-1', rawBody: Buffer.from(text), reason: 'conflict' }),
      ) as [NewDeadLetter, NewDeadLetter, NewDeadLetter, NewDeadLetter];
      for (const letter of [expired, processed, discarded, left]) await store.keep(letter);
      await full.zadd(`${LETTERS}:ages`, '1', expired.id);
      await full.config('SET', 'maxmemory', '1mb');
      await expect(full.set('more', 'bytes')).rejects.toThrow('OOM');
      expect(await store.prune()).toBe(1);
      expect(await store.remove(processed)).toBe(1);
      expect(await store.discard(discarded.id, WHY)).toBe(true);
      const { letters } = await store.list(queryOf(left), { limit: 5 });
      expect(letters.map(({ id }) => id)).toEqual([left.id]);
    } finally {
      full.disconnect();
      await server.stop();
    }
  });

  test('are counted and replayed although it takes longer than storeTimeout to read all of them', async () => {
    const own = `${prefix}many:`;
    const kept = Array.from({ length: 2_600 }, () => aLetter());
    const rare = aLetter({ reason: 'unknown' });
    for (const letter of [...kept, rare]) void open({ prefix: own }).keep(letter);
    const sendCommand: SendCommand = async (...args) => {
      await pause(200);
      return io.call(...args);
    };
    const deadLetters = open({ prefix: own, sendCommand });
    const hooks = receiver({ privateKey: KEY, logger: false, deadLetters, storeTimeout: 2_000 });
    expect(await hooks.deadLetters.count()).toMatchObject({ total: 2_601 });
    const replayed = await hooks.deadLetters.replay({ reason: 'unknown', keys: 'any', dryRun: true });
    expect(replayed.events).toMatchObject([{ eventName: rare.eventName, stillInvalid: 1 }]);
  });

  test('survive a server that has forgotten the scripts', async () => {
    const letter = aLetter();
    await io.call('SCRIPT', 'FLUSH');
    const id = await open().keep(letter);
    await io.call('SCRIPT', 'FLUSH');
    expect((await open().read(id)).status).toBe('found');
    await io.call('SCRIPT', 'FLUSH');
    expect(await open().remove(letter)).toBe(1);
  });

  test.each([undefined, null, {}, [], 'OK', true])('reject when Redis replies %p', async (reply) => {
    const store = redisDeadLetters({ sendCommand: async () => reply });
    const letter = aLetter();
    const calls = [
      reply !== 'OK' && (() => store.keep(letter)),
      () => store.remove(letter),
      () => store.discard(letter.id, WHY),
      () => store.list(queryOf(letter), { limit: 5 }),
      () => store.prune(),
      !Array.isArray(reply) && (() => store.read(letter.id)),
    ];
    for (const call of calls) if (call) await expect(call()).rejects.toThrow(StoreError);
  });

  test.each([
    ['none', 2, 'to claim and to complete'],
    ['letters', 2, 'which is none more'],
    ['journal', 4, 'which shows that the count can tell'],
  ] as const)('with %s an event costs %i commands, %s', async (letters, expected, _) => {
    let commands = 0;
    const sendCommand: SendCommand = (...args) => {
      commands += 1;
      return io.call(...args);
    };
    const client = { sendCommand, prefix: `${prefix}count-${letters}:` };
    const hooks = receiver({
      ...{ privateKey: KEY, logger: false, journal: letters === 'journal' },
      store: redisStore(client),
      deadLetters: letters === 'none' ? undefined : redisDeadLetters(client),
      handlers: { '*': () => {} },
    });
    const taken: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      commands = 0;
      expect((await hooks.receive(receivable(fixtures.transactionPaid()))).body).toContain('processed');
      taken.push(commands);
    }
    // The first one of a server also brings the scripts.
    expect(Math.min(...taken)).toBe(expected);
  });
});

withRedis('dead letters in Redis on a cluster of three nodes', () => {
  const cluster = clusterClients();

  const contract = (name: string, prefix: string) =>
    deadLetterContract({
      create: ({ retention }) =>
        redisDeadLetters({
          sendCommand: (...args) => (cluster.clients[name] as SendCommand)(...args),
          prefix: `${prefix}${name}:${retention}:`,
          retention,
        }),
    });
  keepTheLetterContract({
    'through redis': contract('redis', 'webhook:'),
    'through ioredis, with the prefix {app}:': contract('ioredis', '{app}:'),
  });

  // Redis answers TRYAGAIN meanwhile. ioredis sends the command again for a while; with redis the delivery is refused.
  test.each(['redis', 'ioredis'])(
    'are kept or refused by %s while half of their slot has moved',
    async (name) => {
      // A slot of its own: one that is handed over must be empty.
      const letters = redisDeadLetters({
        sendCommand: (...args) => (cluster.clients[name] as SendCommand)(...args),
        prefix: `{moving ${name}}:`,
      });
      const key = `{moving ${name}}:{dead-letters}`;
      const ids = [await letters.keep(aLetter()), await letters.keep(aLetter())];
      const masters = cluster.io.nodes('master');
      await Promise.all(masters.map((master) => master.config('RESETSTAT')));
      const slot = await startMovingSlot(cluster.io, key);
      await slot.move(key);
      const keeping = Promise.resolve(letters.keep(aLetter())).catch((error: Error) => error.message);
      await until(async () => {
        const errors = await Promise.all(masters.map((master) => master.info('errorstats')));
        return errors.join().includes('errorstat_TRYAGAIN');
      });
      await slot.move(`${key}:order`, `${key}:ages`);
      await slot.finish();
      const kept = await keeping;
      if (!kept.includes('TRYAGAIN')) ids.push(kept);
      const { letters: found } = await letters.list(queryOf({ namespace: 'default' }), { limit: 10 });
      expect(found.map(({ id }) => id)).toEqual(ids);
      expect(await letters.read(ids[0] as string)).toMatchObject({ status: 'found' });
    },
  );
});

describe('the options of dead letters in Redis', () => {
  const sendCommand: SendCommand = async () => undefined;
  const wrong = redisDeadLetters as (options?: unknown) => unknown;

  test.each<[object | undefined, RegExp]>([
    [undefined, /sendCommand is undefined/],
    [{ sendCommand: 'redis://localhost' }, /Pass "\(\.\.\.args\) => client\.sendCommand\(args\)"/],
    [{ prefix: 5 }, /prefix is 5/],
    [{ retention: 'soon' }, /retention is "soon"/],
    [{ prefx: 'a' }, /Unknown option "prefx". Did you mean "prefix"\?/],
    [{ encryptionKeys: ['short'] }, /encryptionKeys\[0\] has 3 bytes instead of 32/],
  ])('refuse %p', (options, message) => {
    const given = options && { sendCommand, ...options };
    expect(() => wrong(given)).toThrow(ConfigurationError);
    expect(() => wrong(given)).toThrow(message);
  });

  test('say for how long letters are kept, and that processes share them', () => {
    expect(redisDeadLetters({ sendCommand, retention: '90d' })).toMatchObject({
      retentionMs: 90 * 86_400_000,
      scope: 'shared',
    });
  });
});
