// sqlStore() in lease mode: on Postgres through pg, on MariaDB through mysql2 as text and prepared.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { type SqlStore, sqlStore } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import type { ClaimResult } from '../../../src/claims/idempotency-store.js';
import { MysqlDialect } from '../../../src/stores/sql/mysql.js';
import { ownMariadb, withMariadb } from '../../setup/own-mariadb.js';
import { needing } from '../../setup/platform.js';
import { leased, overMysql2, overPg } from '../../setup/sql-clients.js';
import { keepsTheContract, walksAsPromised } from '../contract.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
const schema = `sql_lease_${randomBytes(6).toString('hex')}`;
const bytes = { leaseMs: 60_000, fingerprint: 'a'.repeat(64) };

function granted<Extra extends object>(result: ClaimResult<Extra>) {
  if (result.status !== 'claimed') throw new Error(`not granted: ${result.status}`);
  return result.claim;
}

async function races(store: SqlStore): Promise<void> {
  for (const key of ['default:live:new', 'default:live:lapsed']) {
    if (key.endsWith('lapsed')) granted(await store.claim(key, { ...bytes, leaseMs: 0 }));
    const results = await Promise.all(Array.from({ length: 200 }, () => store.claim(key, bytes)));
    const statuses = results.map(({ status }) => status).sort();
    expect(statuses).toEqual(['claimed', ...Array(199).fill('in_progress')]);
  }
}

