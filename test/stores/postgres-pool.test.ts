// What postgresStore() does with a pool of pg: its clients, their listeners, and the statements that it sends through them.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import { ConfigurationError } from '../../src/errors.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { needing } from '../setup/platform.js';
import { until } from '../setup/waiting.js';
import { bytes } from './leases.js';
import { connectionString, granted, ownWorld, postgresWorld, spyOnQueries } from './worlds.js';

needing('postgres').describe('postgresStore on a pool of pg', () => {
  const world = ownWorld(() => postgresWorld('postgresStore'));
  const pools: Pool[] = [];
  afterAll(() => Promise.all(pools.map((pool) => pool.end())));
  const onlyClient = () => {
    const pool = new Pool({ connectionString, max: 1 });
    pools.push(pool);
    return pool;
  };

  test('listens once to a pool, and adds no listener to a client each time it is checked out', async () => {
    const pool = onlyClient();
    const { table } = world;
    const store = postgresStore({ pool, table });
    postgresStore({ pool, table });
    const counts = new Set<number>();
    // The pool's own, and one of the store for the time between the two.
    pool.on('acquire', (client) => counts.add(client.listenerCount('error')));
    for (let round = 0; round < 15; round += 1) {
      const claim = granted(await store.claim(`listeners:${round}`, bytes));
      await claim.forHandler?.('pay').context.once(() => {});
      await (round % 2 ? claim.complete() : claim.release([]));
    }
    expect([...counts]).toEqual([2]);
    expect([pool.totalCount, pool.listenerCount('error')]).toEqual([1, 1]);
  });

  test('survives a server that shuts down in the moment in which it lets a client in', async () => {
    const message = (type: string, body: Buffer) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(body.length + 4);
      return Buffer.concat([Buffer.from(type), length, body]);
    };
    const welcome = [message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))];
    const farewell = message('E', Buffer.from('SFATAL\0C57P01\0Mshutting down\0\0'));
    // Both in one packet: the client is the pool's no more, and not yet the store's.
    const server = createServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket.end(Buffer.concat([...welcome, farewell])));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const { store, key, pool } = world.open({ port });
    await expect(store.claim(key, bytes)).rejects.toThrow();
    await expect(store.ping()).rejects.toThrow();
    await until(() => pool.totalCount === 0);
    await new Promise((resolve) => server.close(resolve));
  });

  test('a ping leaves a server that takes no writes, so that the next one asks where the address leads by then', async () => {
    const demoted = onlyClient();
    await demoted.query('SET default_transaction_read_only = on');
    const left = postgresStore({ pool: demoted, table: world.table });
    await expect(left.ping()).rejects.toThrow('This Postgres is read-only');
    await expect(left.ping()).resolves.toBeUndefined();
    expect([demoted.totalCount, demoted.idleCount]).toEqual([1, 1]);
  });

  test('claims a new event with one statement, and a known one with two', async () => {
    const sent: string[] = [];
    const pool = onlyClient();
    const query = async (config: { text: string; values?: unknown[] }) => {
      sent.push(/DO [A-Z]+/.exec(config.text)?.[0] ?? 'other');
      return pool.query(config);
    };
    const watched = { query, on: () => {}, connect: () => pool.connect() };
    const store = postgresStore({ pool: watched, table: world.table });
    const first = granted(await store.claim('counted', bytes));
    expect(sent.splice(0)).toEqual(['DO NOTHING']);
    await first.release(['mail']);
    expect(granted(await store.claim('counted', bytes))).toMatchObject({ attempt: 2, finished: ['mail'] });
    expect(sent).toEqual(['other', 'DO NOTHING', 'DO UPDATE']);
  });

  test('leaves the lock_timeout of the session as it was, though shared statements have their own', async () => {
    const pool = new Pool({ connectionString, max: 1, options: '-c lock_timeout=7s' });
    pools.push(pool);
    const store = postgresStore({ pool, table: world.table });
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, index) => store.claim(`locks:${index}`, bytes)),
    );
    await Promise.all(claims.map((claim) => granted(claim).complete()));
    expect((await pool.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '7s' }]);
  });

  test('migrates by the SQL that the docs show, so that another role can run it', async () => {
    const docs = join(__dirname, '../../docs');
    const migration = readFileSync(join(docs, 'sql/webhook-event.sql'), 'utf8');
    const sent: string[] = [];
    const query = async ({ text }: { text: string }) => {
      sent.push(text.trim());
      return { rows: [], rowCount: 0, command: '' };
    };
    const connect = () => Promise.reject(new Error('no client is needed'));
    await postgresStore({ pool: { query, connect, on: () => {} } }).migrate();
    expect(sent).toEqual([migration.trim()]);
  });

  describe('behind a pooler that swaps connections', () => {
    const storeOn = (pool: Pool) => postgresStore({ pool, table: world.table });
    /** A pool whose client has prepared statements, and their names. */
    async function preparing(key: string) {
      const pool = onlyClient();
      const names: string[] = [];
      spyOnQueries(pool, ({ name }, send) => {
        if (name) names.push(name);
        return send();
      });
      await granted(await storeOn(pool).claim(key, bytes)).release([]);
      return { pool, names };
    }

    test('goes on without preparing when one knows nothing of what was prepared', async () => {
      const { pool, names } = await preparing('forgotten');
      expect(names.splice(0)[0]).toMatch(/^payment_webhooks_[0-9a-f]{16}$/);
      await pool.query('DEALLOCATE ALL');
      const claim = granted(await storeOn(pool).claim('forgotten', bytes));
      expect(await claim.complete()).toBe(true);
      expect(names).toHaveLength(1);
    });

    test('goes on without preparing when one has prepared something else by that name', async () => {
      const { names } = await preparing('taken');
      const stranger = onlyClient();
      await stranger.query(`PREPARE ${names[0]} AS SELECT 1`);
      const claim = granted(await storeOn(stranger).claim('taken', bytes));
      expect(await claim.complete()).toBe(true);
    });
  });

  test('goes on without preparing when a migration has changed a type that a prepared statement returns', async () => {
    const store = postgresStore({ pool: onlyClient(), table: world.table });
    const write = async () => {
      const claim = granted(await store.claim('altered', bytes));
      const end = claim.forHandler?.('pay').context.once(() => {});
      return Promise.allSettled([end]).finally(() => claim.release([]));
    };
    for (const type of ['varchar(300)', 'text']) {
      for (let attempt = 1; attempt <= 2; attempt += 1)
        expect(await write()).toMatchObject([{ status: 'fulfilled' }]);
      await world.observe(`ALTER TABLE ${world.table} ALTER COLUMN fingerprint TYPE ${type}`);
    }
    expect(await write()).toMatchObject([{ status: 'fulfilled' }]);
  });
});

