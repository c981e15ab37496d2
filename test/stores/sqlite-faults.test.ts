// SQLite that is locked, full, read-only, damaged or in use: what a delivery is answered, what the log says, and that it recovers.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { sqliteDatabase, sqliteInbox, sqlStore } from 'payment-webhooks/stores/sql';
import { fixtures } from 'payment-webhooks/testing';
import { describeThrown } from '../../src/claims/describe-thrown.js';
import { delivery } from '../setup/delivery.js';
import { duplicate, processed, startReceiver } from '../setup/endpoint.js';
import { EACH_SQLITE, type Sqlite, sqliteFile } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';

const request = { leaseMs: 60_000, fingerprint: 'a'.repeat(12) };

needing('SQLite').describe.each(EACH_SQLITE)('an inbox in SQLite by %s', (_, open) => {
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
    const hooks = startReceiver({
      inbox: sqliteInbox(db),
      redrive: false,
      maxInFlight: 200,
      storeTimeout: 20_000,
      lease: 60_000,
    });
    return { connect, db, hooks };
  }
  interface Fault {
    break(db: Sqlite, opened: ReturnType<typeof onFile>): void;
    fix(db: Sqlite): void;
  }
  let other: Sqlite | undefined;
  const FAULTS: readonly (readonly [does: string, says: string, fault: Fault])[] = [
    [
      'is locked by another connection',
      'It threw SQLITE_BUSY. Another connection keeps the lock of the file:',
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
      'It threw SQLITE_FULL. The disk is full: free space.',
      {
        break: (db) => void db.prepare('PRAGMA max_page_count = 1').all(),
        fix: (db) => void db.prepare('PRAGMA max_page_count = 100000').all(),
      },
    ],
    [
      'is read-only',
      'It threw SQLITE_READONLY. The file of SQLite, its folder or its connection is read-only:',
      {
        break: (db) => db.exec('PRAGMA query_only = ON'),
        fix: (db) => db.exec('PRAGMA query_only = OFF'),
      },
    ],
    [
      'has a transaction open that the app has left',
      'A transaction is open on the connection of SQLite. End it before the next await',
      { break: (db) => db.exec('BEGIN'), fix: (db) => db.exec('ROLLBACK') },
    ],
  ];
  test.each(FAULTS)(
    'that %s says so, and loses and doubles nothing of a hundred deliveries',
    async (_, says, fault) => {
      const opened = onFile();
      const { db, hooks } = opened;
      expect(await hooks.post()).toMatchObject(processed);
      fault.break(db, opened);
      const events = Array.from({ length: 100 }, (_, n) =>
        delivery(fixtures.transactionPaid({ id: `${n}-${'e'.repeat(200)}` })),
      );
      const broken = await Promise.all(events.map(hooks.post));
      const refused = broken.filter(({ status }) => status !== 200);
      expect(refused.length).toBeGreaterThan(0);
      for (const answer of refused)
        expect(answer).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
      expect(hooks.log.lines.map(({ msg }) => msg)).toContainEqual(
        expect.stringContaining(`the store did not answer: ${says}`),
      );
      fault.fix(db);
      const repaired = await Promise.all(events.map(hooks.post));
      expect(repaired).toMatchObject(broken.map(({ status }) => (status === 200 ? duplicate : processed)));
      expect(new Set(hooks.handled).size).toBe(101);
      expect(hooks.handled).toHaveLength(101);
    },
    60_000,
  );

  test('without its table says what to call', async () => {
    const { db } = onFile();
    const thrown = await Promise.resolve(sqlStore(sqliteDatabase(db)).claim('live:a', request)).catch(
      (error: unknown) => error,
    );
    expect(describeThrown(thrown, 'store')).toMatchObject({
      code: expect.stringMatching(/^SQLITE_ERROR/),
      message: expect.stringContaining('The table does not exist: call store.migrate().'),
    });
  });

  test.each([
    ['is no database', 'SQLITE_NOTADB', 0],
    ['has damaged pages', 'SQLITE_CORRUPT', 100],
  ])('whose file %s says so, and remembers what the backup in its place does', async (_, code, from) => {
    const { file, remove } = sqliteFile();
    const first = open(file);
    first.exec('PRAGMA page_size = 4096; CREATE TABLE other (n TEXT)');
    const before = startReceiver({ inbox: sqliteInbox(first), redrive: false });
    const event = delivery();
    expect(await before.post(event)).toMatchObject(processed);
    first.exec(`VACUUM INTO '${file}.backup'; PRAGMA journal_mode = DELETE`);
    first.close();
    const bytes = readFileSync(file);
    bytes.fill(0x5a, from);
    writeFileSync(file, bytes);

    const damaged = open(file);
    const { post, log, handled } = startReceiver({ inbox: sqliteInbox(damaged), redrive: false });
    expect(await post(event)).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
    expect([handled, log.lines.map(({ msg }) => msg)]).toEqual([
      [],
      expect.arrayContaining([
        expect.stringMatching(
          `the store did not answer: It threw ${code}\\w*. The file of SQLite is damaged: stop the app`,
        ),
      ]),
    ]);
    damaged.close();
    copyFileSync(`${file}.backup`, file);
    const { hooks } = onFile({ file, remove });
    expect(await hooks.answers(event, delivery())).toEqual(['200 duplicate', '200 processed']);
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