withPostgres('sqlStore in lease mode, on Postgres', () => {
  const pool = new Pool({ connectionString, max: 20 });
  const database = leased(overPg(pool));
  const table = `${schema}.webhook_event`;
  const store = sqlStore({ ...database, table });

  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}`);
    await store.migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  describe('keeps the contract', () => {
    const options = {
      create: ({ retention }: { retention: number | undefined }) =>
        sqlStore({ ...database, table, retention }),
    };
    keepsTheContract(options);
    walksAsPromised(options);
  });

  test('answers each of 200 concurrent claims, on a new key as on a lapsed one, and one wins', async () => {
    await races(store);
  });

  test('makes the table that postgresStore makes, and shares its rows', async () => {
    const columns = async (name: string) =>
      (
        await pool.query(
          `SELECT column_name, data_type, collation_name, column_default, is_nullable FROM information_schema.columns
           WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position`,
          [schema, name],
        )
      ).rows;
    const other = postgresStore({ pool, table: `${schema}.of_pg` });
    await other.migrate();
    expect(await columns('webhook_event')).toEqual(await columns('of_pg'));

    const same = sqlStore({ ...database, table: `${schema}.of_pg` });
    await same.migrate();
    await granted(await other.claim('a', bytes)).release(['mail']);
    const second = granted(await same.claim('a', bytes));
    expect([second.attempt, second.finished]).toEqual([2, ['mail']]);
    expect(await second.complete()).toBe(true);
    expect(await other.claim('a', bytes)).toEqual({ status: 'completed', fingerprint: bytes.fingerprint });
  });

  test('migrates at once in several processes, and again later', async () => {
    const stores = Array.from({ length: 6 }, () => sqlStore({ ...database, table: `${schema}.at_once` }));
    await Promise.all(stores.map((each) => each.migrate()));
    await stores[0]?.migrate();
    expect(
      granted(await sqlStore({ ...database, table: `${schema}.at_once` }).claim('a', bytes)).attempt,
    ).toBe(1);
  });

  test('prunes in three processes at once, and counts each row once', async () => {
    const name = `${schema}.pruned`;
    const pruned = sqlStore({ ...database, table: name });
    await pruned.migrate();
    await pool.query(`INSERT INTO ${name} (key, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
      SELECT n::text, 1, '[]', '', now(), now(), now() - interval '31 days' FROM generate_series(1, 2500) n`);
    await granted(await pruned.claim('running', bytes)).renew(60_000);
    const counts = await Promise.all([pruned.prune(), pruned.prune(), pruned.prune()]);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2_500);
    expect((await pool.query(`SELECT key FROM ${name}`)).rows).toEqual([{ key: 'running' }]);
  });

  test('pings: rejects without the table, and on a server that takes no writes', async () => {
    await expect(store.ping()).resolves.toBeUndefined();
    await expect(sqlStore({ ...database, table: `${schema}.missing` }).ping()).rejects.toThrow(
      'does not exist',
    );
    const reading = new Pool({ connectionString, options: '-c default_transaction_read_only=on', max: 1 });
    const replica = sqlStore({ ...leased(overPg(reading)), table });
    await expect(replica.ping()).rejects.toThrow('This Postgres is read-only');
    await expect(replica.claim('ping', bytes)).rejects.toThrow('read-only');
    await reading.end();
  });

  test.each(['40001', '40P01'])('tries a claim three times after %s', async (code) => {
    const name = `${schema}.fails_${code.toLowerCase()}`;
    const tried = sqlStore({ ...database, table: name });
    await tried.migrate();
    await pool.query(`
      CREATE SEQUENCE ${name}_tries;
      CREATE FUNCTION ${name}_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('${name}_tries') <= 5 THEN RAISE EXCEPTION USING ERRCODE = '${code}'; END IF;
        RETURN NEW; END $$;
      CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON ${name} FOR EACH ROW EXECUTE FUNCTION ${name}_fail();`);
    await expect(tried.claim('a', bytes)).rejects.toMatchObject({ code });
    expect(granted(await tried.claim('a', bytes)).attempt).toBe(1);
  });

  test('rejects when a trigger of the table drops the row', async () => {
    const ruled = sqlStore({ ...database, table: `${schema}.ruled` });
    await ruled.migrate();
    await pool.query(`
      CREATE FUNCTION ${schema}.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER swallow BEFORE INSERT ON ${schema}.ruled FOR EACH ROW EXECUTE FUNCTION ${schema}.swallow()`);
    await expect(ruled.claim('a', bytes)).rejects.toThrow('without a row');
  });
});

withMariadb('sqlStore in lease mode, on MariaDB', () => {
  const mariadb = ownMariadb();
  // Time is taken from the server in UTC: a session elsewhere, in the hour that autumn repeats, makes no difference.
  const elsewhere = { timezone: '+13:00' };

  describe.each(['query', 'execute'] as const)('through %s of mysql2', (verb) => {
    const table = `webhook_event_${verb}`;
    const open = (retention?: number) =>
      sqlStore({ ...leased(overMysql2(shared(), verb)), table, retention });
    let pool: ReturnType<typeof mariadb.pool> | undefined;
    const shared = () => {
      pool ??= mariadb.pool({ connectionLimit: 20, ...elsewhere });
      return pool;
    };
    beforeAll(() => open().migrate());

    describe('keeps the contract', () => {
      const options = {
        create: ({ retention }: { retention: number | undefined }) => open(retention),
      };
      keepsTheContract(options);
      walksAsPromised(options);
    });

    test('answers each of 200 concurrent claims, on a new key as on a lapsed one, and one wins', async () => {
      await races(open());
    });

    test('keeps apart ids that differ only in what a collation would overlook', async () => {
      const store = open();
      const alike = [
        ...['a', 'a ', 'a  ', ' a', 'A', '\u00e1', 'a\u0301', '\u00e5', 'a\u030a', 'aa'],
        ...['a\0', 'a\0\0', '\0a', 'a\t', 'a\n', "a'", 'a"', 'a\\', 'a\\\\', 'a?', 'a$1', 'a%', 'a_'],
        ...['\u{1f600}', '\u{1f601}', 'ss', '\u00df', '\u0130', 'i', 'I', '\u0131', '', ' '],
      ].map((id) => `alike:live:${id}`);
      expect(new Set(alike).size).toBe(alike.length);
      for (const key of alike) {
        const claim = granted(await store.claim(key, { ...bytes, fingerprint: key }));
        expect([key, claim.attempt, await claim.complete()]).toEqual([key, 1, true]);
      }
      for (const key of alike)
        expect([key, await store.claim(key, bytes)]).toEqual([
          key,
          { status: 'completed', fingerprint: key },
        ]);
    });

    test('refuses a key that a lax server would cut, and one that is not well-formed', async () => {
      const store = open();
      const longest = 'k'.repeat(1_024);
      granted(await store.claim(longest, bytes));
      await expect(store.claim(`${longest}k`, bytes)).rejects.toThrow('has 1025 bytes; the table takes 1024');
      await expect(store.claim('\ud800', bytes)).rejects.toThrow('of well-formed text');
    });
  });

  test.each([
    ['latin1', "SET NAMES latin1, time_zone = '+13:00'"],
    [
      'a server that is not strict',
      "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,ANSI_QUOTES'",
    ],
    ['simultaneous assignment', "SET SESSION sql_mode = 'SIMULTANEOUS_ASSIGNMENT'"],
    ['read committed', 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'],
    ['serializable', 'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE'],
  ])('works in a session with %s', async (_, setting) => {
    const pool = mariadb.pool({
      connectionLimit: 1,
      charset: setting.includes('latin1') ? 'latin1' : 'utf8mb4',
    });
    await pool.query(setting);
    const store = sqlStore({ ...leased(overMysql2(pool, 'query')), table: 'odd_sessions' });
    await store.migrate();
    const key = `odd:live:\u{1f600} ${setting}`;
    const first = granted(await store.claim(key, { ...bytes, leaseMs: 20, fingerprint: '\u{1f601}' }));
    await new Promise((resolve) => setTimeout(resolve, 60));
    const second = granted(await store.claim(key, { ...bytes, fingerprint: '\u00e9' }));
    expect([second.attempt, await first.renew(1_000), await first.complete()]).toEqual([2, false, false]);
    const running = await store.claim(key, bytes);
    expect(running.status === 'in_progress' && running.retryAfterMs).toBeGreaterThan(50_000);
    expect(await second.release(['\u{1f600}'])).toBe(true);
    const third = granted(await store.claim(key, { ...bytes, fingerprint: '\u00e9' }));
    expect([third.attempt, third.finished, await third.complete()]).toEqual([3, ['\u{1f600}'], true]);
    expect(await store.claim(key, bytes)).toEqual({ status: 'completed', fingerprint: '\u00e9' });
  });

  test('refuses to claim where autocommit is off, since the claim would be lost', async () => {
    const pool = mariadb.pool({ connectionLimit: 1 });
    await pool.query('SET autocommit = 0');
    const store = sqlStore({ ...leased(overMysql2(pool)), table: 'webhook_event_query' });
    await expect(store.claim('a', bytes)).rejects.toThrow('autocommit is off');
  });

  test('migrates at once in several processes, and by the SQL that the docs show', async () => {
    const pool = mariadb.pool();
    const stores = Array.from({ length: 6 }, () =>
      sqlStore({ ...leased(overMysql2(pool)), table: 'at_once' }),
    );
    await Promise.all(stores.map((store) => store.migrate()));
    await stores[0]?.migrate();
    const docs = readFileSync(join(__dirname, '../../../docs/sql/webhook-event.mysql.sql'), 'utf8');
    expect(docs.trim()).toBe(`${new MysqlDialect('webhook_event').migration.trim()};`);
    await pool.query('CREATE DATABASE by_hand');
    await pool.query(docs.replace('`webhook_event`', '`by_hand`.`webhook_event`'));
    const store = sqlStore({ ...leased(overMysql2(pool)), table: 'by_hand.webhook_event' });
    expect(granted(await store.claim('a', bytes)).attempt).toBe(1);
  });

  test('forgets a lock when it is released, and nothing that somebody else has', async () => {
    const pool = mariadb.pool();
    const store = sqlStore({ ...leased(overMysql2(pool)), table: 'webhook_event_query' });
    const first = await store.lock?.('lock', 60_000);
    expect(await store.lock?.('lock', 60_000)).toBeUndefined();
    expect(await first?.release()).toBe(true);
    const [rows] = await pool.query("SELECT * FROM webhook_event_query WHERE `key` = 'lock'");
    expect(rows).toEqual([]);
    const second = await store.lock?.('lock', 60_000);
    expect([await first?.release(), await second?.renew(60_000)]).toEqual([false, true]);
  });

  test('prunes and counts alone, prunes beside others until nothing is left, and waits for no transaction', async () => {
    const pool = mariadb.pool();
    const store = sqlStore({ ...leased(overMysql2(pool)), table: 'pruned' });
    await store.migrate();
    const fill = (sequence: string) =>
      pool.query(`INSERT INTO pruned (\`key\`, token, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
      SELECT seq, '-', 1, '[]', '', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) - INTERVAL 31 DAY FROM ${sequence}`);
    await fill('seq_1_to_1501');
    await granted(await store.claim('running', bytes)).renew(60_000);
    await pool.query("UPDATE pruned SET claimed_at = claimed_at - INTERVAL 31 DAY WHERE `key` = 'running'");
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query("SELECT * FROM pruned WHERE `key` = '7' FOR UPDATE");
    expect(await store.prune()).toBe(1_500);
    await fill('seq_2001_to_3500');
    // Of rows that two of them take at the same time, one may leave some to the next time.
    await Promise.all([store.prune(), store.prune(), store.prune()]);
    await connection.rollback();
    connection.release();
    expect(await store.prune()).toBeGreaterThanOrEqual(1);
    const [rows] = await pool.query('SELECT CAST(`key` AS CHAR) AS name FROM pruned');
    expect(rows).toEqual([{ name: 'running' }]);
  });

  test('waits for no transaction where the server takes the table for empty', async () => {
    const pool = mariadb.pool();
    const store = sqlStore({ ...leased(overMysql2(pool)), table: 'nearly_empty' });
    await store.migrate();
    await pool.query(`INSERT INTO nearly_empty SELECT seq, '-', 1, '[]', '', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6),
      UTC_TIMESTAMP(6) - INTERVAL 31 DAY FROM seq_1_to_11`);
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    // InnoDB counts rows as deleted before the transaction that deletes them is committed.
    for (let key = 2; key <= 11; key += 1)
      await connection.query('DELETE FROM nearly_empty WHERE `key` = ?', [String(key)]);
    expect(await store.prune()).toBe(1);
    await connection.rollback();
    connection.release();
    expect(await store.prune()).toBe(10);
  });

  test('pings: rejects without the table, and on a server that takes no writes', async () => {
    const pool = mariadb.pool();
    const store = sqlStore({ ...leased(overMysql2(pool)), table: 'webhook_event_query' });
    await expect(store.ping()).resolves.toBeUndefined();
    await expect(sqlStore({ ...leased(overMysql2(pool)), table: 'missing' }).ping()).rejects.toThrow(
      "doesn't exist",
    );
    await pool.query('SET GLOBAL read_only = 1');
    try {
      await expect(store.ping()).rejects.toThrow('This MySQL is read-only');
    } finally {
      await pool.query('SET GLOBAL read_only = 0');
    }
  });

  test('recovers from a crash of the server, and knows what it had answered', async () => {
    const pool = mariadb.pool();
    const store = sqlStore({ ...leased(overMysql2(pool)), table: 'crashed' });
    await store.migrate();
    await granted(await store.claim('done', bytes)).complete();
    const running = granted(await store.claim('running', bytes));
    await mariadb.server.crash();
    const again = async <Value>(work: () => Promise<Value>): Promise<Value> => {
      for (let tries = 0; ; tries += 1) {
        try {
          return await work();
        } catch (error) {
          if (tries === 20) throw error;
        }
      }
    };
    expect((await again(async () => store.claim('done', bytes))).status).toBe('completed');
    expect(await again(async () => running.complete())).toBe(true);
  });
});