describe('the options of the Postgres store', () => {
  const pool = new Pool({ connectionString });
  afterAll(() => pool.end());
  const wrong = postgresStore as (options?: unknown) => unknown;

  const tooLong = ['a'.repeat(64), `${'a'.repeat(64)}.b`];
  const odd = ['x"; drop table y', '1st', 'a-b', 'naïve', 'a b', '"a"', 'a\n', ...tooLong];
  test.each(['a.b.c', '', '.', 'a.', '.a', ...odd, 5, null, {}])('refuse the table %p', (table) => {
    expect(() => wrong({ pool, table })).toThrow(ConfigurationError);
    expect(() => wrong({ pool, table })).toThrow(/^table is .*\. Pass "name" or "schema\.name"/);
  });

  test.each(['a', '_', 'A1', 'public.webhook_event', `${'s'.repeat(63)}.${'t'.repeat(63)}`])(
    'take the table %p',
    (table) => {
      expect(() => postgresStore({ pool, table })).not.toThrow();
    },
  );

  test.each([undefined, null, 'postgres://localhost', {}, { query: async () => ({}) }])(
    'refuse a pool of %p',
    (given) => {
      expect(() => wrong({ pool: given })).toThrow(
        /^pool is .+, not a pool of pg\. Pass "new Pool\(\{ connectionString \}\)"\.$/,
      );
    },
  );

  test('refuse missing options, an unknown name, and values of the wrong kind', () => {
    expect(() => wrong()).toThrow(ConfigurationError);
    expect(() => wrong({ pool, tabel: 'a' })).toThrow('Unknown option "tabel". Did you mean "table"?');
    expect(() => wrong({ pool, retention: 'soon' })).toThrow('retention is "soon"');
  });

  test.each([true, false])('refuse transactional: %p, and name once()', (transactional) => {
    const old = () => wrong({ pool, transactional });
    expect(old).toThrow(ConfigurationError);
    expect(old).toThrow('transactional does not exist any more. Remove it, and write inside once');
  });

  test('may be undefined for their defaults', () => {
    const store = postgresStore({ pool, table: undefined, retention: undefined });
    expect(store.scope).toBe('shared');
  });
});
