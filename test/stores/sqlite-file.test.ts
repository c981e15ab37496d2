// A file of SQLite and its surroundings: the disk, other connections, the event loop, and somebody who deletes it.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { sqliteInbox } from 'payment-webhooks/stores/sql';
import { bundleTo } from '../setup/bundle.js';
import { delivery } from '../setup/delivery.js';
import { duplicate, processed, startReceiver } from '../setup/endpoint.js';
import { EACH_SQLITE, type Sqlite, sqliteFile } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { ROOT } from '../setup/shell.js';
import { gate, until } from '../setup/waiting.js';

needing('SQLite').describe.each(EACH_SQLITE)('an inbox in a file of SQLite by %s', (_, open) => {
  const ends: (() => unknown)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0).reverse()) end();
  });
  const connect = (file: string): Sqlite => {
    const db = open(file);
    ends.push(() => db.close());
    return db;
  };
  const newFile = () => {
    const { file, remove } = sqliteFile();
    ends.push(remove);
    return file;
  };
  const receiving = (db: Sqlite, options: Parameters<typeof startReceiver>[0] = {}) =>
    startReceiver({ inbox: sqliteInbox(db), redrive: false, maxInFlight: 200, ...options });

  /** How long the event loop stood still at a time. */
  async function longestBlock(work: () => Promise<unknown>): Promise<number> {
    const delays = monitorEventLoopDelay({ resolution: 5 });
    delays.enable();
    // The first tick only starts the clock.
    await pause(50);
    await work();
    delays.disable();
    return delays.max / 1e6;
  }
  const MOST_MS = 3_000;

  describe('that another connection has locked', () => {
    test('blocks the event loop for one try at a time, however many deliveries wait', async () => {
      const file = newFile();
      const [db, other] = [connect(file), connect(file)];
      const hooks = receiving(db, { storeTimeout: 30_000, lease: 60_000 });
      expect(await hooks.post()).toMatchObject(processed);
      other.exec('BEGIN IMMEDIATE');
      const events = Array.from({ length: 100 }, () => delivery());
      let answers: unknown[] = [];
      const blocked = await longestBlock(async () => {
        answers = await Promise.all(events.map(hooks.post));
      });
      expect(answers).toMatchObject(events.map(() => ({ status: 503, body: { code: 'STORE_UNAVAILABLE' } })));
      // A hundred tries in a row took ten seconds.
      expect(blocked).toBeLessThan(MOST_MS);
      other.exec('ROLLBACK');
      expect(await Promise.all(events.map(hooks.post))).toMatchObject(events.map(() => processed));
    }, 30_000);

    test('lets one once() wait, and fails the others at once, which then write once on the retry', async () => {
      const file = newFile();
      const [db, other] = [connect(file), connect(file)];
      db.exec('CREATE TABLE paid (event TEXT) STRICT');
      const [allHere, goOn] = [gate(), gate()];
      const events = Array.from({ length: 100 }, () => delivery());
      let here = 0;
      // What could not be released is free again after the lease.
      const { hooks, post } = receiving(db, { handlers: {}, lease: 5_000, timeout: 20_000 });
      hooks.on(
        'transaction.paid',
        async ({ id }, context) => {
          here += 1;
          if (here === events.length) allHere.open();
          await goOn.opened;
          const { once } = context as unknown as { once(work: () => unknown): unknown };
          once(() => db.prepare('INSERT INTO paid VALUES (?)').run(id));
        },
        { name: 'pay' },
      );
      const posted = events.map(post);
      await allHere.opened;
      other.exec('BEGIN IMMEDIATE');
      const blocked = await longestBlock(async () => {
        goOn.open();
        await Promise.all(posted);
      });
      for (const answer of await Promise.all(posted)) expect([500, 503]).toContain(answer.status);
      // Five waits of each took fifty seconds.
      expect(blocked).toBeLessThan(MOST_MS);
      other.exec('ROLLBACK');
      await until(async () => (await Promise.all(events.map(post))).every(({ status }) => status === 200));
      expect(db.prepare('SELECT DISTINCT event FROM paid').all()).toHaveLength(events.length);
      expect(db.prepare('SELECT event FROM paid').all()).toHaveLength(events.length);
    }, 60_000);
  });

  test('whose reader stays open is answered all the same; the -wal file grows until the reader ends', async () => {
    const file = newFile();
    const [db, reader] = [connect(file), connect(file)];
    const hooks = receiving(db);
    const size = () => statSync(`${file}-wal`).size;
    const deliver = async (batches: number) => {
      for (let batch = 0; batch < batches; batch += 1)
        expect(await Promise.all(Array.from({ length: 50 }, () => hooks.post()))).toMatchObject(
          Array.from({ length: 50 }, () => processed),
        );
    };
    await deliver(1);
    db.exec('PRAGMA wal_autocheckpoint = 50');
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM webhook_event').all();
    await deliver(4);
    const open = size();
    await deliver(4);
    const longer = size();
    reader.exec('COMMIT');
    await deliver(8);
    // The file is written from its beginning again.
    const grown = longer - open;
    expect(grown).toBeGreaterThan(50 * 4096);
    expect(size()).toBeLessThan(longer + grown);
  }, 60_000);

  test('that is deleted goes on in what is left of it, and the next start has forgotten everything', async () => {
    const file = newFile();
    const hooks = receiving(connect(file));
    const event = delivery();
    expect(await hooks.post(event)).toMatchObject(processed);
    for (const part of ['', '-wal', '-shm']) rmSync(file + part);
    expect(await hooks.post(event)).toMatchObject(duplicate);
    expect(await hooks.post()).toMatchObject(processed);
    const next = receiving(connect(file));
    expect(await next.post(event)).toMatchObject(processed);
    expect(await next.post(event)).toMatchObject(duplicate);
  });
});

needing('SQLite', 'strace').describe('the disk', () => {
  const EVENTS = 50;
  const fsyncs = (...setting: string[]) => {
    const { file, remove } = sqliteFile();
    const [program, calls] = [`${file}.mjs`, `${file}.calls`];
    bundleTo(join(__dirname, 'sqlite-commits.ts'), program);
    const traced = ['-f', '-qq', '--trace=fsync,fdatasync', '-o', calls, process.execPath, program, file];
    const { stdout } = spawnSync('strace', [...traced, String(EVENTS), ...setting], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect(stdout).toBe('completed\n');
    const count = readFileSync(calls, 'utf8').match(/\bf(?:data)?sync\(/g)?.length ?? 0;
    remove();
    return count;
  };

  test('has each claim and each completion before the next begins, and would not with synchronous = NORMAL', () => {
    const [durable, normal] = [fsyncs(), fsyncs('NORMAL')];
    // Those of the tables, before the events.
    expect(normal).toBeLessThan(20);
    expect(durable - normal).toBe(2 * EVENTS);
  }, 120_000);
});
