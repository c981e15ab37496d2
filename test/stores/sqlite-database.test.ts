// sqliteDatabase(): every driver, the settings that make its commits durable, and what it refuses.
import { afterAll, describe, expect, test } from '@jest/globals';
import { sqliteDatabase } from 'payment-webhooks/stores/sql';
import { EACH_SQLITE, type Sqlite, sqliteFile } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';

needing('SQLite').describe.each(EACH_SQLITE)('sqliteDatabase() of %s', (_, open) => {
  const { file, remove } = sqliteFile();
  const opened: Sqlite[] = [];
  const connect = (path = file) => {
    const db = open(path);
    opened.push(db);
    return db;
  };
  afterAll(() => {
    for (const db of opened) db.close();
    remove();
  });

  const settingsOf = (db: Sqlite) => ['journal_mode', 'synchronous'].map((name) => settingOf(db, name));
  const settingOf = (db: Sqlite, name: string) =>
    Object.values(db.prepare(`PRAGMA ${name}`).all()[0] as object)[0];

  test('sets WAL and FULL before the first statement, and keeps EXTRA', () => {
    const [db, careful] = [connect(), connect()];
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    careful.exec('PRAGMA synchronous = EXTRA');
    for (const each of [db, careful]) {
      const { query, client } = sqliteDatabase(each);
      expect(query(client, 'SELECT ? AS text', ['é'])).toEqual([{ text: 'é' }]);
    }
    expect([settingsOf(db), settingsOf(careful)]).toEqual([
      ['wal', 2],
      ['wal', 3],
    ]);
  });

  test('keeps FULL on a file that is new, whose first transaction would set what the driver was built with', () => {
    const { file: created, remove: removeIt } = sqliteFile();
    const db = connect(created);
    const { query, client } = sqliteDatabase(db);
    query(client, 'CREATE TABLE line (text TEXT)', []);
    query(client, 'INSERT INTO line VALUES (?)', ['a']);
    expect(settingsOf(db)).toEqual(['wal', 2]);
    removeIt();
  });

  describe('waits briefly for a lock, and leaves the app its own busy_timeout', () => {
    const OWN_MS = 4_000;
    const BRIEF_MS = 2_000;
    const setUp = (path = file) => {
      const [db, other] = [connect(path), connect(path)];
      db.exec(`PRAGMA busy_timeout = ${OWN_MS}`);
      const database = sqliteDatabase(db);
      const take = (sql: string) => database.query(db, sql, []);
      const locked = (call: () => unknown) => {
        other.exec('BEGIN IMMEDIATE');
        const startedAt = performance.now();
        expect(call).toThrow('locked');
        expect(performance.now() - startedAt).toBeLessThan(BRIEF_MS);
        other.exec('ROLLBACK');
      };
      return { db, database, take, locked, own: () => settingOf(db, 'busy_timeout') };
    };

    test('after a statement, and after one that throws', () => {
      const { take, locked, own } = setUp();
      take('CREATE TABLE wait (n INTEGER)');
      expect(own()).toBe(OWN_MS);
      expect(() => take('SELECT missing FROM wait')).toThrow('no such column');
      expect(own()).toBe(OWN_MS);
      locked(() => take('INSERT INTO wait VALUES (1)'));
      expect(own()).toBe(OWN_MS);
    });

    test('after the settings of a new file that is locked', () => {
      const { file: created, remove: removeIt } = sqliteFile();
      const { own, take, locked } = setUp(created);
      locked(() => take('SELECT 1 AS one'));
      expect(own()).toBe(OWN_MS);
      expect([take('SELECT 1 AS one'), own()]).toEqual([[{ one: 1 }], OWN_MS]);
      removeIt();
    });

    test('inside a transaction and after it, also while no call waits for the lock', () => {
      const { database, locked, own } = setUp();
      expect([database.transaction(own), own()]).toEqual([OWN_MS, OWN_MS]);
      for (let call = 0; call < 2; call += 1) {
        locked(() => database.transaction(() => {}));
        expect([database.transaction(own), own()]).toEqual([OWN_MS, OWN_MS]);
      }
    });

    test('also one that the app has changed since', () => {
      const { db, take, own } = setUp();
      db.exec('PRAGMA busy_timeout = 70');
      take('SELECT 1 AS one');
      expect(own()).toBe(70);
    });

    test('and reads while the app iterates over rows', () => {
      const { db, take } = setUp();
      take('SELECT 1 AS one');
      const each = db.prepare('SELECT 1 AS n UNION SELECT 2') as unknown as { iterate(): Iterable<unknown> };
      for (const _ of each.iterate()) expect(take('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
  });

  test('takes statements with and without rows', () => {
    const { query, client } = sqliteDatabase(connect());
    expect(query(client, 'CREATE TABLE IF NOT EXISTS line (text TEXT)', [])).toEqual([]);
    expect(query(client, 'INSERT INTO line VALUES (?) RETURNING text', ['a'])).toEqual([{ text: 'a' }]);
    expect(query(client, 'UPDATE line SET text = ?', [null])).toEqual([]);
    expect(query(client, 'SELECT text FROM line', [])).toEqual([{ text: null }]);
  });

  test('reads rows as objects, also if the database returns arrays', () => {
    type Arrays = { setReturnArrays?(on: boolean): void; raw?(on: boolean): void; reader?: boolean };
    const db = connect();
    // As node:sqlite has it from Node 24 on, and better-sqlite3 by another name.
    const prepare = (sql: string) => {
      const statement = db.prepare(sql) as ReturnType<Sqlite['prepare']> & Arrays;
      if (statement.reader) statement.setReturnArrays = (on) => statement.raw?.(on);
      statement.setReturnArrays?.(true);
      return statement;
    };
    const { query, client } = sqliteDatabase({ prepare, exec: db.exec.bind(db) });
    expect(query(client, 'SELECT ? AS text', ['é'])).toEqual([{ text: 'é' }]);
  });

  test('takes the database alone for once(), and says so to the transaction of an ORM', () => {
    const { query } = sqliteDatabase<object>(connect());
    expect(() => query({ run: () => {} }, 'BEGIN', [])).toThrow(
      'once() was given an object. Pass the database itself, also inside a transaction that it has begun: once(db, work).',
    );
  });

  test('knows whether a transaction is open', () => {
    const { inTransaction, client } = sqliteDatabase(connect());
    expect(inTransaction(client)).toBe(false);
    client.exec('BEGIN');
    expect(inTransaction(client)).toBe(true);
    client.exec('ROLLBACK');
    // As node:sqlite before 22.16, which has no property for it.
    const { prepare, exec } = client;
    const older = { prepare: prepare.bind(client), exec: exec.bind(client) };
    const asked = sqliteDatabase(older);
    expect(asked.inTransaction(older)).toBe(false);
    client.exec('BEGIN');
    expect(asked.inTransaction(older)).toBe(true);
    client.exec('ROLLBACK');
  });

  test('commits what its work returns from, rolls back what it throws from, and gives it the database', () => {
    const { transaction, client } = sqliteDatabase(connect());
    client.exec('CREATE TABLE IF NOT EXISTS paid (n INTEGER)');
    const pay = (db: Sqlite) => db.exec('INSERT INTO paid VALUES (1)');
    const undone = () =>
      transaction((db) => {
        pay(db);
        throw new Error('undone');
      });
    expect(undone).toThrow('undone');
    expect(transaction((db) => [pay(db)].length)).toBe(1);
    expect(client.prepare('SELECT n FROM paid').all()).toHaveLength(1);
  });

  test('reads a database of Drizzle by its $client', () => {
    const drizzle = { $client: connect(), run: () => {} };
    const { query, transaction } = sqliteDatabase(drizzle);
    expect(query(drizzle, 'SELECT 1 AS one', [])).toEqual([{ one: 1 }]);
    expect(transaction((db) => db === drizzle)).toBe(true);
  });

  test('refuses a file whose locking does not allow WAL', () => {
    const db = connect('');
    const { query, client } = sqliteDatabase(db);
    expect(() => query(client, 'SELECT 1', [])).toThrow('keeps journal_mode delete instead of WAL');
  });
});

describe('sqliteDatabase() refuses', () => {
  const callbacks = { prepare: () => ({ all: () => callbacks }), exec: () => callbacks };
  const promises = { prepare: async () => ({ all: async () => [] }), exec: async () => {} };
  const d1 = {
    prepare: () => ({ bind: () => {}, all: async () => ({ results: [] }) }),
    exec: async () => {},
  };
  test.each([
    ['a path', 'shop.db', '"shop.db"'],
    ['nothing', undefined, 'undefined'],
    ['an ORM without a driver', { $client: { execute: () => {} } }, 'an object'],
    ['a driver with callbacks', callbacks, 'an object'],
    ['a driver with promises', promises, 'an object'],
    ['D1', d1, 'an object'],
  ])('%s', (_, db, shown) => {
    expect(() => sqliteDatabase(db as object)).toThrow(
      `db is ${shown}, not a database of better-sqlite3, node:sqlite or bun:sqlite.`,
    );
  });
});
