import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { ConfigurationError, StoreError } from '../../src/errors.js';
import { redisDeadLetters, redisInbox, redisStore, type SendCommand } from '../../src/stores/redis.js';
import { startMovingSlot } from '../setup/move-slot.js';
import { needing } from '../setup/platform.js';
import { clusterClients, redisClients } from '../setup/redis-clients.js';
import { type Service, startRedis, startSentinel } from '../setup/services.js';
import { keepsTheContract, walksAsPromised } from './contract.js';
import { granted } from './worlds.js';

const withRedis = needing('redis-server').describe;
/** Every run has keys of its own, also on a server that others use. */
const prefix = `test:${randomBytes(6).toString('hex')}:`;
const bytes = { leaseMs: 60_000, fingerprint: 'a'.repeat(64) };
const DAY_MS = 86_400_000;

withRedis('the Redis store', () => {
  const { io, clients } = redisClients(prefix);
  const through =
    (name: string): SendCommand =>
    (...args) =>
      (clients[name] as SendCommand)(...args);
  const open = (sendCommand = through('ioredis'), retention?: number) =>
    redisStore({ sendCommand, prefix, retention });

  describe.each(['redis', 'ioredis'])('through %s keeps the contract', (name) => {
    const create = ({ retention }: { retention: number | undefined }) => open(through(name), retention);
    keepsTheContract({ create });
    walksAsPromised({ create });
  });

  test('through ioredis, with Buffers for replies, reads every answer', async () => {
    await takesEveryStep(open(through('ioredis, with Buffers for replies')), 'default:live:buffers');
  });

  test.each(Object.keys(clients))('through %s answers a ping, and claims nothing', async (name) => {
    const own = `${prefix}ping-${name}:`;
    await redisStore({ sendCommand: through(name), prefix: own }).ping?.();
    expect(await io.keys(`${own}*`)).toEqual([]);
  });

  test('rejects a ping that is answered oddly', async () => {
    await expect(open(async () => 'PONG').ping?.()).rejects.toThrow(StoreError);
  });

  test('passes on what the client rejects with', async () => {
    const down = open(() => Promise.reject(new Error('Connection is closed.')));
    await expect(down.ping?.()).rejects.toThrow('Connection is closed.');
    await expect(down.claim('a', bytes)).rejects.toThrow('Connection is closed.');
  });

  test('survives a server that has forgotten the scripts, at every step', async () => {
    const store = open(through('redis'));
    const flushed = async <Step>(step: () => Step) => {
      await io.call('SCRIPT', 'FLUSH');
      return step();
    };
    const first = granted(await flushed(() => store.claim('flushed', bytes)));
    expect(await flushed(() => first.renew(1_000))).toBe(true);
    expect(await flushed(() => first.release([]))).toBe(true);
    const second = granted(await flushed(() => store.claim('flushed', bytes)));
    expect([second.attempt, await flushed(() => second.complete())]).toEqual([2, true]);
  });

  // As clients do that lost the connection, or the master, before the reply came.
  test('takes a claim that the client sends again for the same claim', async () => {
    let twice = true;
    const store = open(async (...args) => {
      const reply = await io.call(...args);
      return twice ? io.call(...args) : reply;
    });
    const first = granted(await store.claim('sent again', bytes));
    expect(first).toMatchObject({ attempt: 1, finished: [] });
    twice = false;
    expect((await store.claim('sent again', bytes)).status).toBe('in_progress');
    expect(await first.release(['mail'])).toBe(true);
    twice = true;
    const second = granted(await store.claim('sent again', bytes));
    expect(second).toMatchObject({ attempt: 2, finished: ['mail'] });
    twice = false;
    expect((await store.claim('sent again', { ...bytes, leaseMs: 1 })).status).toBe('in_progress');
    expect(await second.complete()).toBe(true);
    expect((await store.claim('sent again', bytes)).status).toBe('completed');
  });

  test('sends the text of a script once, and only its digest from then on', async () => {
    // A server of its own: on that of the run, another file may have sent the script.
    const server = await startRedis();
    const client = new Redis(server.url);
    const sent: string[] = [];
    const store = open((...args) => {
      sent.push(args[0]);
      return client.call(...args);
    });
    for (let index = 0; index < 3; index += 1) await store.claim(`digest ${index}`, bytes);
    expect(sent).toEqual(['EVALSHA', 'EVAL', 'EVALSHA', 'EVALSHA']);
    client.disconnect();
    await server.stop();
  });

  test('leaves no key without a time to live, never shorter than the lease', async () => {
    const store = redisStore({ sendCommand: through('ioredis'), prefix: `${prefix}ttl:`, retention: '1d' });
    const ttl = () => io.pttl(`${prefix}ttl:key`);
    const first = granted(await store.claim('key', { ...bytes, leaseMs: 3 * DAY_MS }));
    expect(await ttl()).toBeGreaterThan(2 * DAY_MS);
    await first.renew(1_000);
    expect(await ttl()).toBeLessThanOrEqual(DAY_MS);
    await first.renew(2 * DAY_MS);
    expect(await ttl()).toBeGreaterThan(DAY_MS);
    await first.release([]);
    expect(await ttl()).toBeLessThanOrEqual(DAY_MS);
    await io.persist(`${prefix}ttl:key`);
    const second = granted(await store.claim('key', bytes));
    expect(await ttl()).toBeGreaterThan(0);
    await io.persist(`${prefix}ttl:key`);
    await second.complete();
    expect(await ttl()).toBeGreaterThan(DAY_MS - 60_000);
    expect(await io.keys(`${prefix}ttl:*`)).toEqual([`${prefix}ttl:key`]);
  });

  test('renews, releases and completes claims in a full Redis, so that no handler that succeeded runs again', async () => {
    const server = await startRedis();
    const full = new Redis(server.url);
    try {
      const store = open((...args) => full.call(...args));
      const [released, completed] = [
        granted(await store.claim('released', bytes)),
        granted(await store.claim('completed', bytes)),
      ];
      await full.config('SET', 'maxmemory', '1');
      await expect(store.claim('new', bytes)).rejects.toThrow('OOM');
      expect([await released.renew(60_000), await released.release(['mail'])]).toEqual([true, true]);
      expect(await completed.complete()).toBe(true);
      await full.config('SET', 'maxmemory', '0');
      expect(granted(await store.claim('released', bytes)).finished).toEqual(['mail']);
      expect((await store.claim('completed', bytes)).status).toBe('completed');
    } finally {
      full.disconnect();
      await server.stop();
    }
  });

  test('keeps what is remembered of a completed event small and legible', async () => {
    await granted(await open().claim('legible', bytes)).complete();
    expect(await io.hgetall(`${prefix}legible`)).toEqual({
      lease: 'completed',
      attempt: '1',
      fingerprint: bytes.fingerprint,
      token: expect.stringMatching(/^[\w-]{22}$/),
    });
  });

  test('rejects, and claims nothing, when the key holds something else', async () => {
    await io.set(`${prefix}taken`, 'by another program');
    await expect(open().claim('taken', bytes)).rejects.toThrow('WRONGTYPE');
    expect(await io.get(`${prefix}taken`)).toBe('by another program');
  });

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['OK', 'OK'],
    ['zero', 0],
    ['an empty array', []],
    ['a list of something else', ['fine', 1]],
    ['a claim without attempt', ['claimed', 'x', '[]']],
    ['a claim with attempt zero', ['claimed', 0, '[]']],
    ['a claim whose finished handlers are no list', ['claimed', 1, '{}']],
    ['a claim whose finished handlers are no names', ['claimed', 1, '[1]']],
    ['a claim whose finished handlers are no JSON', ['claimed', 1, '[']],
    ['a lease without an end', ['in_progress']],
    ['a completed event without fingerprint', ['completed', null]],
    ['an object', { status: 'claimed' }],
  ])('rejects a claim with StoreError when the answer is %s', async (_name, reply) => {
    await expect(open(async () => reply).claim('a', bytes)).rejects.toThrow(StoreError);
  });

  test.each([undefined, null, 'OK', 2, [], true])(
    'rejects with StoreError when a claim is answered with %p',
    async (reply) => {
      let next: unknown = ['claimed', 1, '[]'];
      const claimed = granted(await open(async () => next).claim('a', bytes));
      next = reply;
      for (const ask of [claimed.complete(), claimed.renew(1), claimed.release([])])
        await expect(ask).rejects.toThrow(StoreError);
    },
  );
});

