import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Claim, ClaimResult } from '../../src/claims/idempotency-store.js';
import { StoreError } from '../../src/errors.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { needing } from '../setup/platform.js';
import { until } from '../setup/waiting.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
const schema = `transaction_${randomBytes(6).toString('hex')}`;
const table = `${schema}.webhook_event`;
const ledger = `${schema}.ledger`;
const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

function granted<Extra extends object>(result: ClaimResult<Extra>): Claim<Extra> & { context: Extra } {
  if (result.status !== 'claimed') throw new Error(`not granted: ${result.status}`);
  const { claim } = result;
  if (!claim.context) throw new Error('a claim without its transaction');
  return claim as Claim<Extra> & { context: Extra };
}

withPostgres('the Postgres store, in transactional mode', () => {
  /** Sees what is committed, and is never short of a connection. */
  const observer = new Pool({ connectionString });
  const pools: Pool[] = [];

  /** A store on a pool of its own, so that a test can count what became of its clients. */
  function opened(config: PoolConfig = {}) {
    const name = `${schema}_${pools.length}`;
    const pool = new Pool({ connectionString, max: 5, application_name: name, ...config });
    pools.push(pool);
    return {
      pool,
      store: postgresStore({ pool, table, transactional: true }),
      name,
      key: `live:${pools.length}`,
    };
  }

  const pay = (client: PoolClient, key: string) =>
    client.query(`INSERT INTO ${ledger} (event) VALUES ($1)`, [key]);
  const paid = async (key: string) =>
    (await observer.query(`SELECT count(*)::int AS n FROM ${ledger} WHERE event = $1`, [key])).rows[0].n;
  const known = async (key: string) =>
    (await observer.query(`SELECT count(*)::int AS n FROM ${table} WHERE key = $1`, [key])).rows[0].n;
  const terminate = (name: string) =>
    observer.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
      name,
    ]);

  const waitsFor = async (what: 'Lock' | 'Timeout', name: string) => {
    const { rows } = await observer.query(
      'SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = $2',
      [name, what],
    );
    return rows.length > 0;
  };
  const waitsForLock = (name: string) => waitsFor('Lock', name);
  /** In pg_sleep. */
  const sleeps = (name: string) => waitsFor('Timeout', name);

  beforeAll(async () => {
    await observer.query(`CREATE SCHEMA ${schema}`);
    await observer.query(`CREATE TABLE ${ledger} (event text NOT NULL)`);
    await postgresStore({ pool: observer, table }).migrate();
  });
  afterAll(async () => {
    for (const pool of pools) {
      // A client that was not given back would let `end` wait for ever.
      await until(() => pool.totalCount === pool.idleCount);
      await pool.end();
    }
    await observer.query(`DROP SCHEMA ${schema} CASCADE`);
    await observer.end();
  });

  test('commits the event and what handlers wrote together, once', async () => {
    const { store, key, pool } = opened();
    const claim = granted(await store.claim(key, request));
    expect([claim.attempt, claim.finished, claim.transactional]).toEqual([1, [], true]);
    await pay(claim.context.transaction, key);
    expect([await paid(key), await known(key)]).toEqual([0, 0]);
    expect([await claim.complete(), await claim.complete()]).toEqual([true, true]);
    expect([await paid(key), await known(key)]).toEqual([1, 1]);
    expect(await store.claim(key, { ...request, fingerprint: 'other' })).toEqual({
      status: 'completed',
      fingerprint: request.fingerprint,
    });
    expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
  });

  test('rolls everything back on release: the event is new, its attempt and finished handlers too', async () => {
    const { store, key, pool } = opened();
    const first = granted(await store.claim(key, request));
    await pay(first.context.transaction, key);
    expect(await first.release(['mail'])).toBe(true);
    expect([await paid(key), await known(key)]).toEqual([0, 0]);
    const second = granted(await store.claim(key, request));
    expect([second.attempt, second.finished]).toEqual([1, []]);
    expect(await second.release([])).toBe(true);
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
  });

  test('an owner that has completed or released can do nothing more', async () => {
    const { store, key } = opened();
    const released = granted(await store.claim(key, request));
    await released.release([]);
    expect([await released.renew(1), await released.complete(), await released.release([])]).toEqual([
      false,
      false,
      false,
    ]);
    const completed = granted(await store.claim(key, request));
    const committing = completed.complete();
    expect([await completed.renew(1), await completed.release([]), await committing]).toEqual([
      false,
      false,
      true,
    ]);
    expect([await completed.renew(1), await completed.release([])]).toEqual([false, false]);
    expect((await store.claim(key, request)).status).toBe('completed');
  });

  describe('while another transaction works on the event', () => {
    test('a duplicate waits for a second, and is then in progress', async () => {
      const { store, key, pool } = opened();
      const claim = granted(await store.claim(key, request));
      const askedAt = performance.now();
      const duplicate = await store.claim(key, request);
      expect(duplicate).toEqual({ status: 'in_progress', retryAfterMs: expect.any(Number) });
      expect(performance.now() - askedAt).toBeGreaterThan(900);
      expect([pool.totalCount, pool.idleCount]).toEqual([2, 1]);
      await claim.complete();
    });

    test('a duplicate is told within the second what became of it', async () => {
      const { store, key, name } = opened();
      /** What a duplicate is told when the claim ends while it waits. */
      const told = async (end: (claim: Claim) => Promise<boolean> | boolean) => {
        for (let tries = 1; ; tries += 1) {
          const again = `${key}:${end}:${tries}`;
          const claim = granted(await store.claim(again, request));
          const duplicate = store.claim(again, request);
          await until(() => waitsForLock(name));
          expect(await end(claim)).toBe(true);
          const answer = await duplicate;
          // A machine that stalls for a second lets it wait in vain.
          if (answer.status !== 'in_progress' || tries === 5) return answer;
        }
      };
      const released = granted(await told((claim) => claim.release([])));
      expect(await released.complete()).toBe(true);
      expect((await told((claim) => claim.complete())).status).toBe('completed');
    });

    test('of 24 who claim at once exactly one gets it', async () => {
      const { store, key } = opened({ max: 30 });
      const rounds = Array.from({ length: 3 }, async (_, round) => {
        const results = await Promise.all(
          Array.from({ length: 24 }, () => store.claim(`${key}:${round}`, request)),
        );
        const statuses = results.map(({ status }) => status).sort();
        expect(statuses).toEqual(['claimed', ...Array(23).fill('in_progress')]);
        for (const result of results) if (result.status === 'claimed') await result.claim.release([]);
      });
      for (const round of rounds) await round;
    }, 60_000);

    test('three copies each of 200 events leave one payment each', async () => {
      const { store, key } = opened({ max: 10 });
      const events = Array.from({ length: 600 }, (_, index) => `${key}:${index % 200}`);
      const deliver = async (event: string) => {
        const result = await store.claim(event, request);
        if (result.status !== 'claimed') return;
        const { transaction } = granted(result).context;
        await pay(transaction, event);
        await (Math.random() < 0.2 ? result.claim.release([]) : result.claim.complete());
      };
      for (let round = 0; round < 6; round += 1) await Promise.all(events.map(deliver));
      const { rows } = await observer.query(
        `SELECT count(*)::int AS payments, count(DISTINCT event)::int AS events FROM ${ledger} WHERE event LIKE $1`,
        [`${key}:%`],
      );
      expect(rows).toEqual([{ payments: 200, events: 200 }]);
    }, 60_000);
  });

  describe('leaves the settings of the session alone', () => {
    test('for handlers, except for how long it may be idle, and that only to the end of the claim', async () => {
      const options = '-c lock_timeout=7s -c default_transaction_isolation=serializable';
      const { store, key, pool } = opened({ max: 1, options });
      const { context, complete } = bound(granted(await store.claim(key, { ...request, leaseMs: 12_345.6 })));
      const shown = async (client: Pick<PoolClient, 'query'>, name: string) =>
        (await client.query(`SHOW ${name}`)).rows[0][name];
      expect(await shown(context.transaction, 'lock_timeout')).toBe('7s');
      expect(await shown(context.transaction, 'transaction_isolation')).toBe('read committed');
      expect(await shown(context.transaction, 'idle_in_transaction_session_timeout')).toBe('12346ms');
      expect(await complete()).toBe(true);
      expect(await shown(pool, 'lock_timeout')).toBe('7s');
      expect(await shown(pool, 'idle_in_transaction_session_timeout')).toBe('0');
    });

    test('and adds no listener to a client each time it is checked out', async () => {
      const { store, key, pool } = opened({ max: 1 });
      const counts = new Set<number>();
      // The pool's own, and one of the store for the time between the two.
      pool.on('acquire', (client) => counts.add(client.listenerCount('error')));
      for (let round = 0; round < 15; round += 1) {
        const claim = granted(await store.claim(`${key}:${round}`, request));
        await (round % 2 ? claim.complete() : claim.release([]));
      }
      expect([...counts]).toEqual([2]);
      expect([pool.totalCount, pool.listenerCount('error')]).toEqual([1, 1]);
    });
  });

  describe('does not let a handler break the transaction unnoticed', () => {
    test.each([
      'COMMIT',
      'ROLLBACK',
      'COMMIT; BEGIN',
      'ROLLBACK; BEGIN',
      'COMMIT AND CHAIN',
      'ROLLBACK AND CHAIN',
    ])('by %s of its own', async (statement) => {
      const { store, key, pool } = opened();
      const claim = granted(await store.claim(key, request));
      await pay(claim.context.transaction, key);
      await claim.context.transaction.query(statement);
      await expect(claim.complete()).rejects.toThrow('A handler has ended the transaction of its delivery');
      await expect(claim.complete()).rejects.toThrow(StoreError);
      expect(pool.totalCount).toBe(0);
      const retry = await store.claim(key, request);
      expect(retry.status).toBe(statement.startsWith('COMMIT') ? 'in_progress' : 'claimed');
      if (retry.status === 'claimed') await retry.claim.release([]);
    });

    test('by an error that it swallowed', async () => {
      const { store, key, pool } = opened();
      let removed = 0;
      pool.on('remove', () => {
        removed += 1;
      });
      const claim = granted(await store.claim(key, request));
      await pay(claim.context.transaction, key);
      await claim.context.transaction.query('SELECT 1 / 0').catch(() => {});
      expect(await claim.renew(30_000)).toBe(true);
      await expect(claim.complete()).rejects.toMatchObject({ code: '25P02' });
      // Not the size of the pool: a renewal that is slow to answer takes another connection.
      await until(() => removed === 1);
      expect([await paid(key), await known(key)]).toEqual([0, 0]);
    });

    test('but an error within a savepoint is up to the handler', async () => {
      const { store, key } = opened();
      const claim = granted(await store.claim(key, request));
      const { transaction } = claim.context;
      await pay(transaction, key);
      await transaction.query('SAVEPOINT s');
      await transaction.query('SELECT 1 / 0').catch(() => {});
      await transaction.query('ROLLBACK TO SAVEPOINT s');
      await transaction.query('SAVEPOINT left_open');
      expect(await claim.complete()).toBe(true);
      expect(await paid(key)).toBe(1);
    });

    test('by releasing the client itself', async () => {
      const { store, key } = opened();
      const claim = granted(await store.claim(key, request));
      expect(() => claim.context.transaction.release()).toThrow('which gives its client back to the pool');
      await pay(claim.context.transaction, key);
      expect(await claim.complete()).toBe(true);
      expect(await paid(key)).toBe(1);
    });

    test('by a query after the end, which would join the transaction of another event', async () => {
      const { store, key } = opened({ max: 1 });
      const claim = granted(await store.claim(key, request));
      const { transaction } = claim.context;
      await claim.complete();
      const other = granted(await store.claim(`${key}:other`, request));
      expect(() => transaction.query('SELECT 1')).toThrow('The transaction has ended');
      expect(await other.release([])).toBe(true);
    });

    test.each<[string, (client: PoolClient) => (text: string, values: unknown[]) => unknown]>([
      ['taken off the client', ({ query }) => query],
      ['bound to the client', (client) => client.query.bind(client)],
      [
        'of the client that on() returned',
        (client) => {
          const same = client.on('notice', () => {});
          return (text, values) => same.query(text, values);
        },
      ],
      [
        'of a copy of the client',
        (client) => {
          const copy = Object.create(client) as PoolClient;
          return (text, values) => copy.query(text, values);
        },
      ],
    ])('by a query function that was kept, %s', async (_, take) => {
      const { store, key } = opened({ max: 1 });
      const claim = granted(await store.claim(key, request));
      const query = take(claim.context.transaction);
      const insert = (event: string) => query(`INSERT INTO ${ledger} (event) VALUES ($1)`, [event]);
      await insert(key);
      await claim.complete();
      const other = granted(await store.claim(`${key}:other`, request));
      expect(() => insert(`${key}:stray`)).toThrow('The transaction has ended');
      expect(await other.complete()).toBe(true);
      expect([await paid(key), await paid(`${key}:stray`)]).toEqual([1, 0]);
    });
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
    const { store, key, pool } = opened({
      connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    });
    await expect(store.claim(key, request)).rejects.toThrow();
    await expect(store.ping()).rejects.toThrow();
    await until(() => pool.totalCount === 0);
    await new Promise((resolve) => server.close(resolve));
  });

  describe('when the commit fails', () => {
    test('because a constraint was deferred to it, nothing is written and every answer is the same', async () => {
      await observer.query(`CREATE TABLE ${schema}.deferred (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`);
      const { store, key, pool } = opened();
      const claim = granted(await store.claim(key, request));
      await claim.context.transaction.query(`INSERT INTO ${schema}.deferred VALUES (1), (1)`);
      await expect(claim.complete()).rejects.toMatchObject({ code: '23505' });
      await expect(claim.complete()).rejects.toMatchObject({ code: '23505' });
      expect([await known(key), pool.totalCount]).toEqual([0, 0]);
      expect(await claim.release([])).toBe(false);
    });

    test('because Postgres answers it with ROLLBACK', async () => {
      const { store, key, pool } = opened();
      let raw: PoolClient | undefined;
      pool.on('acquire', (client) => {
        raw = client;
      });
      const claim = granted(await store.claim(key, request));
      await pay(claim.context.transaction, key);
      const completing = claim.complete();
      // Comes between the mark and the COMMIT.
      const failing = raw?.query('SELECT 1 / 0').catch(() => {});
      await expect(completing).rejects.toThrow('Postgres answered COMMIT with ROLLBACK.');
      await failing;
      expect([await paid(key), await known(key), pool.totalCount]).toEqual([0, 0, 0]);
    });

    test('because the connection breaks in the middle of it', async () => {
      await observer.query(`
        CREATE TABLE ${schema}.slow (n int);
        CREATE FUNCTION ${schema}.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ${schema}.slow DEFERRABLE INITIALLY DEFERRED
          FOR EACH ROW EXECUTE FUNCTION ${schema}.slow()`);
      const { store, key, pool, name } = opened();
      const claim = granted(await store.claim(key, request));
      await claim.context.transaction.query(`INSERT INTO ${schema}.slow VALUES (1)`);
      const completing = expect(claim.complete()).rejects.toThrow(/terminat/);
      await until(() => sleeps(name));
      await terminate(name);
      await completing;
      expect([await known(key), pool.totalCount]).toEqual([0, 0]);
      const next = granted(await store.claim(key, request));
      expect([next.attempt, await next.release([])]).toEqual([1, true]);
    });

    test('because its reply never comes: it rejects once the lease is over, and the row answers the retry', async () => {
      const { proxy, port } = await silenceable();
      const { store, key, pool } = opened({
        connectionString: connectionString.replace(/:\d+\//, `:${port}/`),
      });
      const claim = granted(await store.claim(key, { ...request, leaseMs: 3_000 }));
      await pay(claim.context.transaction, key);
      // Let the reply to the mark through, and none after it.
      const completing = claim.complete();
      proxy.silenceAfter('UPDATE 1');
      await expect(completing).rejects.toThrow(/terminated|closed/i);
      expect([await paid(key), await known(key), pool.totalCount]).toEqual([1, 1, 0]);
      await expect(claim.complete()).rejects.toThrow(/terminated|closed/i);
      proxy.close();
      expect((await opened().store.claim(key, request)).status).toBe('completed');
    });
  });

  describe('when the connection breaks', () => {
    test('while handlers work, the process lives, the owner is told, and another can start at once', async () => {
      const { store, key, pool, name } = opened();
      const claim = granted(await store.claim(key, request));
      await pay(claim.context.transaction, key);
      await terminate(name);
      await until(() => pool.totalCount === 0);
      expect([await claim.renew(1_000), await claim.complete(), await claim.release([])]).toEqual([
        false,
        false,
        false,
      ]);
      expect(() => claim.context.transaction.query('SELECT 1')).toThrow('The transaction has ended');
      expect(await paid(key)).toBe(0);
      const next = granted(await store.claim(key, request));
      expect(await next.complete()).toBe(true);
    });

    test('while a handler waits for its own query', async () => {
      const { store, key, pool, name } = opened();
      const claim = granted(await store.claim(key, request));
      const query = expect(claim.context.transaction.query('SELECT pg_sleep(30)')).rejects.toThrow(
        /terminat/,
      );
      await until(() => sleeps(name));
      await terminate(name);
      await query;
      // The reply to the query may be here before the news that the connection is gone.
      expect(await Promise.resolve(claim.complete()).catch(() => false)).toBe(false);
      expect(pool.totalCount).toBe(0);
    });

    test('while a claim waits for another', async () => {
      const { store, key, pool, name } = opened();
      const elsewhere = opened();
      const first = granted(await elsewhere.store.claim(key, request));
      const second = expect(store.claim(key, request)).rejects.toThrow(/terminat/);
      await until(() => waitsForLock(name));
      await terminate(name);
      await second;
      expect(pool.totalCount).toBe(0);
      expect(await first.complete()).toBe(true);
      expect((await store.claim(key, request)).status).toBe('completed');
    });
  });

  describe('renew', () => {
    test('tells that the connection lives, also while a handler keeps it busy, without waiting', async () => {
      const { store, key } = opened();
      const claim = granted(await store.claim(key, { ...request, leaseMs: 2_000 }));
      let isBusy = true;
      const query = claim.context.transaction.query('SELECT pg_sleep(3)').finally(() => {
        isBusy = false;
      });
      expect(await claim.renew(2_000)).toBe(true);
      expect(isBusy).toBe(true);
      for (; isBusy; await pause(100)) expect(await claim.renew(2_000)).toBe(true);
      await query;
      expect(await claim.complete()).toBe(true);
    });

    test('keeps an idle transaction alive on both sides', async () => {
      const { store, key } = opened();
      const claim = granted(await store.claim(key, { ...request, leaseMs: 3_000 }));
      await pay(claim.context.transaction, key);
      for (const end = performance.now() + 4_000; performance.now() < end; ) {
        await pause(100);
        expect(await Promise.all([claim.renew(3_000), claim.renew(3_000)])).toEqual([true, true]);
      }
      expect(await claim.complete()).toBe(true);
      expect(await paid(key)).toBe(1);
    });

    test('and a query of a handler, a commit and a rollback take turns on the connection', async () => {
      const { store, key, pool } = opened();
      let overlaps = 0;
      pool.on('connect', (client) => {
        const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
        let running = 0;
        Object.assign(client, {
          query: (...args: unknown[]) => {
            if (running > 0) overlaps += 1;
            running += 1;
            return query(...args).finally(() => {
              running -= 1;
            });
          },
        });
      });
      const claim = granted(await store.claim(key, request));
      const renewed = claim.renew(30_000);
      const written = pay(claim.context.transaction, key);
      expect([await renewed, (await written).rowCount]).toEqual([true, 1]);
      expect(await Promise.all([claim.renew(30_000), claim.complete()])).toEqual([true, true]);
      expect(await paid(key)).toBe(1);

      const other = granted(await store.claim(`${key}:other`, request));
      expect((await Promise.all([other.renew(30_000), other.release([])]))[1]).toBe(true);
      expect(overlaps).toBe(0);
    });

    test('loses no query that a handler made before the commit and did not await', async () => {
      const { store, key } = opened();
      const claim = granted(await store.claim(key, request));
      const renewed = claim.renew(30_000);
      const written = pay(claim.context.transaction, key);
      expect(await claim.complete()).toBe(true);
      expect([await renewed, (await written).rowCount, await paid(key)]).toEqual([true, 1, 1]);
    });

    test('sets how long the server lets it be idle', async () => {
      const { store, key } = opened();
      const claim = granted(await store.claim(key, request));
      expect(await claim.renew(45_000)).toBe(true);
      const { rows } = await claim.context.transaction.query('SHOW idle_in_transaction_session_timeout');
      expect(rows).toEqual([{ idle_in_transaction_session_timeout: '45s' }]);
      await claim.release([]);
    });
  });

  describe('a claim whose owner is gone', () => {
    test('frees its client and its event when the lease expires', async () => {
      const { store, key, pool } = opened();
      const claim = granted(await store.claim(key, { ...request, leaseMs: 1_500 }));
      await pay(claim.context.transaction, key);
      await until(() => pool.totalCount === 0);
      expect([await claim.renew(1_000), await claim.complete(), await claim.release([])]).toEqual([
        false,
        false,
        false,
      ]);
      const next = granted(await store.claim(key, request));
      await next.release([]);
      expect(await paid(key)).toBe(0);
    });

    test('of a process that hangs is ended by the server when the lease expires', async () => {
      const { store, key } = opened();
      const script = join(__dirname, 'stuck-owner.ts');
      const stuck = spawn(process.execPath, ['--import', 'tsx', script, connectionString, table, key]);
      try {
        const [status] = await once(stuck.stdout, 'data');
        expect(String(status)).toBe('claimed');
        let next: Awaited<ReturnType<typeof store.claim>> | undefined;
        await until(async () => {
          next = await store.claim(key, request);
          return next.status === 'claimed';
        });
        expect(stuck.exitCode).toBe(null);
        expect(next?.status === 'claimed' && (await next.claim.complete())).toBe(true);
      } finally {
        stuck.kill('SIGKILL');
      }
    }, 60_000);
  });

  describe('when a claim fails', () => {
    test.each(['40001', '40P01'])(
      'with %s it is tried three times, and the client goes back',
      async (code) => {
        const own = `${schema}.fails_${code.toLowerCase()}`;
        const { pool } = opened();
        const store = postgresStore({ pool, table: own, transactional: true });
        await store.migrate();
        await observer.query(`
        CREATE SEQUENCE ${own}_tries;
        CREATE FUNCTION ${own}_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('${own}_tries') <= 5 THEN RAISE EXCEPTION USING ERRCODE = '${code}'; END IF;
          RETURN NEW; END $$;
        CREATE TRIGGER fail BEFORE INSERT ON ${own} FOR EACH ROW EXECUTE FUNCTION ${own}_fail();`);
        await expect(store.claim('a', request)).rejects.toMatchObject({ code });
        const claim = granted(await store.claim('a', request));
        expect(await claim.complete()).toBe(true);
        await until(() => pool.totalCount === pool.idleCount);
      },
    );

    test('because the pool is exhausted it rejects, and the pool recovers', async () => {
      const { store, key, pool } = opened({ max: 1 });
      const claim = granted(await store.claim(key, request));
      // From now on: the connection itself takes its time on a busy machine.
      pool.options.connectionTimeoutMillis = 100;
      await expect(store.claim(`${key}:other`, request)).rejects.toThrow('timeout exceeded');
      expect(await claim.complete()).toBe(true);
      expect((await store.claim(key, request)).status).toBe('completed');
      expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
    });

    test('because the table is missing it rejects, and no client is lost', async () => {
      const { pool } = opened({ max: 1 });
      const store = postgresStore({ pool, table: `${schema}.missing`, transactional: true });
      for (let round = 0; round < 3; round += 1)
        await expect(store.claim('a', request)).rejects.toMatchObject({ code: '42P01' });
      expect(pool.totalCount - pool.idleCount).toBe(0);
    });
  });

  test('shares its table with stores in lease mode', async () => {
    const { store, key } = opened();
    const leased = postgresStore({ pool: observer, table });
    await leased.claim(key, { ...request, leaseMs: 60_000 });
    const running = await store.claim(key, request);
    expect(running).toEqual({ status: 'in_progress', retryAfterMs: expect.any(Number) });
    if (running.status === 'in_progress') expect(running.retryAfterMs).toBeGreaterThan(50_000);
    await observer.query(`UPDATE ${table} SET lease_ends = now(), finished = '["mail"]' WHERE key = $1`, [
      key,
    ]);
    const claim = granted(await store.claim(key, request));
    expect([claim.attempt, claim.finished]).toEqual([2, ['mail']]);
    await claim.complete();
    expect((await leased.claim(key, request)).status).toBe('completed');
  });

  /** The way to Postgres, until it is told to swallow every reply after certain words. */
  async function silenceable() {
    const sockets: Socket[] = [];
    let words: string | undefined;
    const server = createServer((near) => {
      const far = connect(Number(new URL(connectionString).port), '127.0.0.1');
      let silent = false;
      sockets.push(near, far);
      near.pipe(far);
      far.on('data', (reply) => {
        if (!silent) near.write(reply);
        if (words && reply.includes(words)) silent = true;
      });
      for (const socket of [near, far]) socket.on('error', () => {});
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = {
      silenceAfter: (said: string) => {
        words = said;
      },
      close: () => {
        server.close();
        for (const socket of sockets) socket.destroy();
      },
    };
    return { proxy, port: (server.address() as { port: number }).port };
  }
});

function bound<Extra extends object>(claim: Claim<Extra> & { context: Extra }) {
  return { context: claim.context, complete: () => claim.complete() };
}
