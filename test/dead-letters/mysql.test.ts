// Dead letters in MariaDB: what only this database can do wrong, and several receivers that replay them.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPool, type Pool } from 'mysql2/promise';
import { type EventSchemas, type NewDeadLetter, receiver, StoreError } from 'payment-webhooks';
import { sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { KEY, receivable } from '../setup/delivery.js';
import { aLetter, queryOf } from '../setup/letters.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { overMysql2 } from '../setup/sql-clients.js';

withMariadb('dead letters in MariaDB', () => {
  const mariadb = ownMariadb();
  const schema = `letters_${randomBytes(6).toString('hex')}`;
  const table = `${schema}.dead_letter`;
  const encryptionKeys = [randomBytes(32)];
  let pool: Pool;
  const open = (client: Pool = pool, options: object = {}) =>
    sqlDeadLetters({ ...overMysql2(client, 'query'), table, ...options });

  beforeAll(async () => {
    pool = createPool({ uri: mariadb.server.url });
    await pool.query(`CREATE SCHEMA ${schema}`);
    await open().migrate();
  });
  afterAll(() => pool?.end());

  /** A store whose sessions have a setting, on one connection. */
  async function inSession(setting: string, work: (store: ReturnType<typeof open>) => Promise<void>) {
    const own = createPool({ uri: mariadb.server.url, connectionLimit: 1 });
    await own.query(`SET SESSION ${setting}`);
    await work(open(own));
    await own.end();
  }

  const COLUMNS = ['id', 'key', 'fingerprint', 'event_name', 'event_id', 'issues', 'head', 'body'];

  test.each(COLUMNS)('are unreadable when a bit of %s is changed', async (column) => {
    const letters = open(pool, { encryptionKeys });
    const letter = aLetter({ namespace: randomBytes(6).toString('hex') });
    await letters.keep(letter);
    const last = `ASCII(RIGHT(\`${column}\`, 1))`;
    const flipped = `INSERT(\`${column}\`, LENGTH(\`${column}\`), 1, CHAR(${last} ^ 1))`;
    await pool.query(`UPDATE ${table} SET \`${column}\` = ${flipped} WHERE namespace = ?`, [
      letter.namespace,
    ]);
    const [listed] = (await letters.list(queryOf(letter), { limit: 5 })).letters;
    expect(await letters.read(listed?.id ?? '')).toEqual({ status: 'unreadable' });
    expect(await letters.discard(listed?.id ?? '', { by: 'ada', because: 'changed' })).toBe(true);
  });

  test('are never without bytes', async () => {
    const id = await open().keep(aLetter());
    for (const column of ['head', 'body'])
      await expect(pool.query(`UPDATE ${table} SET ${column} = NULL WHERE id = ?`, [id])).rejects.toThrow(
        /CONSTRAINT/,
      );
  });

  test('are not kept in a session that would not commit them', async () => {
    await inSession('autocommit = 0', async (store) => {
      await expect(store.keep(aLetter())).rejects.toThrow('client does not commit each statement by itself');
    });
  });

  test('whose ids are too long are refused, also by a session that would cut them', async () => {
    const long = (last: string) => aLetter({ eventId: 'e'.repeat(600) + last, namespace: 'long' });
    for (const setting of ["sql_mode = ''", "sql_mode = 'STRICT_ALL_TABLES'"])
      await inSession(setting, async (store) => {
        for (const letter of [long('a'), long('b')]) await expect(store.keep(letter)).rejects.toThrow();
      });
    await inSession("sql_mode = ''", async (store) => {
      await expect(store.keep(long('c'))).rejects.toThrow(StoreError);
    });
  });

  test('whose time is over make room for the same event, as a new letter at a new place', async () => {
    const letters = open(pool, { retention: '1h' });
    const [first, second] = [aLetter({ namespace: 'over' }), aLetter({ namespace: 'over' })];
    await letters.keep({ ...first, attempts: 7 });
    await letters.keep(second);
    await pool.query(`UPDATE ${table} SET kept_at = kept_at - INTERVAL 2 HOUR WHERE id = ?`, [first.id]);
    const again: NewDeadLetter = { ...first, id: 'again', attempts: 1 };
    expect(await letters.keep(again)).toBe('again');
    const { letters: listed } = await letters.list(queryOf(first), { limit: 5 });
    expect(listed.map(({ id, attempts }) => [id, attempts])).toEqual([
      [second.id, 1],
      ['again', 1],
    ]);
  });

  test('are each replayed once by three that replay at once, with one row of the ledger', async () => {
    await pool.query(`CREATE TABLE ${schema}.ledger (event varchar(100) NOT NULL)`);
    const start = (events: EventSchemas = {}) => {
      const database = overMysql2(mariadb.pool({ connectionLimit: 12 }));
      const store = sqlStore({ ...database, table: `${schema}.webhook_event` });
      const deadLetters = sqlDeadLetters({ ...database, table });
      const hooks = receiver({
        privateKey: KEY,
        logger: false,
        namespace: 'replay',
        events,
        store,
        deadLetters,
      });
      return { store, hooks };
    };
    const undeclared = start();
    await undeclared.store.migrate();
    const ids = Array.from({ length: 40 }, (_, index) => `r-${index}`);
    for (const id of ids)
      await undeclared.hooks.receive(receivable({ ...fixtures.event('refund.made', {}), id }));
    expect(await undeclared.hooks.deadLetters.count()).toMatchObject({ total: 40 });
    const replaying = [0, 1, 2].map(() => {
      const { hooks } = start({ 'refund.made': z.looseObject({}) });
      hooks.on('*', async ({ id }, { transaction }) => {
        await transaction.query(`INSERT INTO ${schema}.ledger VALUES (?)`, [id]);
      });
      return hooks.deadLetters.replay({ concurrency: 3 });
    });
    const reports = await Promise.all(replaying);
    expect(reports.reduce((sum, { processed }) => sum + processed, 0)).toBe(40);
    expect(reports.map(({ failed }) => failed)).toEqual([0, 0, 0]);
    expect(await undeclared.hooks.deadLetters.count()).toMatchObject({ total: 0 });
    const [rows] = await pool.query(`SELECT event FROM ${schema}.ledger`);
    const paid = (rows as { event: string }[]).map(({ event }) => event);
    expect(paid.sort()).toEqual([...ids].sort());
  });
});