withRedis('the Redis store on a cluster of three nodes', () => {
  const cluster = clusterClients();
  const open = (name: string, prefix: string) =>
    redisStore({ sendCommand: (...args) => (cluster.clients[name] as SendCommand)(...args), prefix });

  test.each(['redis', 'ioredis'])('through %s finds each key on its node, at every step', async (name) => {
    for (const prefix of [`{${name}}:`, `${name}:`]) {
      const store = open(name, prefix);
      await store.ping?.();
      const keys = Array.from({ length: 60 }, (_, index) => `default:live:{event-${index}`);
      await Promise.all(keys.map((key) => takesEveryStep(store, key)));
    }
    const sizes = await Promise.all(cluster.io.nodes('master').map((master) => master.dbsize()));
    expect(sizes).toHaveLength(3);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
  });

  test.each(['redis', 'ioredis'])(
    'through %s follows a key whose slot moves, at every step',
    async (name) => {
      const prefix = `{moving ${name}}:`;
      const store = open(name, prefix);
      const claim = async (key: string) => granted(await store.claim(key, bytes));
      const [before, whole] = [await claim('before'), await claim('whole')];
      expect(await (await claim('done')).complete()).toBe(true);
      const slot = await startMovingSlot(cluster.io, prefix);
      // The new node has none of the scripts, and a redirection holds for one command only.
      await Promise.all(cluster.io.nodes('master').map((master) => master.call('SCRIPT', 'FLUSH')));
      const during = await claim('during');
      expect((await store.claim('before', bytes)).status).toBe('in_progress');
      await slot.move(`${prefix}before`, `${prefix}done`);
      for (const each of [before, during, whole]) expect(await each.renew(60_000)).toBe(true);
      expect((await store.claim('done', bytes)).status).toBe('completed');
      expect([await before.complete(), await during.complete()]).toEqual([true, true]);
      await slot.move(`${prefix}whole`);
      await slot.finish();
      expect(await whole.complete()).toBe(true);
      for (const key of ['before', 'during', 'whole', 'done'])
        expect((await store.claim(key, bytes)).status).toBe('completed');
    },
  );
});

