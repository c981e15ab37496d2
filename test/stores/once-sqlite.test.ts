// once() in SQLite where its row and its writes are not one commit: a second file, and a transaction that ends before its work.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type OnceSync,
  type SqlDatabase,
  sqliteDatabase,
  sqliteInbox,
  sqlStore,
} from 'payment-webhooks/stores/sql';
import { startReceiver } from '../setup/endpoint.js';
import { EACH_SQLITE, type Sqlite, sqliteFile } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { overTwoSqlite } from '../setup/sql-clients.js';
import { granted } from './worlds.js';

const misuse = { code: 'CONFIGURATION_INVALID' };

needing('SQLite').describe.each(EACH_SQLITE)('once() in SQLite by %s', (_, open) => {
  const ends: (() => unknown)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0).reverse()) end();
  });
  let file: string;
  let db: Sqlite;
  const connect = () => {
    const opened = open(file);
    ends.push(() => opened.close());
    return opened;
  };
  beforeEach(async () => {
    const folder = sqliteFile();
    file = folder.file;
    ends.push(folder.remove);
    db = connect();
    await sqlStore(sqliteDatabase(db)).migrate();
    db.exec('CREATE TABLE paid (event TEXT)');
  });

  const pay = (event: string) => db.prepare('INSERT INTO paid VALUES (?)').run(event);
  const paid = () => db.prepare('SELECT event FROM paid').all().length;
  const rows = () => db.prepare("SELECT key FROM webhook_event WHERE key LIKE '% pay'").all().length;
  const attach = () => db.exec(`ATTACH ':memory:' AS scratch; ATTACH '${file}.books' AS books`);
  const ATTACHED = 'with the attached file "books"';

  async function attempt(database: SqlDatabase<object> | ReturnType<typeof sqliteDatabase<Sqlite>>) {
    const claimed = await sqlStore(database as SqlDatabase<object>).claim('default:live:a', {
      leaseMs: 1,
      fingerprint: 'a'.repeat(12),
    });
    const handler = granted(claimed).forHandler?.('pay');
    if (!handler) throw new Error('no once');
    return { once: handler.context.once, failure: () => handler.end(() => {}).failure };
  }
  async function attemptAtOnce() {
    const { once, failure } = await attempt(sqliteDatabase(db));
    return { once: once as unknown as OnceSync<Sqlite>, failure };
  }
  const leaseEnds = () => new Promise((resolve) => setTimeout(resolve, 5));

  /** A table whose error rolls back, as a full disk does. */
  const ROLLS_BACK = 'CREATE TABLE code (n TEXT UNIQUE ON CONFLICT ROLLBACK); INSERT INTO code VALUES (1)';
  const CONFLICT = 'INSERT INTO code VALUES (1)';

  describe.each(['once(work)', 'once(db, work)'])('%s', (form) => {
    const call = (once: OnceSync<Sqlite>, work: () => unknown) => {
      if (form === 'once(work)') return once(work);
      db.exec('BEGIN');
      return once(db, work);
    };

    test('refuses a connection with an attached file before it writes', async () => {
      attach();
      const { once, failure } = await attemptAtOnce();
      expect(() => call(once, () => pay('a'))).toThrow(ATTACHED);
      if (form !== 'once(work)') db.exec('COMMIT');
      expect(failure()).toMatchObject(misuse);
      expect([paid(), rows()]).toEqual([0, 0]);
    });

    test('refuses work that catches the error with which SQLite has rolled back', async () => {
      db.exec(ROLLS_BACK);
      const { once, failure } = await attemptAtOnce();
      const work = () => {
        pay('a');
        expect(() => db.exec(CONFLICT)).toThrow('UNIQUE');
      };
      expect(() => call(once, work)).toThrow('Let the errors of statements reach once()');
      expect(failure()).toMatchObject(misuse);
      expect([paid(), rows()]).toEqual([0, 0]);
    });

    test('keeps the row of work that has committed by itself, so that a retry does not write again', async () => {
      const work = () => {
        pay('a');
        db.exec('COMMIT');
      };
      const { once } = await attemptAtOnce();
      expect(() => call(once, work)).toThrow('do not end its transaction');
      await leaseEnds();
      (await attemptAtOnce()).once(work);
      expect([paid(), rows()]).toEqual([1, 1]);
    });
  });

  test('accepts a connection with attached memory', async () => {
    attach();
    db.exec('DETACH books');
    (await attemptAtOnce()).once(() => pay('a'));
    expect([paid(), rows()]).toEqual([1, 1]);
  });

  test.each<[string, () => unknown, string]>([
    ['has an attached file', () => attach(), 'SELECT 1'],
    ['catches an error that rolled back', () => db.exec(ROLLS_BACK), CONFLICT],
  ])('that %s is answered 500, also if the handler catches what it throws', async (_does, set, inside) => {
    set();
    const { hooks, post } = startReceiver({ inbox: sqliteInbox(db), redrive: false, handlers: {} });
    const caught = (work: () => unknown) => {
      try {
        work();
      } catch {}
    };
    hooks.on(
      'transaction.paid',
      ({ id }, context) => {
        const { once } = context as unknown as { once(work: () => unknown): unknown };
        const work = () => {
          pay(id);
          caught(() => db.exec(inside));
        };
        caught(() => once(work));
      },
      { name: 'pay' },
    );
    expect(await post()).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
    expect(paid()).toBe(0);
  });

  describe('by a client that answers with promises', () => {
    test.each(['once(work)', 'once(tx, work)'])(
      '%s refuses a connection with an attached file',
      async (form) => {
        attach();
        const database = overTwoSqlite(connect(), db);
        const { once, failure } = await attempt(database);
        const calls: number[] = [];
        const work = async () => void calls.push(1);
        const { transaction } = database;
        const called =
          form === 'once(work)' ? once(work) : transaction(async (tx) => void (await once(tx, work)));
        await expect(called).rejects.toThrow(ATTACHED);
        expect(failure()).toMatchObject(misuse);
        expect([calls, rows()]).toEqual([[], 0]);
      },
    );
  });
});
