// `once` on MariaDB, as text and prepared: what every database keeps, and what only this one can do wrong.
import { describe, expect, test } from '@jest/globals';
import type { PoolConnection } from 'mysql2/promise';
import { sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';
import { aLetter, queryOf } from '../setup/letters.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { overMysql2 } from '../setup/sql-clients.js';
import { until } from '../setup/waiting.js';
import { attemptsIn, FORMS, request, writesOnce } from './once.js';
import { overlapsAsPromised, survivesFaults } from './once-faults.js';
import { granted, mariadbWorld, type Opened, ownWorld } from './worlds.js';

/** The words that MySQL 8 reserves, and MariaDB in part. Those with an underscore name no column here. */
const RESERVED = new Set(
  `accessible add all alter analyze and as asc asensitive before between bigint binary blob both by call
  cascade case change char character check collate column condition constraint continue convert create cross
  cube cursor database databases dec decimal declare default delayed delete desc describe deterministic
  distinct distinctrow div double drop dual each else elseif empty enclosed escaped except exists exit explain
  false fetch float for force foreign from fulltext function generated get grant group grouping groups having
  if ignore in index infile inner inout insensitive insert int integer intersect interval into is iterate join
  key keys kill lag lateral lead leading leave left like limit linear lines load localtime localtimestamp lock
  long longblob longtext loop manual match maxvalue mediumblob mediumint mediumtext middleint mod modifies
  natural not ntile null numeric of on optimize option optionally or order out outer outfile over parallel
  partition precision primary procedure purge qualify range rank read reads real recursive references regexp
  release rename repeat replace require resignal restrict return revoke right rlike row rows schema schemas
  select sensitive separator set show signal smallint spatial specific sql sqlexception sqlstate sqlwarning
  ssl starting stored system table tablesample terminated then tinyblob tinyint tinytext to trailing trigger
  true undo union unique unlock unsigned update usage use using values varbinary varchar varcharacter varying
  virtual when where while window with write xor zerofill`.split(/\s+/),
);

withMariadb('once, on MariaDB', () => {
  const mariadb = ownMariadb(['--max-connections=500']);
  describe.each(['query', 'execute'] as const)('through %s of mysql2', (verb) => {
    const world = ownWorld(() => mariadbWorld(mariadb, verb));
    writesOnce(world);
    survivesFaults(world);
    overlapsAsPromised(world);
    const { attempt, newKey, rowOf, paying, crashed, writing } = attemptsIn(world);

    test.each(FORMS)('%s writes once if its connection breaks in the middle of the commit', async (form) => {
      const [opened, key] = [world.open(), newKey()];
      const gatekeeper = await mariadb.pool().getConnection();
      const next = await crashed(opened, key, async (first) => {
        let id = '';
        const broken = writing(form)(opened, first, async (tx) => {
          await paying(key)(tx);
          id = String((tx as PoolConnection).threadId);
          await gatekeeper.query('BACKUP STAGE START');
          await gatekeeper.query('BACKUP STAGE BLOCK_COMMIT');
        });
        const failed = expect(broken).rejects.toThrow();
        const ofCommit = 'SELECT INFO AS info FROM information_schema.PROCESSLIST WHERE ID = ?';
        const processes = () => world.observe(ofCommit, [id]);
        await until(async () => (await processes())[0]?.info === 'COMMIT');
        await world.observe(`KILL ${id}`);
        await failed;
        await gatekeeper.query('BACKUP STAGE END');
        gatekeeper.release();
        await until(async () => (await processes()).length === 0);
      });
      // The server may have finished the commit, or undone it: of both writes, or of none.
      expect(await world.paid(key)).toBe(await rowOf(key));
      await writing(form)(opened, next, paying(key));
      expect([await world.paid(key), await next.claim.complete()]).toEqual([1, true]);
    });

    test.each(FORMS)(
      '%s commits nothing after a deadlock that the work swallowed, which undid everything',
      async (form) => {
        const rows = `${world.ledger}_rows_${form.length}`;
        await world.observe(`CREATE TABLE ${rows} (n int PRIMARY KEY, m int) ENGINE=InnoDB`);
        await world.observe(`INSERT INTO ${rows} SELECT seq, 0 FROM seq_1_to_100`);
        const [opened, key] = [world.open(), newKey()];
        const first = await attempt(opened, key);
        const failed = writing(form)(opened, first, async (tx) => {
          const send = world.sending(tx);
          await paying(key)(tx);
          await send(`UPDATE ${rows} SET m = 1 WHERE n = 1`);
          await opened.begin(async (other) => {
            const rival = world.sending(other);
            // Who has written less is rolled back.
            await rival(`UPDATE ${rows} SET m = 2 WHERE n > 1`);
            const waiting = rival(`UPDATE ${rows} SET m = 2 WHERE n = 1`);
            await expect(send(`UPDATE ${rows} SET m = 1 WHERE n = 2`)).rejects.toMatchObject({ errno: 1213 });
            await waiting;
          });
          await paying(key)(tx);
        });
        await expect(failed).rejects.toThrow('ended before its work did');
        expect(first.end().failure).toMatchObject({ name: 'StoreError' });
        await until(opened.idle);
        expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
      },
    );

    test('takes a connection without autocommit for a transaction, which the handler commits', async () => {
      const [opened, key] = [world.open(), newKey()];
      const pool = mariadb.pool({ connectionLimit: 1 });
      const connection = await pool.getConnection();
      await connection.query('SET autocommit = 0');
      const pay = () => world.pay(world.sending(connection), key);
      const next = await crashed(opened, key, async (first) => {
        await first.once(connection, pay);
        expect(await first.claim.complete()).toEqual({ uncommitted: ['pay'] });
        await connection.commit();
        expect(await rowOf(key)).toBe(1);
      });
      await next.once(connection, pay);
      await connection.commit();
      connection.release();
      expect([await world.paid(key), await next.claim.complete()]).toEqual([1, true]);
    });

    test('refuses a key that a lax server would cut', async () => {
      const first = await attempt(world.open(), newKey());
      const handler = first.claim.forHandler?.('h'.repeat(1_024));
      await expect(handler?.context.once(() => {})).rejects.toThrow(
        /with the name of a handler has \d+ bytes/,
      );
    });
  });

  test('names what to do where MySQL 8 prepares no savepoints, and writes nothing', async () => {
    const right = overMysql2(mariadb.pool());
    const refused = { code: 'ER_UNSUPPORTED_PS', errno: 1295 };
    const query: typeof right.query = (client, sql, values) =>
      sql.includes('SAVEPOINT')
        ? Promise.reject(Object.assign(new Error('This command is not supported'), refused))
        : right.query(client, sql, values);
    const store = sqlStore({ ...right, table: 'unprepared', query });
    await store.migrate();
    const handler = granted(await store.claim('a', request)).forHandler?.('pay');
    let ran = false;
    const writing = handler?.context.once(() => {
      ran = true;
    });
    await expect(writing).rejects.toThrow(
      'Let query() send text, such as query() of mysql2 instead of execute().',
    );
    expect([ran, await right.query(right.client, 'SELECT `key` FROM unprepared', [])]).toEqual([
      false,
      [{ key: Buffer.from('a') }],
    ]);
  });

  test('no column that is read has a name that MySQL 8 reserves', async () => {
    const right = overMysql2(mariadb.pool());
    const names = new Set<string>();
    const query: typeof right.query = (client, sql, values) => {
      for (const [, name = ''] of sql.matchAll(/\bAS (\w+)\b(?!\))/gi)) names.add(name.toLowerCase());
      return right.query(client, sql, values);
    };
    const database = { ...right, query };
    const letters = sqlDeadLetters({ ...database, table: 'reserved_letter' });
    const store = sqlStore({ ...database, table: 'reserved' });
    await Promise.all([store.migrate(), letters.migrate()]);
    const claim = granted(await store.claim('a', request));
    await claim.renew(request.leaseMs);
    await claim.forHandler?.('pay').context.once(() => {});
    await claim.complete();
    await granted(await store.claim('b', request)).release([]);
    await Promise.all([store.completedWith?.('a'), store.prune(), store.ping()]);
    const letter = aLetter();
    const [id, asked] = [await letters.keep(letter), queryOf(letter)];
    await Promise.all([letters.read(id), letters.list(asked, { limit: 1 }), letters.prune()]);
    await letters.countGroups?.(asked, { names: 1 });
    expect([...names]).toEqual(expect.arrayContaining(['mine', 'written', 'letterkey', 'oldest']));
    expect([...names].filter((name) => RESERVED.has(name))).toEqual([]);
  });
});

// From 11.6 on MariaDB detects conflicts by default, with error 1020.
withMariadb('once, on a MariaDB that detects conflicts with what a transaction has read', () => {
  const mariadb = ownMariadb(['--innodb-snapshot-isolation=ON']);
  const world = ownWorld(() => mariadbWorld(mariadb, 'query'));
  overlapsAsPromised(world);

  test('one of many claims wins also when every transaction is serializable', async () => {
    const { store, idle }: Opened = world.open({ max: 20, isolation: 'serializable' });
    const deliver = async () => {
      const result = await store.claim('many', request);
      return result.status === 'claimed' ? result.claim.complete() : result.status;
    };
    const outcomes = await Promise.all(Array.from({ length: 10 }, deliver));
    expect(outcomes.filter((outcome) => outcome === true)).toHaveLength(1);
    expect((await store.claim('many', request)).status).toBe('completed');
    await until(idle);
  });
});