withRedis('the Redis store behind a sentinel', () => {
  const servers: Service[] = [];
  let io: Redis;
  let node: ReturnType<typeof createSentinel>;
  const send: Record<string, SendCommand> = {
    redis: (...args) => node.sendCommand(false, args),
    ioredis: (...args) => io.call(...args),
  };
  beforeAll(async () => {
    const master = await startRedis();
    servers.push(master);
    const sentinel = await startSentinel(master.port);
    servers.push(sentinel);
    const sentinels = [{ host: '127.0.0.1', port: sentinel.port }];
    io = new Redis({ sentinels, name: 'main' });
    node = createSentinel({ sentinelRootNodes: sentinels, name: 'main' });
    await node.connect();
  }, 60_000);
  afterAll(async () => {
    io?.disconnect();
    node?.destroy();
    await Promise.all(servers.map((server) => server.stop()));
  });

  // Only the connection differs: through both clients the store keeps its contract above.
  test.each(['redis', 'ioredis'])('through %s finds the master, at every step', async (name) => {
    const sendCommand: SendCommand = (...args) => (send[name] as SendCommand)(...args);
    await takesEveryStep(redisStore({ sendCommand, prefix: `${name}:` }), 'default:live:a');
  });
});

/** From the first claim of an event to its duplicate. */
async function takesEveryStep(store: ReturnType<typeof redisStore>, key: string): Promise<void> {
  const first = granted(await store.claim(key, bytes));
  expect(await store.claim(key, bytes)).toEqual({ status: 'in_progress', retryAfterMs: expect.any(Number) });
  expect([await first.renew(1_000), await first.release(['mail'])]).toEqual([true, true]);
  const second = granted(await store.claim(key, bytes));
  expect([second.attempt, second.finished, await second.complete()]).toEqual([2, ['mail'], true]);
  expect(await store.claim(key, bytes)).toEqual({ status: 'completed', fingerprint: bytes.fingerprint });
}

describe('the options of the Redis store', () => {
  const sendCommand: SendCommand = async () => undefined;
  const wrong = redisStore as (options?: unknown) => unknown;

  test.each([undefined, null, 'redis://localhost', {}, 5])(
    'refuse a sendCommand of %p, with the line to write',
    (given) => {
      const make = () => wrong({ sendCommand: given });
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow('(...args) => client.sendCommand(args)');
      expect(make).toThrow('(...args) => client.call(...args)');
    },
  );

  test.each<[string, unknown]>([
    ['redisStore', redisStore],
    ['redisInbox', redisInbox],
    ['redisDeadLetters', redisDeadLetters],
  ])('of %s refuse to be missing, and a client in their place', (_, make) => {
    for (const given of [undefined, null, { client: {} }]) {
      const making = () => (make as typeof wrong)(given);
      expect(making).toThrow(ConfigurationError);
      expect(making).toThrow('sendCommand is undefined. Pass "(...args) =>');
    }
  });

  test('refuse an unknown name, a prefix that is not a string and a retention that is not a duration', () => {
    expect(() => wrong({ sendCommand, prefx: 'a' })).toThrow(
      'Unknown option "prefx". Did you mean "prefix"?',
    );
    expect(() => wrong({ sendCommand, prefix: 5 })).toThrow(
      'prefix is 5. Pass a string, such as "webhook:".',
    );
    expect(() => wrong({ sendCommand, retention: 'a while' })).toThrow('retention is "a while"');
  });

  test('may be undefined for their defaults', async () => {
    const sent: string[] = [];
    const store = redisStore({
      sendCommand: async (...args) => {
        sent.push(...args);
        return ['claimed', 1, '[]'];
      },
      prefix: undefined,
      retention: undefined,
    });
    await store.claim('default:live:1', { leaseMs: 30_000.5, fingerprint: 'f' });
    const [key, days] = ['webhook:default:live:1', String(30 * DAY_MS)];
    expect(sent.slice(2)).toEqual(['1', key, expect.any(String), '30001', days, 'f']);
    expect(store.scope).toBe('shared');
  });
});
