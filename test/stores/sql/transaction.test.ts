// sqlStore() with transactions: what must hold on Postgres holds on MariaDB too.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { PoolConnection } from 'mysql2/promise';
import { sqlStore } from 'payment-webhooks/stores/sql';
import type { Claim, ClaimResult } from '../../../src/claims/idempotency-store.js';
import { StoreError } from '../../../src/errors.js';
import { ownMariadb, withMariadb } from '../../setup/own-mariadb.js';
import { needing } from '../../setup/platform.js';
import { overMysql2 } from '../../setup/sql-clients.js';
import { until } from '../../setup/waiting.js';
import { mariadbWorld, postgresWorld, type Send, type World } from './worlds.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

type Given = { readonly transaction: object };

function granted(result: ClaimResult<Given>): Claim<Given> & { context: Given } {
  if (result.status !== 'claimed') throw new Error(`not granted: ${result.status}`);
  return result.claim as Claim<Given> & { context: Given };
}

withPostgres('sqlStore with transactions, on Postgres', () => {
  let world: World | undefined;
  const found = running(() => world);
  beforeAll(async () => {
    world = await postgresWorld(connectionString);
  });
  afterAll(() => world?.close());

  keepsTransactions(found);

  test('a statement that failed and was swallowed rolls everything back', async () => {
    const { store, key, idle } = found.open();
    const claim = granted(await store.claim(key, request));
    const send = found.sending(claim.context.transaction);
    await pay(found, send, key);
    await send('SELECT 1 / 0').catch(() => {});
    expect(await claim.renew(30_000)).toBe(true);
    await expect(claim.complete()).rejects.toMatchObject({ code: '25P02' });
    await until(idle);
    expect([await paid(found, key), await known(found, key)]).toEqual([0, 0]);
  });

  test('a handler waits for locks as long as before, and the session is as it was', async () => {
    const { store, key, run, idle } = found.open({ max: 1 });
    const claim = granted(await store.claim(key, { ...request, leaseMs: 12_345.6 }));
    const send = found.sending(claim.context.transaction);
    const shown = async (name: string, by = send) => (await by(`SHOW ${name}`))[0]?.[name];
    expect([await shown('lock_timeout'), await shown('idle_in_transaction_session_timeout')]).toEqual([
      '0',
      '12346ms',
    ]);
    expect(await claim.renew(45_000)).toBe(true);
    expect(await shown('idle_in_transaction_session_timeout')).toBe('45s');
    expect(await claim.complete()).toBe(true);
    await until(idle);
    expect([
      await shown('lock_timeout', run),
      await shown('idle_in_transaction_session_timeout', run),
    ]).toEqual(['0', '0']);
  });

  test('a connection that breaks in the middle of the commit is not a success', async () => {
    const slow = found.ledger.replace('ledger', 'slow');
    await found.observe(`CREATE TABLE ${slow} (n int)`);
    await found.observe(
      `CREATE FUNCTION ${slow}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'`,
    );
    await found.observe(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ${slow} DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${slow}()`);
    const { store, key } = found.open();
    const claim = granted(await store.claim(key, request));
    const { transaction } = claim.context;
    await pay(found, found.sending(transaction), key);
    await found.sending(transaction)(`INSERT INTO ${slow} VALUES (1)`);
    const completing = expect(claim.complete()).rejects.toThrow(/terminat/);
    const { processID } = transaction as { processID: number };
    await until(async () => {
      const [row] = await found.observe(
        'SELECT wait_event_type AS waits FROM pg_stat_activity WHERE pid = $1::int',
        [String(processID)],
      );
      return row?.waits === 'Timeout';
    });
    await found.terminate(transaction);
    await completing;
    expect([await paid(found, key), await known(found, key)]).toEqual([0, 0]);
    expect(await granted(await store.claim(key, request)).release([])).toBe(true);
  });

  test('a process that hangs loses its event when its lease ends: the server ends the transaction', async () => {
    const { store, key } = found.open();
    const owner = await startOwner(found, key, 1_000);
    try {
      let next: ClaimResult<Given> | undefined;
      await until(async () => {
        next = await store.claim(key, request);
        return next.status === 'claimed';
      });
      expect(owner.exitCode).toBe(null);
      expect(next && (await granted(next).complete())).toBe(true);
      expect(await paid(found, key)).toBe(0);
    } finally {
      owner.kill('SIGKILL');
    }
  }, 60_000);
});

withMariadb('sqlStore with transactions, on MariaDB', () => {
  const mariadb = ownMariadb();

  describe.each(['query', 'execute'] as const)('through %s of mysql2', (verb) => {
    let world: World | undefined;
    const found = running(() => world);
    beforeAll(async () => {
      world = await mariadbWorld(mariadb, verb);
    });
    afterAll(() => world?.close());

    keepsTransactions(found);

    test.each(['CREATE TABLE', 'ALTER TABLE'])('a handler ends the transaction by %s', async (statement) => {
      const { store, key } = found.open();
      const other = `${found.ledger}_${statement.slice(0, 2).toLowerCase()}`;
      if (statement === 'ALTER TABLE') await found.observe(`CREATE TABLE ${other} (n int)`);
      const claim = granted(await store.claim(key, request));
      const send = found.sending(claim.context.transaction);
      await pay(found, send, key);
      await send(
        statement === 'CREATE TABLE' ? `CREATE TABLE ${other} (n int)` : `ALTER TABLE ${other} ADD m int`,
      );
      await expect(claim.complete()).rejects.toThrow('A handler has ended the transaction of its delivery');
    });

    test('a deadlock that a handler swallowed has rolled everything back', async () => {
      const { store, key } = found.open();
      const rows = `${found.ledger}_rows`;
      await found.observe(`CREATE TABLE ${rows} (n int PRIMARY KEY, m int) ENGINE=InnoDB`);
      await found.observe(`INSERT INTO ${rows} SELECT seq, 0 FROM seq_1_to_100`);
      const claim = granted(await store.claim(key, request));
      const other = granted(await store.claim(`${key}:other`, request));
      const [send, rival] = [claim, other].map(({ context }) => found.sending(context.transaction)) as [
        Send,
        Send,
      ];
      await pay(found, send, key);
      await send(`UPDATE ${rows} SET m = 1 WHERE n = 1`);
      // Who has written less is rolled back.
      await rival(`UPDATE ${rows} SET m = 2 WHERE n > 1`);
      const waiting = rival(`UPDATE ${rows} SET m = 2 WHERE n = 1`);
      await expect(send(`UPDATE ${rows} SET m = 1 WHERE n = 2`)).rejects.toMatchObject({ errno: 1213 });
      await expect(claim.complete()).rejects.toThrow('A handler has ended the transaction of its delivery');
      await waiting;
      expect(await other.complete()).toBe(true);
      expect([await paid(found, key), await known(found, key)]).toEqual([0, 0]);
      await found.observe(`DROP TABLE ${rows}`);
    });

    test('a lock that a handler waits for in vain undoes its statement, and is its error', async () => {
      const { store, key } = found.open();
      const claim = granted(await store.claim(key, request));
      const send = found.sending(claim.context.transaction);
      await pay(found, send, `${key}:locked`);
      const second = granted(await store.claim(`${key}:second`, request));
      const impatient = found.sending(second.context.transaction);
      await impatient('SET SESSION innodb_lock_wait_timeout = 1');
      const update = impatient(`UPDATE ${found.ledger} SET event = 'b' WHERE event = '${key}:locked'`);
      await expect(update).rejects.toMatchObject({ errno: 1205 });
      await impatient('SET SESSION innodb_lock_wait_timeout = 50');
      expect([await second.release([]), await claim.complete()]).toEqual([true, true]);
    });

    test('a handler waits for locks as long as before, and so does the pool, also after a duplicate', async () => {
      const { store, key, idle } = found.open({ max: 2 });
      const claim = granted(await store.claim(key, request));
      const send = found.sending(claim.context.transaction);
      const wait = async () => (await send('SELECT @@innodb_lock_wait_timeout AS wait'))[0]?.wait;
      expect(await wait()).toBe(50);
      expect((await store.claim(key, request)).status).toBe('in_progress');
      expect(await claim.complete()).toBe(true);
      await until(idle);
      for (let each = 0; each < 2; each += 1) {
        const next = granted(await store.claim(`${key}:${each}`, request));
        const other = granted(await store.claim(`${key}:other:${each}`, request));
        for (const { context } of [next, other]) {
          const [row] = await found.sending(context.transaction)('SELECT @@innodb_lock_wait_timeout AS wait');
          expect(row?.wait).toBe(50);
        }
        await Promise.all([next.release([]), other.release([])]);
      }
    });

    test('a connection that breaks in the middle of the commit is not a success', async () => {
      const { store, key } = found.open();
      const claim = granted(await store.claim(key, request));
      const { transaction } = claim.context;
      await pay(found, found.sending(transaction), key);
      const gatekeeper = await mariadb.pool().getConnection();
      await gatekeeper.query('BACKUP STAGE START');
      await gatekeeper.query('BACKUP STAGE BLOCK_COMMIT');
      const completing = expect(claim.complete()).rejects.toThrow();
      const { threadId } = transaction as { threadId: number };
      const processes = () =>
        found.observe('SELECT INFO AS info FROM information_schema.PROCESSLIST WHERE ID = ?', [
          String(threadId),
        ]);
      await until(async () => (await processes())[0]?.info === 'COMMIT');
      await found.terminate(transaction);
      await completing;
      await gatekeeper.query('BACKUP STAGE END');
      gatekeeper.release();
      await until(async () => (await processes()).length === 0);
      // The server may have finished the commit, or undone it: of both writes, or of none.
      const written = await paid(found, key);
      expect([0, 1]).toContain(written);
      expect(await known(found, key)).toBe(written);
      const next = await store.claim(key, request);
      expect(next.status).toBe(written === 1 ? 'completed' : 'claimed');
      if (next.status === 'claimed') await next.claim.release([]);
    });
  });

  test('where MySQL 8 prepares no savepoints, deliveries are completed all the same', async () => {
    const pool = mariadb.pool();
    const right = overMysql2(pool);
    const refused = { code: 'ER_UNSUPPORTED_PS', errno: 1295 };
    const store = sqlStore({
      ...right,
      table: 'unprepared',
      query: (client, sql, values) =>
        sql.includes('SAVEPOINT')
          ? Promise.reject(Object.assign(new Error('This command is not supported'), refused))
          : right.query(client, sql, values),
    });
    await store.migrate();
    const rolledBack = granted(await store.claim('a', request));
    await (rolledBack.context.transaction as PoolConnection).query('ROLLBACK');
    await expect(rolledBack.complete()).rejects.toThrow(
      'A handler has ended the transaction of its delivery',
    );
    const claim = granted(await store.claim('a', request));
    await (claim.context.transaction as PoolConnection).query('COMMIT');
    expect(await claim.complete()).toBe(true);
    expect((await store.claim('a', request)).status).toBe('completed');
  });

  test('where a lock timeout rolls back everything, a handler that swallows it ends as a failure', async () => {
    // The claim is gone with the rest, so nothing may be remembered.
    const world = await mariadbWorld(strict(), 'query');
    const { store, key } = world.open();
    const first = granted(await store.claim(key, request));
    await pay(world, world.sending(first.context.transaction), key);
    expect((await store.claim(key, request)).status).toBe('in_progress');
    const second = granted(await store.claim(`${key}:second`, request));
    const send = world.sending(second.context.transaction);
    await pay(world, send, `${key}:second`);
    await send('SET SESSION innodb_lock_wait_timeout = 1');
    const update = send(`UPDATE ${world.ledger} SET event = 'b' WHERE event = '${key}'`);
    await expect(update).rejects.toMatchObject({ errno: 1205 });
    await expect(second.complete()).rejects.toThrow('A handler has ended the transaction of its delivery');
    expect([await first.complete(), await paid(world, `${key}:second`)]).toEqual([true, 0]);
  });
  const strictServer = ownMariadb(['--innodb-rollback-on-timeout']);
  const strict = () => strictServer;
});

/** A world that is made before the first test, to be named before that. */
function running(world: () => World | undefined): World {
  return new Proxy({} as World, { get: (_, name) => Reflect.get(world() ?? {}, name) });
}

const pay = ({ ledger, placeholder }: World, send: Send, key: string) =>
  send(`INSERT INTO ${ledger} (event) VALUES (${placeholder})`, [key]);

const paid = ({ observe, ledger, placeholder }: World, key: string) =>
  count(observe, `SELECT count(*) AS n FROM ${ledger} WHERE event = ${placeholder}`, key);

/** Counts rows that are committed. */
const known = ({ observe, table, placeholder }: World, key: string) => {
  const column = placeholder === '?' ? '`key`' : 'key';
  return count(observe, `SELECT count(*) AS n FROM ${table} WHERE ${column} = ${placeholder}`, key);
};

async function count(observe: Send, sql: string, key: string): Promise<number> {
  return Number((await observe(sql, [key]))[0]?.n);
}

async function startOwner({ url, table, ledger }: World, key: string, leaseMs: number) {
  const args = ['--import', 'tsx', join(__dirname, 'owner.ts'), url, table, ledger, key, String(leaseMs)];
  const owner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [status] = await once(owner.stdout, 'data');
  expect(String(status)).toBe('claimed');
  return owner;
}

function keepsTransactions(world: World): void {
  test('a handler that goes on after its lease has ended writes nothing', async () => {
    const { store, key, idle } = world.open({ max: 1 });
    const claim = granted(await store.claim(key, { ...request, leaseMs: 1_000 }));
    const send = world.sending(claim.context.transaction);
    await pay(world, send, key);
    await until(idle);
    await expect(pay(world, send, key)).rejects.toThrow('The transaction has ended');
    const next = granted(await store.claim(key, request));
    await expect(pay(world, send, key)).rejects.toThrow('The transaction has ended');
    await pay(world, world.sending(next.context.transaction), key);
    expect([await next.complete(), await paid(world, key)]).toEqual([true, 1]);
    await expect(pay(world, world.sending(next.context.transaction), key)).rejects.toThrow('has ended');
    expect(await paid(world, key)).toBe(1);
  });

  test('commits the event and what handlers wrote together, once', async () => {
    const { store, key, idle } = world.open();
    const claim = granted(await store.claim(key, request));
    expect([claim.attempt, claim.finished, claim.transactional]).toEqual([1, [], true]);
    await pay(world, world.sending(claim.context.transaction), key);
    expect([await paid(world, key), await known(world, key)]).toEqual([0, 0]);
    expect([await claim.complete(), await claim.complete()]).toEqual([true, true]);
    expect([await paid(world, key), await known(world, key)]).toEqual([1, 1]);
    expect(await store.claim(key, { ...request, fingerprint: 'other' })).toEqual({
      status: 'completed',
      fingerprint: request.fingerprint,
    });
    await until(idle);
  });

  test('rolls everything back on release: the event is new, its attempt and finished handlers too', async () => {
    const { store, key, idle } = world.open();
    const first = granted(await store.claim(key, request));
    await pay(world, world.sending(first.context.transaction), key);
    expect(await first.release(['mail'])).toBe(true);
    expect([await paid(world, key), await known(world, key)]).toEqual([0, 0]);
    const second = granted(await store.claim(key, request));
    expect([second.attempt, second.finished, await second.release([])]).toEqual([1, [], true]);
    await until(idle);
  });

  test('an owner that has completed or released can do nothing more', async () => {
    const { store, key } = world.open();
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

  test('a duplicate waits for about a second, and is then in progress', async () => {
    const { store, key } = world.open();
    const claim = granted(await store.claim(key, request));
    const askedAt = performance.now();
    const duplicate = await store.claim(key, request);
    expect(duplicate).toEqual({ status: 'in_progress', retryAfterMs: expect.any(Number) });
    expect(performance.now() - askedAt).toBeGreaterThan(400);
    expect(await claim.complete()).toBe(true);
  });

  test('a duplicate that waits is told what became of the event', async () => {
    const { store, key } = world.open();
    const told = async (end: (claim: Claim<Given>) => Promise<boolean> | boolean) => {
      for (let tries = 1; ; tries += 1) {
        const again = `${key}:${end}:${tries}`.slice(0, 200);
        const claim = granted(await store.claim(again, request));
        const duplicate = store.claim(again, request);
        await pause(100);
        expect(await end(claim)).toBe(true);
        const answer = await duplicate;
        // A machine that stalls for a second lets it wait in vain.
        if (answer.status !== 'in_progress' || tries === 5) return answer;
      }
    };
    expect(await granted(await told((claim) => claim.release([]))).complete()).toBe(true);
    expect((await told((claim) => claim.complete())).status).toBe('completed');
  });

  test('of twelve who claim at once exactly one gets it', async () => {
    const { store, key } = world.open({ max: 14 });
    const results = await Promise.all(Array.from({ length: 12 }, () => store.claim(key, request)));
    expect(results.map(({ status }) => status).sort()).toEqual(['claimed', ...Array(11).fill('in_progress')]);
    for (const result of results) if (result.status === 'claimed') await result.claim.release([]);
  });

  test('three copies each of 60 events, some of which fail, leave one payment each', async () => {
    const { store, key, idle } = world.open({ max: 10 });
    const events = Array.from({ length: 180 }, (_, index) => `${key}:${index % 60}`);
    const done = new Set<string>();
    const deliver = async (event: string) => {
      const result = await store.claim(event, request);
      if (result.status === 'completed') done.add(event);
      if (result.status !== 'claimed') return;
      await pay(world, world.sending(granted(result).context.transaction), event);
      if (Math.random() < 0.2) await result.claim.release([]);
      else if (await result.claim.complete()) done.add(event);
    };
    for (let round = 0; done.size < 60 && round < 30; round += 1) await Promise.all(events.map(deliver));
    await until(idle);
    const [row] = await world.observe(
      `SELECT count(*) AS payments, count(DISTINCT event) AS events FROM ${world.ledger} WHERE event LIKE ${world.placeholder}`,
      [`${key}:%`],
    );
    expect([Number(row?.payments), Number(row?.events)]).toEqual([60, 60]);
  }, 60_000);

  test.each([['COMMIT'], ['ROLLBACK'], ['COMMIT', 'BEGIN'], ['ROLLBACK', 'BEGIN']])(
    'a handler that ends the transaction by %s %s ends as a failure',
    async (...statements) => {
      const { store, key, idle } = world.open();
      const claim = granted(await store.claim(key, request));
      const send = world.sending(claim.context.transaction);
      await pay(world, send, key);
      for (const statement of statements) await send(statement);
      await expect(claim.complete()).rejects.toThrow('A handler has ended the transaction of its delivery');
      await expect(claim.complete()).rejects.toThrow(StoreError);
      await until(idle);
      const retry = await store.claim(key, request);
      expect(retry.status).toBe(statements[0] === 'COMMIT' ? 'in_progress' : 'claimed');
      if (retry.status === 'claimed') await retry.claim.release([]);
    },
  );

  test('an error within a savepoint is up to the handler', async () => {
    const { store, key } = world.open();
    const claim = granted(await store.claim(key, request));
    const send = world.sending(claim.context.transaction);
    await pay(world, send, key);
    await send('SAVEPOINT s');
    await pay(world, send, key);
    await send('SELECT * FROM no_such_table').catch(() => {});
    await send('ROLLBACK TO SAVEPOINT s');
    await send('SAVEPOINT left_open');
    expect(await claim.complete()).toBe(true);
    expect(await paid(world, key)).toBe(1);
  });

  test('when the connection breaks while handlers work, the owner is told, and another can start at once', async () => {
    const { store, key, idle } = world.open();
    const claim = granted(await store.claim(key, request));
    const { transaction } = claim.context;
    await pay(world, world.sending(transaction), key);
    await world.terminate(transaction);
    await until(async () => !(await claim.renew(30_000)));
    await expect(claim.complete()).rejects.toThrow(StoreError);
    expect(await claim.release([])).toBe(false);
    await until(idle);
    expect(await paid(world, key)).toBe(0);
    expect(await granted(await store.claim(key, request)).complete()).toBe(true);
  });

  test('when the connection breaks and nobody renews, the commit says so', async () => {
    const { store, key, idle } = world.open();
    const claim = granted(await store.claim(key, request));
    const { transaction } = claim.context;
    await pay(world, world.sending(transaction), key);
    await world.terminate(transaction);
    await expect(claim.complete()).rejects.toThrow();
    expect([await paid(world, key), await known(world, key)]).toEqual([0, 0]);
    await until(idle);
  });

  test('renew tells that the transaction is open, also while a handler keeps it busy, without waiting for it', async () => {
    const { store, key } = world.open();
    const claim = granted(await store.claim(key, { ...request, leaseMs: 2_000 }));
    const send = world.sending(claim.context.transaction);
    let isBusy = true;
    const query = send(world.placeholder === '?' ? 'SELECT SLEEP(3)' : 'SELECT pg_sleep(3)').finally(() => {
      isBusy = false;
    });
    expect(await claim.renew(2_000)).toBe(true);
    expect(isBusy).toBe(true);
    for (; isBusy; await pause(100)) expect(await claim.renew(2_000)).toBe(true);
    await query;
    await pay(world, send, key);
    expect(await claim.complete()).toBe(true);
    expect(await paid(world, key)).toBe(1);
  });

  test('renew keeps an idle transaction alive on both sides', async () => {
    const { store, key } = world.open();
    const claim = granted(await store.claim(key, { ...request, leaseMs: 2_000 }));
    await pay(world, world.sending(claim.context.transaction), key);
    for (const end = performance.now() + 3_000; performance.now() < end; ) {
      await pause(100);
      expect(await Promise.all([claim.renew(2_000), claim.renew(2_000)])).toEqual([true, true]);
    }
    expect(await claim.complete()).toBe(true);
    expect(await paid(world, key)).toBe(1);
  });

  test('loses no statement that a handler made before the commit and did not await', async () => {
    const { store, key } = world.open();
    const claim = granted(await store.claim(key, request));
    const renewed = claim.renew(30_000);
    const written = pay(world, world.sending(claim.context.transaction), key);
    expect(await claim.complete()).toBe(true);
    await Promise.all([renewed, written]);
    expect(await paid(world, key)).toBe(1);
  });

  test('an owner that has gone silent loses the event and its writes when the lease ends', async () => {
    const { store, key, idle } = world.open();
    const claim = granted(await store.claim(key, { ...request, leaseMs: 1_000 }));
    await pay(world, world.sending(claim.context.transaction), key);
    await until(idle);
    expect([await claim.renew(1_000), await claim.release([])]).toEqual([false, false]);
    await expect(claim.complete()).rejects.toThrow('The lease expired, so its transaction was rolled back.');
    expect(await granted(await store.claim(key, request)).release([])).toBe(true);
    expect(await paid(world, key)).toBe(0);
  });

  test('a process that is killed while a handler works leaves nothing behind', async () => {
    const { store, key } = world.open();
    const owner = await startOwner(world, key, 60_000);
    expect((await store.claim(key, request)).status).toBe('in_progress');
    const ended = once(owner, 'exit');
    owner.kill('SIGKILL');
    await ended;
    let next: ClaimResult<Given> | undefined;
    await until(async () => {
      next = await store.claim(key, request);
      return next.status === 'claimed';
    });
    expect(await paid(world, key)).toBe(0);
    expect(next && (await granted(next).complete())).toBe(true);
  }, 60_000);

  test('shares its table with stores in lease mode, and its locks are in lease mode', async () => {
    const { store, key } = world.open();
    const lock = await store.lock?.(key, 60_000);
    const running = await store.claim(key, request);
    expect(running.status === 'in_progress' && running.retryAfterMs).toBeGreaterThan(50_000);
    expect(await lock?.release()).toBe(true);
    expect(await granted(await store.claim(key, request)).complete()).toBe(true);
  });

  test('rejects when the table is missing, and no connection is lost', async () => {
    const { store, idle } = world.open({ max: 1, table: 'missing_table' });
    for (let round = 0; round < 3; round += 1)
      await expect(store.claim('a', request)).rejects.toThrow(/exist/);
    await until(idle);
  });
}
