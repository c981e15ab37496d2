// Tables whose key column somebody has made case-insensitive: an event is never taken for another one.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { DeadLetterStore } from 'payment-webhooks';
import { postgresDeadLetters } from 'payment-webhooks/stores/postgres';
import { type SqlStore, sqlDeadLetters, sqlStore, type WithOnce } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import type { StoreError } from '../../src/errors.js';
import { aLetter } from '../setup/letters.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { needing } from '../setup/platform.js';
import { overMysql2, overPg } from '../setup/sql-clients.js';
import { connectionString, granted, storeOnPg } from './worlds.js';

const schema = `exact_${randomBytes(6).toString('hex')}`;
const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(12) };

type Run = (sql: string) => Promise<unknown>;
type MakeLetters = (table: string) => DeadLetterStore & { migrate(): Promise<void> };
type Store = SqlStore<WithOnce<object>>;
type Make = (table: string) => Store;

needing('postgres').describe('in Postgres', () => {
  const pool = new Pool({ connectionString });
  const run: Run = (sql) => pool.query(sql);
  beforeAll(() =>
    run(`CREATE SCHEMA ${schema};
      CREATE COLLATION ${schema}.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE EXTENSION citext SCHEMA ${schema}`),
  );
  afterAll(async () => {
    await run(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  describe.each([`text COLLATE ${schema}.ci`, `${schema}.citext`])('with a key of TYPE %s', (type) => {
    const change = `ALTER COLUMN key TYPE ${type}`;
    test.each<[string, MakeLetters]>([
      ['postgresDeadLetters', (table) => postgresDeadLetters({ pool, table })],
      ['sqlDeadLetters', (table) => sqlDeadLetters({ ...overPg(pool), table })],
    ])('%s removes no letter of another event', (_, make) => removesNoOther(make, run, change));

    describe.each<[string, Make]>([
      ['postgresStore', (table) => storeOnPg('postgresStore', pool, { table })],
      ['sqlStore', (table) => storeOnPg('sqlStore', pool, { table })],
    ])('%s', (_, make) => tellsIdsApart(make, run, change));
  });
});

withMariadb('in MariaDB, with a case-insensitive key', () => {
  const mariadb = ownMariadb();
  const run: Run = (sql) => mariadb.pool().query(sql);
  beforeAll(() => run(`CREATE DATABASE ${schema}`));

  const change = 'MODIFY `key` VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL';
  const database = () => overMysql2(mariadb.pool());
  test('sqlDeadLetters removes no letter of another event', () =>
    removesNoOther((table) => sqlDeadLetters({ ...database(), table }), run, change));

  const asMysql = (sql: string) => sql.replaceAll('`key` = UNHEX(?)', '`key` = BINARY UNHEX(?)');
  describe.each<[string, Make]>([
    ['sqlStore', (table) => sqlStore({ ...database(), table }) as Store],
    [
      'sqlStore where WHERE compares bytes, as in MySQL',
      (table) => {
        const { query, ...given } = database();
        const asked: typeof query = (by, sql, values) => query(by, asMysql(sql), values);
        return sqlStore({ ...given, table, query: asked }) as Store;
      },
    ],
  ])('%s', (_, make) => tellsIdsApart(make, run, change));
});

async function removesNoOther(make: MakeLetters, run: Run, change: string): Promise<void> {
  const table = `${schema}.letters_${randomBytes(4).toString('hex')}`;
  const store = make(table);
  await store.migrate();
  await run(`ALTER TABLE ${table} ${change}`);
  const [one, other] = [aLetter({ eventId: 'evtA' }), aLetter({ eventId: 'evta' })];
  for (const letter of [one, other]) await store.keep(letter);
  expect(await store.remove(other)).toBe(1);
  expect((await store.read(one.id)).status).toBe('found');
}

/** @param change of the column, as somebody made it */
function tellsIdsApart(make: Make, run: Run, change: string): void {
  const refusal = { name: 'StoreError', message: expect.stringMatching(/^The key column .* ALTER TABLE /) };

  async function opened() {
    const table = `${schema}.events_${randomBytes(4).toString('hex')}`;
    const store = make(table);
    await store.migrate();
    await store.ping();
    await run(`ALTER TABLE ${table} ${change}`);
    return store;
  }

  const refused = (store: Store, key: string) =>
    (async () => (await store.claim(key, request)).status)().catch((error: StoreError) => error);

  test('refuses an event for which the row is that of another, until the column is changed as it says', async () => {
    const store = await opened();
    expect(await granted(await store.claim('live:evtA', request)).complete()).toBe(true);
    const error = await refused(store, 'live:evta');
    expect(error).toMatchObject(refusal);
    await expect(store.ping()).rejects.toMatchObject(refusal);
    await run(/ALTER TABLE .*$/.exec((error as StoreError).message)?.[0] ?? '');
    await store.ping();
    expect(await granted(await store.claim('live:evta', request)).complete()).toBe(true);
    expect(await refused(store, 'live:evtA')).toBe('completed');
  });

  test('takes over no claim of another event whose lease has ended', async () => {
    const store = await opened();
    const claim = granted(await store.claim('live:evtA', request));
    await claim.renew(0);
    expect(await refused(store, 'live:evta')).toMatchObject(refusal);
    expect([await claim.renew(30_000), await claim.complete()]).toEqual([true, true]);
  });

  test('skips no writes of a handler whose name differs from that of another in its case alone', async () => {
    const store = await opened();
    const claim = granted(await store.claim('live:evtA', request));
    const ran: string[] = [];
    const write = (name: string) => claim.forHandler?.(name).context.once(() => ran.push(name));
    await write('pay');
    await expect(write('Pay')).rejects.toMatchObject(refusal);
    expect([ran, await claim.complete()]).toEqual([['pay'], true]);
  });
}
