// What postgresStore() does with a pool of pg: its clients, their listeners, and the statements that it sends through them.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { Pool, type PoolConfig } from 'pg';
import { ConfigurationError } from '../../src/errors.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { needing } from '../setup/platform.js';
import { until } from '../setup/waiting.js';
import { bytes } from './leases.js';
import { startWire } from './postgres-wire.js';
import { claimed, request, working } from './transactions.js';
import { connectionString, granted, ownWorld, postgresWorld, spyOnQueries } from './worlds.js';

needing('postgres').describe('postgresStore on a pool of pg', () => {
  const world = ownWorld(() => postgresWorld('postgresStore'));
  const pools: Pool[] = [];
  afterAll(() => Promise.all(pools.map((pool) => pool.end())));
  const onlyClient = (config: PoolConfig = {}) => {
    const pool = new Pool({ connectionString, max: 1, ...config });
    pools.push(pool);
    return pool;
  };

  test('listens once to a pool, and adds no listener to a client each time it is checked out', async () => {
    const pool = onlyClient();
    const { table } = world;
    const store = postgresStore({ pool, table, transactional: true });
    postgresStore({ pool, table });
    const counts = new Set<number>();
    // The pool's own, and one of the store for the time between the two.
    pool.on('acquire', (client) => counts.add(client.listenerCount('error')));
    for (let round = 0; round < 15; round += 1) {
      const claim = granted(await store.claim(`listeners:${round}`, request));
      await (round % 2 ? claim.complete() : claim.release([]));
    }
    expect([...counts]).toEqual([2]);
    expect([pool.totalCount, pool.listenerCount('error')]).toEqual([1, 1]);
  });

  test('gives handlers READ COMMITTED, whatever the default of the session is', async () => {
    const options = '-c default_transaction_isolation=serializable';
    const { claim, send } = await claimed(world, { options });
    const [shown] = await send('SHOW transaction_isolation');
    expect(shown).toEqual({ transaction_isolation: 'read committed' });
    expect(await claim.complete()).toBe(true);
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
    await expect(store.claim(key, request)).rejects.toThrow();
    await expect(store.ping()).rejects.toThrow();
    await until(() => pool.totalCount === 0);
    await new Promise((resolve) => server.close(resolve));
  });

  test('a commit whose reply never comes rejects once the lease is over, and the row answers the retry', async () => {
    const wire = await startWire(connectionString);
    const { key, pool, claim } = await working(world, { connectionString: wire.connectionString });
    expect(await claim.renew(1_000)).toBe(true);
    // Let the reply to the mark through, and none after it.
    const completing = claim.complete();
    wire.silenceAfter('UPDATE 1');
    await expect(completing).rejects.toThrow(/terminated|closed/i);
    expect([await world.paid(key), await world.known(key), pool.totalCount]).toEqual([1, 1, 0]);
    await expect(claim.complete()).rejects.toThrow(/terminated|closed/i);
    await wire.close();
    expect((await world.open().store.claim(key, request)).status).toBe('completed');
  });

  test('a renewal, a query of a handler, a commit and a rollback take turns on the connection', async () => {
    const { store, key, pool } = world.open();
    let [running, overlaps] = [0, 0];
    spyOnQueries(pool, (_, send) => {
      if (running > 0) overlaps += 1;
      running += 1;
      return send().finally(() => {
        running -= 1;
      });
    });
    const claim = granted(await store.claim(key, request));
    const renewed = claim.renew(30_000);
    await Promise.all([renewed, world.pay(world.sending(claim.context.transaction), key)]);
    expect(await renewed).toBe(true);
    expect(await Promise.all([claim.renew(30_000), claim.complete()])).toEqual([true, true]);
    expect(await world.paid(key)).toBe(1);

    const other = granted(await store.claim(`${key}:other`, request));
    expect((await Promise.all([other.renew(30_000), other.release([])]))[1]).toBe(true);
    expect(overlaps).toBe(0);
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

  describe.each([false, true])(
    'behind a pooler that swaps connections, transactional: %s',
    (transactional) => {
      const storeOn = (pool: Pool) =>
        postgresStore({ pool, table: world.table, transactional: transactional as true });
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
        const { pool, names } = await preparing(`forgotten ${transactional}`);
        expect(names.splice(0)[0]).toMatch(/^payment_webhooks_[0-9a-f]{16}$/);
        await pool.query('DEALLOCATE ALL');
        const claim = granted(await storeOn(pool).claim(`forgotten ${transactional}`, bytes));
        expect(await claim.complete()).toBe(true);
        expect(names).toHaveLength(1);
      });

      test('goes on without preparing when one has prepared something else by that name', async () => {
        const { names } = await preparing(`taken ${transactional}`);
        const stranger = onlyClient();
        await stranger.query(`PREPARE ${names[0]} AS SELECT 1`);
        const claim = granted(await storeOn(stranger).claim(`taken ${transactional}`, bytes));
        expect(await claim.complete()).toBe(true);
      });
    },
  );
});

describe('the options of the Postgres store', () => {
  const pool = new Pool({ connectionString });
  afterAll(() => pool.end());
  const wrong = postgresStore as (options?: unknown) => unknown;

  const tooLong = ['a'.repeat(64), `${'a'.repeat(64)}.b`];
  const odd = ['x"; drop table y', '1st', 'a-b', 'naïve', 'a b', '"a"', 'a\n', ...tooLong];
  test.each(['a.b.c', '', '.', 'a.', '.a', ...odd, 5, null, {}])('refuse the table %p', (table) => {
    expect(() => wrong({ pool, table })).toThrow(ConfigurationError);
    expect(() => wrong({ pool, table })).toThrow(/^table is .*\. Give "name" or "schema\.name"/);
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
        /^pool is .+, not a pool of pg\. Give "new Pool\(\{ connectionString \}\)"\.$/,
      );
    },
  );

  test('refuse missing options, an unknown name, and values of the wrong kind', () => {
    expect(() => wrong()).toThrow(ConfigurationError);
    expect(() => wrong({ pool, tabel: 'a' })).toThrow('Unknown option "tabel". Did you mean "table"?');
    expect(() => wrong({ pool, retention: 'soon' })).toThrow('retention is "soon"');
    const odd = () => wrong({ pool, transactional: 'yes' });
    expect(odd).toThrow('transactional is "yes". Give true or false.');
  });

  test('may be undefined for their defaults', () => {
    const store = postgresStore({ pool, table: undefined, retention: undefined, transactional: undefined });
    expect(store.scope).toBe('shared');
  });
});
