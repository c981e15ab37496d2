// SQLite that is locked, full, read-only, damaged or without its table: what a claim throws, what the log says, and that it recovers.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { sqliteDatabase, sqlStore } from 'payment-webhooks/stores/sql';
import { describeThrown } from '../../src/claims/describe-thrown.js';
import { EACH_SQLITE, type Sqlite, sqliteFile } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { granted } from './worlds.js';

const request = { leaseMs: 60_000, fingerprint: 'a'.repeat(12) };

needing('SQLite').describe.each(EACH_SQLITE)('a store on SQLite by %s', (_, open) => {
  const ends: (() => unknown)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0).reverse()) end();
  });

  function onFile({ file, remove } = sqliteFile()) {
    const connect = () => {
      const db = open(file);
      ends.push(() => db.close());
      return db;
    };
    ends.push(remove);
    const db = connect();
    return { file, connect, db, store: sqlStore(sqliteDatabase(db)) };
  }
  const claimLong = (store: ReturnType<typeof onFile>['store'], times: number) =>
    Promise.all(
      Array.from({ length: times }, (_, n) => store.claim(`live:${n}:${'k'.repeat(500)}`, request)),
    );

  interface Fault {
    break(db: Sqlite, opened: ReturnType<typeof onFile>): void;
    fix?(db: Sqlite): void;
  }
  let other: Sqlite | undefined;
  const FAULTS: readonly (readonly [does: string, code: string, cure: string, fault: Fault])[] = [
    [
      'is locked by another connection',
      'SQLITE_BUSY',
      'Another connection keeps the lock',
      {
        break: (_, { connect }) => {
          other = connect();
          other.exec('BEGIN IMMEDIATE');
        },
        fix: () => other?.exec('ROLLBACK'),
      },
    ],
    [
      'has no room left',
      'SQLITE_FULL',
      'The disk is full: free space.',
      {
        break: (db) => void db.prepare('PRAGMA max_page_count = 1').all(),
        fix: (db) => void db.prepare('PRAGMA max_page_count = 100000').all(),
      },
    ],
    [
      'is read-only',
      'SQLITE_READONLY',
      'is read-only: let the user of the process write',
      {
        break: (db) => db.exec('PRAGMA query_only = ON'),
        fix: (db) => db.exec('PRAGMA query_only = OFF'),
      },
    ],
    [
      'has no table',
      'SQLITE_ERROR',
      'The table does not exist: call store.migrate().',
      { break: (db) => db.exec('DROP TABLE webhook_event') },
    ],
  ];
  test.each(FAULTS)(
    'that %s says so, and claims again afterwards',
    async (_, code, cure, fault) => {
      const opened = onFile();
      const { store, db } = opened;
      await store.migrate();
      await claimLong(store, 1);
      fault.break(db, opened);
      const thrown = await claimLong(store, 100).catch((error: unknown) => error);
      const described = describeThrown(thrown, 'store');
      expect(described.code).toMatch(new RegExp(`^${code}`));
      expect(described.message).toContain(cure);
      if (fault.fix) fault.fix(db);
      else await store.migrate();
      granted(await store.claim('live:after', request));
      await store.ping?.();
    },
    30_000,
  );

  test.each([
    ['is no database', 'SQLITE_NOTADB', 0],
    ['has damaged pages', 'SQLITE_CORRUPT', 100],
  ])('whose file %s says so', async (_, code, from) => {
    const { file, remove } = sqliteFile();
    const first = open(file);
    first.exec('PRAGMA page_size = 4096; CREATE TABLE other (n TEXT)');
    await sqlStore(sqliteDatabase(first)).migrate();
    first.exec('PRAGMA journal_mode = DELETE');
    first.close();
    const bytes = readFileSync(file);
    bytes.fill(0x5a, from);
    writeFileSync(file, bytes);
    const { store } = onFile({ file, remove });
    const thrown = await Promise.resolve(store.claim('live:a', request)).catch((error: unknown) => error);
    const described = describeThrown(thrown, 'store');
    expect([described.code, described.message]).toEqual([
      expect.stringMatching(new RegExp(`^${code}`)),
      expect.stringContaining('The file of SQLite is damaged'),
    ]);
  });
});

test('the log names the errors of D1 by the end of their messages', () => {
  const thrown = new Error('D1_ERROR: no such table: webhook_event: SQLITE_ERROR');
  expect(describeThrown(thrown, 'store')).toEqual({
    code: 'SQLITE_ERROR',
    message: 'It threw SQLITE_ERROR. The table does not exist: call store.migrate().',
  });
  expect(describeThrown(new Error('x: SQLITE_ERROR'), 'store').code).toBeUndefined();
});
