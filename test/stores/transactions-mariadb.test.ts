// Claims that are transactions of MariaDB: what every database keeps, and what only this one can do wrong.
import { describe, expect, test } from '@jest/globals';
import type { PoolConnection } from 'mysql2/promise';
import { sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';
import { aLetter, queryOf } from '../setup/letters.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { leased, overMysql2 } from '../setup/sql-clients.js';
import { until } from '../setup/waiting.js';
import { claimed, keepsTransactions, keepsTransactionsOverTime, request, working } from './transactions.js';
import { granted, mariadbWorld, ownWorld, type Send } from './worlds.js';

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

const ENDED = 'A handler has ended the transaction of its delivery';

withMariadb('sqlStore with transactions, on MariaDB', () => {
  const mariadb = ownMariadb();

  describe.each(['query', 'execute'] as const)('through %s of mysql2', (verb) => {
    const world = ownWorld(() => mariadbWorld(mariadb, verb));

    keepsTransactions(world);
    // The two differ in how a statement travels.
    if (verb === 'execute') keepsTransactionsOverTime(world);

    test.each([
      ['CREATE TABLE', 'created (n int)'],
      ['ALTER TABLE', 'altered ADD m int'],
    ])('a handler ends the transaction by %s', async (verb, rest) => {
      await world.observe(`CREATE TABLE IF NOT EXISTS ${world.ledger}_altered (n int)`);
      const { claim, send } = await working(world);
      await send(`${verb} ${world.ledger}_${rest}`);
      await expect(claim.complete()).rejects.toThrow(ENDED);
    });

    test('a deadlock that a handler swallowed has rolled everything back', async () => {
      const rows = `${world.ledger}_rows`;
      await world.observe(`CREATE TABLE ${rows} (n int PRIMARY KEY, m int) ENGINE=InnoDB`);
      await world.observe(`INSERT INTO ${rows} SELECT seq, 0 FROM seq_1_to_100`);
      const { key, claim, send } = await working(world);
      const { claim: other, send: rival } = await claimed(world);
      await send(`UPDATE ${rows} SET m = 1 WHERE n = 1`);
      // Who has written less is rolled back.
      await rival(`UPDATE ${rows} SET m = 2 WHERE n > 1`);
      const waiting = rival(`UPDATE ${rows} SET m = 2 WHERE n = 1`);
      await expect(send(`UPDATE ${rows} SET m = 1 WHERE n = 2`)).rejects.toMatchObject({ errno: 1213 });
      await expect(claim.complete()).rejects.toThrow(ENDED);
      await waiting;
      expect(await other.complete()).toBe(true);
      expect([await world.paid(key), await world.known(key)]).toEqual([0, 0]);
      await world.observe(`DROP TABLE ${rows}`);
    });

    test('a lock that a handler waits for in vain undoes its statement, and is its error', async () => {
      const { key, claim } = await working(world);
      const { claim: second, send: impatient } = await claimed(world);
      await impatient('SET SESSION innodb_lock_wait_timeout = 1');
      const update = impatient(`UPDATE ${world.ledger} SET event = 'b' WHERE event = '${key}'`);
      await expect(update).rejects.toMatchObject({ errno: 1205 });
      await impatient('SET SESSION innodb_lock_wait_timeout = 50');
      expect([await second.release([]), await claim.complete()]).toEqual([true, true]);
    });

    test('a handler waits for locks as long as before, and so does the pool, also after a duplicate', async () => {
      const { store, key, idle, claim, send } = await claimed(world, { max: 2 });
      const wait = async (by: Send) => (await by('SELECT @@innodb_lock_wait_timeout AS wait'))[0]?.wait;
      expect(await wait(send)).toBe(50);
      expect((await store.claim(key, request)).status).toBe('in_progress');
      expect(await claim.complete()).toBe(true);
      await until(idle);
      for (let each = 0; each < 2; each += 1) {
        const next = granted(await store.claim(`${key}:${each}`, request));
        const other = granted(await store.claim(`${key}:other:${each}`, request));
        for (const { context } of [next, other])
          expect(await wait(world.sending(context.transaction))).toBe(50);
        await Promise.all([next.release([]), other.release([])]);
      }
    });

    test('a connection that breaks in the middle of the commit is not a success', async () => {
      const { store, key, claim } = await working(world);
      const { transaction } = claim.context;
      const gatekeeper = await mariadb.pool().getConnection();
      await gatekeeper.query('BACKUP STAGE START');
      await gatekeeper.query('BACKUP STAGE BLOCK_COMMIT');
      const completing = expect(claim.complete()).rejects.toThrow();
      const { threadId } = transaction as { threadId: number };
      const processes = () =>
        world.observe('SELECT INFO AS info FROM information_schema.PROCESSLIST WHERE ID = ?', [
          String(threadId),
        ]);
      await until(async () => (await processes())[0]?.info === 'COMMIT');
      await world.terminate(transaction);
      await completing;
      await gatekeeper.query('BACKUP STAGE END');
      gatekeeper.release();
      await until(async () => (await processes()).length === 0);
      // The server may have finished the commit, or undone it: of both writes, or of none.
      const written = await world.paid(key);
      expect([0, 1]).toContain(written);
      expect(await world.known(key)).toBe(written);
      const next = await store.claim(key, request);
      expect(next.status).toBe(written === 1 ? 'completed' : 'claimed');
      if (next.status === 'claimed') await next.claim.release([]);
    });
  });

  test('no column that is read has a name that MySQL 8 reserves', async () => {
    const right = overMysql2(mariadb.pool());
    const names = new Set<string>();
    const database: typeof right = {
      ...right,
      query: (client, sql, values) => {
        for (const [, name = ''] of sql.matchAll(/\bAS (\w+)\b(?!\))/gi)) names.add(name.toLowerCase());
        return right.query(client, sql, values);
      },
    };
    const letters = sqlDeadLetters({ ...database, table: 'reserved_letter' });
    const store = sqlStore({ ...database, table: 'reserved' });
    await Promise.all([store.migrate(), letters.migrate()]);
    const claim = granted(await store.claim('a', { ...request, deadLetters: letters }));
    await claim.renew(request.leaseMs);
    await claim.complete();
    const leasing = sqlStore({ ...leased(database), table: 'reserved' });
    await granted(await leasing.claim('b', request)).release([]);
    await Promise.all([leasing.completedWith?.('a'), store.prune(), store.ping()]);
    const letter = aLetter();
    const [id, query] = [await letters.keep(letter), queryOf(letter)];
    await Promise.all([letters.read(id), letters.list(query, { limit: 1 }), letters.prune()]);
    await letters.countGroups?.(query, { names: 1 });
    expect([...names]).toEqual(expect.arrayContaining(['mine', 'letterkey', 'oldest']));
    expect([...names].filter((name) => RESERVED.has(name))).toEqual([]);
  });

  test('where MySQL 8 prepares no savepoints, deliveries are completed all the same', async () => {
    const pool = mariadb.pool();
    const right = overMysql2(pool);
    const refused = { code: 'ER_UNSUPPORTED_PS', errno: 1295 };
    const store = sqlStore({
      ...right,
      table: 'unprepared',
      query: (client, sql, values) =>
        sql.includes('SAVEPOINT')
          ? Promise.reject(Object.assign(new Error('This command is not supported'), refused))
          : right.query(client, sql, values),
    });
    await store.migrate();
    const endedBy = async (statement: string) => {
      const claim = granted(await store.claim('a', request));
      await (claim.context.transaction as PoolConnection).query(statement);
      return claim;
    };
    const rolledBack = await endedBy('ROLLBACK');
    await expect(rolledBack.complete()).rejects.toThrow(ENDED);
    const claim = await endedBy('COMMIT');
    expect(await claim.complete()).toBe(true);
    expect((await store.claim('a', request)).status).toBe('completed');
  });

  // From 11.6 on MariaDB detects conflicts by default, with error 1020.
  const detecting = ownMariadb(['--innodb-snapshot-isolation=ON', '--transaction-isolation=SERIALIZABLE']);
  test('one of many wins also when every transaction is serializable', async () => {
    const { store, key, idle } = (await mariadbWorld(detecting, 'query')).open({ max: 20 });
    const deliver = async () => {
      const result = await store.claim(key, request);
      return result.status === 'claimed' ? result.claim.complete() : result.status;
    };
    const outcomes = await Promise.all(Array.from({ length: 10 }, deliver));
    expect(outcomes.sort()).toEqual([...Array.from({ length: 9 }, () => 'completed'), true]);
    await until(idle);
  });

  const strict = ownMariadb(['--innodb-rollback-on-timeout']);
  test('where a lock timeout rolls back everything, a handler that swallows it ends as a failure', async () => {
    // The claim is gone with the rest, so nothing may be remembered.
    const world = await mariadbWorld(strict, 'query');
    const { store, key, claim: first } = await working(world);
    expect((await store.claim(key, request)).status).toBe('in_progress');
    const { key: other, claim: second, send } = await working(world);
    await send('SET SESSION innodb_lock_wait_timeout = 1');
    const update = send(`UPDATE ${world.ledger} SET event = 'b' WHERE event = '${key}'`);
    await expect(update).rejects.toMatchObject({ errno: 1205 });
    await expect(second.complete()).rejects.toThrow(ENDED);
    expect([await first.complete(), await world.paid(other)]).toEqual([true, 0]);
  });
});
