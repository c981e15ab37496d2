// A Redis user with the commands that docs/stores.md lists: they are enough, and one that is missing is named.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type IdempotencyStore, StoreError } from 'payment-webhooks';
import { redisDeadLetters, redisStore } from 'payment-webhooks/stores/redis';
import { aLetter, queryOf, WHY } from '../setup/letters.js';
import { codesIn } from '../setup/markdown.js';
import { needing } from '../setup/platform.js';
import { type Service, startRedis } from '../setup/services.js';
import { ROOT } from '../setup/shell.js';
import { granted } from './worlds.js';

const [, section = ''] = readFileSync(join(ROOT, 'docs/stores.md'), 'utf8').split('An ACL needs ');
const [commands = '', ofLocks = '', ofLetters = ''] = codesIn(section).filter((code) => code.startsWith('+'));
const words = (text: string) => text.split(/\s/);
const LISTED: Readonly<Record<string, readonly string[]>> = {
  'event ids': words(commands),
  serial: words(ofLocks),
  letters: words(ofLetters),
};
/** All that this use needs. */
const listed = (use: string) => [...new Set([...words(commands), ...(LISTED[use] ?? [])])];

needing('redis-server').describe('a Redis user with an ACL', () => {
  let server: Service;
  let admin: Redis;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    await allow([]);
    const url = Object.assign(new URL(server.url), { username: 'app', password: 'secret' });
    client = new Redis(url.href, { enableReadyCheck: false });
  });
  afterAll(async () => {
    client.disconnect();
    admin.disconnect();
    await server.stop();
  });

  const allow = (commands: readonly string[], keys = '~webhook:*') =>
    admin.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', keys, ...commands);
  const sendCommand = (...args: [string, ...string[]]) => client.call(...args);
  const store = redisStore({ sendCommand });
  const letters = redisDeadLetters({ sendCommand });
  const claim = (key: string) => store.claim(key, { leaseMs: 60_000, fingerprint: 'a'.repeat(64) });

  /** Every script of the claims, of their locks, and of letters. */
  const USES: Readonly<Record<string, () => Promise<void>>> = {
    'event ids': async () => {
      await store.ping?.();
      const first = granted(await claim('a'));
      expect([await first.renew(60_000), await first.release(['mail'])]).toEqual([true, true]);
      expect(await granted(await claim('a')).complete()).toBe(true);
      expect((await claim('a')).status).toBe('completed');
      expect(await store.completedWith?.('a')).toBe('a'.repeat(64));
    },
    serial: async () => {
      const lock = await (store as Required<IdempotencyStore>).lock('b', 60_000);
      expect([await lock?.renew(60_000), await lock?.release()]).toEqual([true, true]);
    },
    letters: async () => {
      const letter = aLetter();
      const id = await letters.keep(letter);
      expect(await letters.keep({ ...letter, id: 'again' })).toBe(id);
      expect(await letters.read(id)).toMatchObject({ status: 'found' });
      expect(await letters.update(id, letter)).toBe(true);
      expect((await letters.list(queryOf(letter), { limit: 10 })).letters).toHaveLength(1);
      expect(await letters.discard(id, WHY)).toBe(true);
      await letters.keep({ ...letter, id: 'processed' });
      expect(await letters.remove(letter)).toBe(1);
      expect(await letters.prune()).toBe(0);
    },
  };

  describe.each(Object.entries(USES))('for %s', (name, use) => {
    test('needs what is listed', async () => {
      await admin.flushall();
      await allow(listed(name));
      await use();
    });

    test.each(LISTED[name] ?? [])('is told to add %s', async (command) => {
      await admin.flushall();
      await admin.call('SCRIPT', 'FLUSH');
      await allow(listed(name).filter((other) => other !== command));
      const refused = use();
      await expect(refused).rejects.toThrow(StoreError);
      await expect(refused).rejects.toThrow(
        `The Redis user may not run ${command.slice(1).toUpperCase()}. Add ${command} to its ACL`,
      );
    });

    test('is told of its keys', async () => {
      await allow(['+@all'], '~other:*');
      await expect(use()).rejects.toThrow(/^NOPERM .*keys/);
    });
  });

  test.each(listed('event ids'))('finds out with ping() that %s is missing', async (command) => {
    await admin.call('SCRIPT', 'FLUSH');
    await allow(listed('event ids').filter((other) => other !== command));
    await expect(store.ping?.()).rejects.toThrow(`Add ${command} to its ACL`);
  });
});
