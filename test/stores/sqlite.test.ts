// sqlStore() on SQLite: the contract with every driver, and what a file, a lock and an open transaction do to a claim.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type OnceSync, sqliteDatabase, sqlStore } from 'payment-webhooks/stores/sql';
import { EACH_SQLITE, type Sqlite, sqliteFile } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { overTwoSqlite } from '../setup/sql-clients.js';
import { keepsTheContract, walksAsPromised } from './contract.js';
import { granted } from './worlds.js';

const request = { leaseMs: 60_000, fingerprint: 'a'.repeat(12) };
const LOCKED = { message: expect.stringContaining('locked') };
const inWords = (error: unknown) => (error as Error).message;

needing('SQLite').describe.each(EACH_SQLITE)('sqlStore() on SQLite by %s', (_, open) => {
  const { file, remove } = sqliteFile();
  const opened: Sqlite[] = [];
  const connect = (path = file) => {
    const db = open(path);
    opened.push(db);
    return db;
  };
  const storeOn = (db: Sqlite, options: { retention?: number | undefined } = {}) =>
    sqlStore({ ...sqliteDatabase(db), ...options });
  let db: Sqlite;
  beforeAll(async () => {
    db = connect();
    await storeOn(db).migrate();
    db.exec('CREATE TABLE ledger (line TEXT NOT NULL)');
  });
  afterAll(() => {
    for (const each of opened) each.close();
    remove();
  });

  const pay = (on: Sqlite, line: string) => on.prepare('INSERT INTO ledger (line) VALUES (?)').run(line);
  const paid = (line: string) => db.prepare('SELECT line FROM ledger WHERE line = ?').all(line).length;
  const rowsOf = (key: string) =>
    db.prepare('SELECT key FROM webhook_event WHERE key = ?').all(`${key} pay`).length;

  const create = ({ retention }: { readonly retention: number | undefined }) => storeOn(db, { retention });
  keepsTheContract<Sqlite>({
    create,
    once: {
      transaction: async (work) => {
        db.exec('BEGIN IMMEDIATE');
        try {
          await work(db);
          db.exec('COMMIT');
        } catch (error) {
          db.exec('ROLLBACK');
          throw error;
        }
      },
      write: (_, text) => pay(db, text),
      count: paid,
    },
  });
  walksAsPromised({ create });

  let made = 0;
  const newKey = () => `default:live:sqlite-${++made}`;

  async function attempt(store: ReturnType<typeof storeOn>, key: string) {
    const claim = granted(await store.claim(key, { ...request, leaseMs: 1 }));
    const handler = claim.forHandler?.('pay');
    if (!handler) throw new Error('no once');
    const once: OnceSync<Sqlite> = handler.context.once;
    return { claim, once, end: () => handler.end(() => {}) };
  }

  describe('once() is synchronous', () => {
    test('in both forms, and returns what its work returns, or undefined for what is committed', async () => {
      const store = storeOn(db);
      for (const form of ['once(work)', 'once(db, work)']) {
        const key = newKey();
        for (const [run, expected] of ['done', undefined].entries()) {
          const { claim, once, end } = await attempt(store, key);
          const work = () => {
            pay(db, key);
            return 'done';
          };
          if (form === 'once(work)') expect(once(work)).toBe(expected);
          else {
            db.exec('BEGIN');
            expect(once(db, work)).toBe(expected);
            db.exec('COMMIT');
          }
          expect(end()).toMatchObject({ failure: undefined, wrote: true });
          if (run === 0) await claim.renew(1);
          else expect(await claim.complete()).toBe(true);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        expect([form, paid(key), rowsOf(key)]).toEqual([form, 1, 1]);
      }
    });

    const PROMISE = 'returned a promise, but this driver is synchronous';
    test.each<[string, (key: string) => unknown]>([
      ['an async function, before it writes', async (key) => void pay(db, key)],
      ['a promise, whose writes it rolls back', (key) => Promise.resolve(pay(db, key))],
      ['a promise that rejects', (key) => Promise.reject(new Error(String(pay(db, key))))],
      ['an array of promises', (key) => [Promise.resolve(pay(db, key))]],
    ])('and refuses work that returns %s', async (_, work) => {
      for (const inside of [false, true]) {
        const key = newKey();
        const { once, end } = await attempt(storeOn(db), key);
        if (inside) db.exec('BEGIN');
        const bound = work.bind(undefined, key);
        expect(() => (inside ? once(db, bound) : once(bound))).toThrow(PROMISE);
        if (inside) db.exec('COMMIT');
        expect(end().failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
        expect([paid(key), rowsOf(key)]).toEqual([0, 0]);
      }
    });

    test('and keeps neither row nor writes of work that failed, also if its error is caught', async () => {
      const [store, key] = [storeOn(db), newKey()];
      const { once, end } = await attempt(store, key);
      db.exec('BEGIN');
      pay(db, `before ${key}`);
      const failing = () =>
        once(db, () => {
          pay(db, key);
          throw new Error('half done');
        });
      expect(failing).toThrow('half done');
      db.exec('COMMIT');
      expect([paid(`before ${key}`), paid(key), rowsOf(key)]).toEqual([1, 0, 0]);
      expect(end().failure).toMatchObject({ message: 'half done' });
    });

    test('and writes again after work that has committed by itself, and then failed', async () => {
      const [store, key] = [storeOn(db), newKey()];
      const { once } = await attempt(store, key);
      const failing = () =>
        once(() => {
          db.exec('COMMIT');
          throw new Error('after its own commit');
        });
      expect(failing).toThrow('after its own commit');
      expect(rowsOf(key)).toBe(0);
      await new Promise((resolve) => setTimeout(resolve, 5));
      (await attempt(store, key)).once(() => pay(db, key));
      expect([paid(key), rowsOf(key)]).toEqual([1, 1]);
    });

    test('and refuses a second call in a run, a call in a call, and one after its handler', async () => {
      const [store, key] = [storeOn(db), newKey()];
      const { once, end } = await attempt(store, key);
      once(() => pay(db, key));
      expect(() => once(() => pay(db, key))).toThrow('called again in one run');
      end();
      expect(() => once(() => pay(db, key))).toThrow('after its handler had ended');
      const nested = await attempt(store, `${key}-nested`);
      expect(() => nested.once(() => nested.once(() => {}))).toThrow('called again in one run');
      expect([paid(key), rowsOf(`${key}-nested`)]).toEqual([1, 0]);
    });

    test('and refuses a database without a transaction, a path, and once(work) inside of one', async () => {
      const [store, key] = [storeOn(db), newKey()];
      const { once, end } = await attempt(store, key);
      expect(() => once(db, () => pay(db, key))).toThrow('no open transaction');
      expect(() => once('shop.db' as never, () => pay(db, key))).toThrow('once() was given "shop.db".');
      db.exec('BEGIN');
      expect(() => once(() => pay(db, key))).toThrow('once(work) was called while a transaction is open');
      db.exec('ROLLBACK');
      expect([paid(key), rowsOf(key)]).toEqual([0, 0]);
      expect(end().failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    });
  });

  describe('a transaction that the user has left open on the connection', () => {
    test('refuses a claim, which would be rolled back with it, and says so', async () => {
      const [store, key] = [storeOn(db), newKey()];
      db.exec('BEGIN');
      const refused = await Promise.resolve(store.claim(key, request)).catch(inWords);
      db.exec('ROLLBACK');
      expect(refused).toContain('A transaction is open on the connection of SQLite.');
      granted(await store.claim(key, request));
    });

    test('holds a completion back until it ends', async () => {
      const [store, key] = [storeOn(db), newKey()];
      const claim = granted(await store.claim(key, request));
      db.exec('BEGIN');
      const completing = claim.complete();
      await new Promise((resolve) => setTimeout(resolve, 20));
      db.exec('ROLLBACK');
      expect(await completing).toBe(true);
      expect((await store.claim(key, request)).status).toBe('completed');
    });

    test('refuses to complete an event whose writes are in it', async () => {
      const [store, key] = [storeOn(db), newKey()];
      const { claim, once } = await attempt(store, key);
      db.exec('BEGIN');
      once(db, () => pay(db, key));
      await expect(Promise.resolve(claim.complete())).rejects.toThrow('A transaction is open');
      db.exec('ROLLBACK');
      expect(await claim.complete()).toEqual({ uncommitted: ['pay'] });
    });
  });

  test('fails with SQLITE_BUSY while another connection keeps the lock, and then claims', async () => {
    const [store, other, key] = [storeOn(db), connect(), newKey()];
    const { once } = await attempt(store, key);
    other.exec('BEGIN IMMEDIATE');
    await expect(Promise.resolve(store.claim(newKey(), request))).rejects.toMatchObject(LOCKED);
    await expect(Promise.resolve(store.ping?.())).rejects.toMatchObject(LOCKED);
    expect(() => once(() => pay(db, key))).toThrow(expect.objectContaining(LOCKED));
    other.exec('ROLLBACK');
    once(() => pay(db, key));
    expect([paid(key), rowsOf(key)]).toEqual([1, 1]);
    await store.ping?.();
  }, 20_000);

  test('prunes more than a batch, and lets other work run in between', async () => {
    const store = storeOn(connect(':memory:'), { retention: 1 });
    await store.migrate();
    expect(await store.prune()).toBe(0);
    const { client } = sqliteDatabase(opened.at(-1) as Sqlite);
    client.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
      INSERT INTO webhook_event SELECT 'k' || i, 't', 1, '[]', '', 0, 1, 1 FROM n`);
    let turns = 0;
    const count = () => {
      turns += 1;
      turning = setImmediate(count);
    };
    let turning = setImmediate(count);
    expect(await store.prune()).toBe(2_500);
    clearImmediate(turning);
    expect(turns).toBeGreaterThanOrEqual(2);
    expect(client.prepare('SELECT key FROM webhook_event').all()).toEqual([]);
  });

  test('ping() tells a missing table and a key that ignores case, and changes nothing', async () => {
    const memory = connect(':memory:');
    const store = storeOn(memory);
    await expect(Promise.resolve(store.ping?.())).rejects.toMatchObject({
      message: expect.stringContaining('no such table'),
    });
    await store.migrate();
    await store.ping?.();
    expect(memory.prepare('SELECT total_changes() AS changes').all()).toEqual([{ changes: 0 }]);
    memory.exec('DROP TABLE webhook_event');
    const [ddl = ''] = (await ddlOf(db)) as string[];
    memory.exec(ddl.replace('TEXT NOT NULL PRIMARY KEY', 'TEXT NOT NULL COLLATE NOCASE PRIMARY KEY'));
    await expect(Promise.resolve(store.ping?.())).rejects.toThrow(
      'treats the ids of different events as equal',
    );
    const first = granted(await store.claim('live:a', { ...request, leaseMs: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(Promise.resolve(store.claim('live:A', request))).rejects.toThrow('as equal');
    expect(await first.complete()).toBe(true);
  });

  const ddlOf = async (of: Sqlite) =>
    (of.prepare("SELECT sql FROM sqlite_master WHERE name = 'webhook_event'").all() as { sql: string }[]).map(
      ({ sql }) => sql,
    );

  test('docs/sql/webhook-event.sqlite.sql creates what migrate() does', async () => {
    const [migrated, byHand] = [connect(':memory:'), connect(':memory:')];
    await storeOn(migrated).migrate();
    byHand.exec(readFileSync(join(__dirname, '../../docs/sql/webhook-event.sqlite.sql'), 'utf8'));
    const all = (of: Sqlite) => of.prepare('SELECT sql FROM sqlite_master ORDER BY name').all();
    expect(all(byHand)).toEqual(all(migrated));
    expect(all(byHand)).toHaveLength(2);
  });

  test('refuses a SQLite that does not know the clock of a claim', async () => {
    const right = sqliteDatabase(connect(':memory:'));
    // As before 3.42, which answers an unknown modifier with null.
    const query: typeof right.query = (client, sql, values) =>
      right.query(client, sql.replaceAll("'subsec'", "'subsex'"), values);
    const store = sqlStore({ ...right, query });
    await expect(store.migrate()).rejects.toThrow('This SQLite is older than 3.42');
  });

  test('refuses a synchronous transaction with a query that returns promises, and writes nothing', async () => {
    const database = sqliteDatabase(db);
    const query = async (...call: Parameters<typeof database.query>) => database.query(...call);
    const [store, key] = [sqlStore({ ...database, query }), newKey()];
    const { once } = await attempt(store, key);
    expect(() => once(() => pay(db, key))).toThrow('query returned a promise');
    expect([paid(key), rowsOf(key)]).toEqual([0, 0]);
    // Nothing was left open.
    (await attempt(storeOn(db), newKey())).once(() => pay(db, key));
    expect(paid(key)).toBe(1);
  });

  test('refuses a table in an attached file, because a commit to both is not atomic', () => {
    expect(() => sqlStore({ ...sqliteDatabase(db), table: 'other.webhook_event' })).toThrow(
      'table is "other.webhook_event". Pass a name without a schema',
    );
  });

  describe('by a client that answers with promises', () => {
    let asynchronous: ReturnType<typeof overTwoSqlite>;
    beforeAll(() => {
      asynchronous = overTwoSqlite(connect(), db);
    });

    test('once() is asynchronous, and writes once', async () => {
      const [store, key] = [sqlStore(asynchronous), newKey()];
      const first = granted(await store.claim(key, { ...request, leaseMs: 1 }));
      const value = await first.forHandler?.('pay').context.once(async () => [pay(db, key)].length);
      expect([value, paid(key), rowsOf(key)]).toEqual([1, 1, 1]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      const second = granted(await store.claim(key, request));
      expect(await second.forHandler?.('pay').context.once(() => pay(db, key))).toBeUndefined();
      expect([await second.complete(), paid(key)]).toEqual([true, 1]);
      const third = granted(await store.claim(newKey(), request)).forHandler?.('pay');
      await expect(third?.context.once({}, () => {})).rejects.toThrow('no open transaction');
    });

    test('has no once() without transactions, such as D1', async () => {
      const { transaction: _, ...d1 } = asynchronous;
      const claim = granted(await sqlStore(d1).claim(newKey(), request));
      expect(claim.forHandler).toBeUndefined();
    });
  });
});
