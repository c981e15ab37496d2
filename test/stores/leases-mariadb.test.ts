// Claims in MariaDB, as text and prepared: what every database keeps, and what only this one can do wrong.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Pool } from 'mysql2/promise';
import { type SqlValue, sqlStore } from 'payment-webhooks/stores/sql';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { overMysql2 } from '../setup/sql-clients.js';
import { bytes, keepsLeases } from './leases.js';
import { granted, mariadbWorld, ownWorld } from './worlds.js';

withMariadb('sqlStore, on MariaDB', () => {
  const mariadb = ownMariadb();
  // Time is taken from the server in UTC: a session elsewhere, in the hour that autumn repeats, makes no difference.
  const elsewhere = { timezone: '+13:00' };
  const storeOn = (pool: Pool, table: string, verb?: 'query') =>
    sqlStore({ ...overMysql2(pool, verb), table });

  describe.each(['query', 'execute'] as const)('through %s of mysql2', (verb) => {
    const world = ownWorld(() => mariadbWorld(mariadb, verb, elsewhere));
    const open = () => world.open().store;

    keepsLeases(world);

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
        expect(await store.claim(key, bytes)).toEqual({ status: 'completed', fingerprint: key });
    });

    test('refuses a key that a lax server would cut, and one that is not well-formed', async () => {
      const store = open();
      const longest = 'k'.repeat(1_024);
      granted(await store.claim(longest, bytes));
      await expect(store.claim(`${longest}k`, bytes)).rejects.toThrow('has 1025 bytes; the table takes 1024');
      await expect(store.claim('\ud800', bytes)).rejects.toThrow('of well-formed text');
    });
  });

  const LAX = "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,ANSI_QUOTES'";
  test.each([
    ['latin1', "SET NAMES latin1, time_zone = '+13:00'"],
    ['a server that is not strict', LAX],
    ['simultaneous assignment', "SET SESSION sql_mode = 'SIMULTANEOUS_ASSIGNMENT'"],
    ['read committed', 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'],
    ['serializable', 'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE'],
  ])('works in a session with %s', async (_, setting) => {
    const charset = setting.includes('latin1') ? 'latin1' : 'utf8mb4';
    const pool = mariadb.pool({ connectionLimit: 1, charset });
    await pool.query(setting);
    const store = storeOn(pool, 'odd_sessions', 'query');
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

  test('reports no step as done on a connection whose autocommit something has turned off', async () => {
    const pool = mariadb.pool({ connectionLimit: 1 });
    const store = storeOn(pool, 'turned_off', 'query');
    await store.migrate();
    const claim = granted(await store.claim('a', bytes));
    await pool.query('SET autocommit = 0');
    const steps = [() => claim.renew(60_000), () => claim.complete(), () => claim.release([])];
    for (const step of steps) await expect(step()).rejects.toThrow('autocommit is off');
    await pool.query('ROLLBACK');
  });

  test('refuses to claim where autocommit is off, since the claim would be lost', async () => {
    const pool = mariadb.pool({ connectionLimit: 1 });
    await pool.query('SET autocommit = 0');
    const store = storeOn(pool, 'worlds_query.webhook_event');
    for (const call of [() => store.claim('a', bytes), () => store.ping(), () => store.prune()])
      await expect(call()).rejects.toThrow('autocommit is off');
    const [open] = await mariadb.pool().query('SELECT * FROM information_schema.innodb_trx');
    expect(open).toEqual([]);
  });

  test.each([true, '_'])('refuses rows that mysql2 nests by nestTables: %s', async (nestTables) => {
    const pool = mariadb.pool();
    const query = async (_: object, sql: string, values: SqlValue[]) =>
      (await pool.query({ sql, values, nestTables }))[0];
    const table = 'worlds_query.webhook_event';
    const store = sqlStore({ dialect: 'mysql', client: pool, query, table });
    const completed = granted(await storeOn(pool, table).claim(`nested ${nestTables}`, bytes));
    expect(await completed.complete()).toBe(true);
    for (const call of [
      () => store.prune(),
      () => store.ping(),
      () => store.claim(`nested ${nestTables}`, bytes),
      () => store.completedWith?.(`nested ${nestTables}`),
    ])
      await expect(call()).rejects.toThrow('e.g. without nestTables');
  });

  test('migrates by the SQL that the docs show', async () => {
    const pool = mariadb.pool();
    const docs = readFileSync(join(__dirname, '../../docs/sql/webhook-event.mysql.sql'), 'utf8');
    const sent: string[] = [];
    const query = async (_: object, text: string) => {
      sent.push(text);
      return [];
    };
    await sqlStore({ dialect: 'mysql', client: {}, query }).migrate();
    expect(docs.trim()).toBe(`${sent.join().trim()};`);
    await pool.query('CREATE DATABASE by_hand');
    await pool.query(docs.replace('`webhook_event`', '`by_hand`.`webhook_event`'));
    expect(granted(await storeOn(pool, 'by_hand.webhook_event').claim('a', bytes)).attempt).toBe(1);
  });

  /** Rows that may be pruned. */
  const forgotten = (sequence: string) =>
    `SELECT seq, '-', 1, '[]', '', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) - INTERVAL 31 DAY FROM ${sequence}`;

  test('prunes and counts alone, prunes beside others until nothing is left, and waits for no transaction', async () => {
    const pool = mariadb.pool();
    const store = storeOn(pool, 'pruned');
    await store.migrate();
    const fill = (sequence: string) => pool.query(`INSERT INTO pruned ${forgotten(sequence)}`);
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
    const store = storeOn(pool, 'nearly_empty');
    await store.migrate();
    await pool.query(`INSERT INTO nearly_empty ${forgotten('seq_1_to_11')}`);
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

  test('rejects a ping on a server that takes no writes', async () => {
    const pool = mariadb.pool();
    const store = storeOn(pool, 'worlds_query.webhook_event');
    await pool.query('SET GLOBAL read_only = 1');
    try {
      await expect(store.ping()).rejects.toThrow('This MySQL is read-only');
    } finally {
      await pool.query('SET GLOBAL read_only = 0');
    }
  });

  test('recovers from a crash of the server, and knows what it had answered', async () => {
    const store = storeOn(mariadb.pool(), 'crashed');
    await store.migrate();
    await granted(await store.claim('done', bytes)).complete();
    const running = granted(await store.claim('running', bytes));
    await mariadb.server.crash();
    const again = async <Value>(work: () => Promise<Value> | Value, tries = 20): Promise<Value> => {
      try {
        return await work();
      } catch (error) {
        if (tries === 0) throw error;
        return again(work, tries - 1);
      }
    };
    expect((await again(() => store.claim('done', bytes))).status).toBe('completed');
    expect(await again(() => running.complete())).toBe(true);
  });
});
