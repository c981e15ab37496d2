// Claims that are transactions of Postgres: what every database keeps, and what only this one can do wrong.
import { describe, expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { KEY, receivable } from '../setup/delivery.js';
import { needing } from '../setup/platform.js';
import { until } from '../setup/waiting.js';
import {
  claimed,
  fails,
  keepsTransactions,
  keepsTransactionsOverTime,
  request,
  startOwner,
  working,
} from './transactions.js';
import {
  failing,
  type Given,
  granted,
  grantedInTheEnd,
  ownWorld,
  postgresWorld,
  type Send,
  spyOnQueries,
  TRANSACTIONAL_ON_PG,
  withoutPatience,
} from './worlds.js';

needing('postgres').describe('a claim in a transaction, on Postgres', () => {
  describe.each(TRANSACTIONAL_ON_PG)('by %s', (named, by, config) => {
    const world = ownWorld(() => postgresWorld(by, config));

    keepsTransactions(world);
    keepsTransactionsOverTime(world, named);

    /** Whether a connection of this application is in `pg_sleep()`. */
    const sleeps = async (name: string) => {
      const sql = "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Timeout'";
      return (await world.observe(sql, [name])).length > 0;
    };

    test('a statement that failed and was swallowed rolls everything back', async () => {
      const { key, idle, claim, send } = await working(world);
      await send('SELECT 1 / 0').catch(() => {});
      expect(await claim.renew(30_000)).toBe(true);
      await expect(claim.complete()).rejects.toMatchObject({ code: '25P02' });
      await until(idle);
      expect([await world.paid(key), await world.known(key)]).toEqual([0, 0]);
    });

    test('a handler waits for locks as long as before, and the session is as it was', async () => {
      const options = { max: 1, options: '-c lock_timeout=7s', leaseMs: 12_345.6 };
      const { run, idle, claim, send } = await claimed(world, options);
      const shown = async (by = send) => [
        (await by('SHOW lock_timeout'))[0]?.lock_timeout,
        (await by('SHOW idle_in_transaction_session_timeout'))[0]?.idle_in_transaction_session_timeout,
      ];
      expect(await shown()).toEqual(['7s', '12596ms']);
      expect(await claim.renew(45_000)).toBe(true);
      expect(await shown()).toEqual(['7s', '45250ms']);
      expect(await claim.complete()).toBe(true);
      await until(idle);
      expect(await shown(run)).toEqual(['7s', '0']);
    });

    test('handlers that take turns undo nothing of one another with savepoints', async () => {
      const turn = { serial: ({ id }: { readonly id: string }) => id };
      const hooks = receiver<{}, Given>({ privateKey: KEY, store: world.open().store, logger: false });
      const first = async (send: Send) => {
        await send('SAVEPOINT mine');
        await send('SELECT 1 / 0').catch(() => {});
        await send('ROLLBACK TO SAVEPOINT mine');
      };
      for (const work of [first, (send: Send) => world.pay(send, 'in turn')])
        hooks.on('*', async (_, { transaction }) => void (await work(world.sending(transaction))), turn);
      expect(await hooks.receive(receivable())).toMatchObject({ status: 200 });
      expect(await world.paid('in turn')).toBe(1);
    });

    test.each([
      ['swallows an error, so that the commit fails,', 'SELECT 1 / 0'],
      ['ends the transaction', 'COMMIT'],
    ])('a handler that %s is never answered 200', async (_, statement) => {
      const hooks = receiver<{}, Given>({ privateKey: KEY, store: world.open().store, logger: false });
      hooks.on('*', async (_, { transaction }) => {
        const send = world.sending(transaction);
        await send(statement).catch(() => {});
      });
      const { status, body } = await hooks.receive(receivable());
      expect([status, JSON.parse(body).code]).toEqual([503, 'STORE_UNAVAILABLE']);
    });

    describe('when the commit fails', () => {
      test('because a constraint was deferred to it, nothing is written and every answer is the same', async () => {
        const table = `${world.schema}.deferred`;
        await world.observe(`CREATE TABLE ${table} (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`);
        const { key, idle, claim, send } = await claimed(world);
        await send(`INSERT INTO ${table} VALUES (1), (1)`);
        await expect(claim.complete()).rejects.toMatchObject({ code: '23505' });
        await expect(claim.complete()).rejects.toMatchObject({ code: '23505' });
        await until(idle);
        expect([await world.known(key), await claim.release([])]).toEqual([0, false]);
      });

      test('because Postgres answers it with ROLLBACK', async () => {
        const { store, key, pool, idle } = world.open();
        // A statement that fails between the mark and the COMMIT.
        spyOnQueries(pool, ({ text, query }, send) => {
          if (text.endsWith('COMMIT')) void query('SELECT 1 / 0').catch(() => {});
          return send();
        });
        const claim = granted(await store.claim(key, request));
        await world.pay(world.sending(claim.context.transaction), key);
        await expect(claim.complete()).rejects.toThrow(
          /answered COMMIT with ROLLBACK|are not committed|transaction is aborted/,
        );
        await until(idle);
        expect([await world.paid(key), await world.known(key)]).toEqual([0, 0]);
      });

      test('because the connection breaks in the middle of it', async () => {
        const slow = `${world.schema}.slow`;
        await world.observe(`
          CREATE TABLE ${slow} (n int);
          CREATE FUNCTION ${slow}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
          CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ${slow} DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION ${slow}()`);
        const { store, key, name, terminateAll, idle, claim, send } = await working(world);
        await send(`INSERT INTO ${slow} VALUES (1)`);
        const completing = expect(claim.complete()).rejects.toThrow(/terminat/);
        await until(() => sleeps(name));
        await terminateAll();
        await completing;
        await until(idle);
        expect([await world.paid(key), await world.known(key)]).toEqual([0, 0]);
        const next = granted(await store.claim(key, request));
        expect([next.attempt, await next.release([])]).toEqual([1, true]);
      });
    });

    describe('when the connection breaks', () => {
      test('while a handler waits for its own query', async () => {
        const { name, terminateAll, idle, claim, send } = await claimed(world);
        const query = expect(send('SELECT pg_sleep(60)')).rejects.toThrow(/terminat/);
        await until(() => sleeps(name));
        await terminateAll();
        await query;
        // The reply to the query may be here before the news that the connection is gone.
        await fails(() => claim.complete());
        await until(idle);
      });

      test('while a claim waits for another', async () => {
        const [{ store, key, terminateAll, idle }, elsewhere] = [world.open(), world.open()];
        const first = granted(await elsewhere.store.claim(key, request));
        const second = expect(store.claim(key, request)).rejects.toThrow(/terminat/);
        await until(async () => (await world.waiting()) > 0);
        await terminateAll();
        await second;
        await until(idle);
        expect(await first.complete()).toBe(true);
        expect((await store.claim(key, request)).status).toBe('completed');
      });
    });

    test('a process that hangs loses its event when its lease ends: the server ends the transaction', async () => {
      const { store, key } = world.open();
      const owner = await startOwner(world, { by: named, key, leaseMs: 500 });
      try {
        const next = await grantedInTheEnd(() => store.claim(key, request));
        expect([owner.exitCode, await next.complete(), await world.paid(key)]).toEqual([null, true, 0]);
      } finally {
        owner.kill('SIGKILL');
      }
    }, 60_000);

    test.each(['40001', '40P01'])('a claim that fails with %s is tried three times', async (code) => {
      const own = `${world.schema}.fails_${code.toLowerCase()}`;
      const { store, leased, idle } = world.open({ table: own });
      await leased().migrate();
      await failing(world, own, { code, times: 5 });
      await expect(store.claim('a', request)).rejects.toMatchObject({ code });
      expect(await granted(await store.claim('a', request)).complete()).toBe(true);
      await until(idle);
    });

    test('a claim for which the pool has no connection rejects, and the pool recovers', async () => {
      const { store, key, pool, claim } = await claimed(world, { max: 1 });
      await withoutPatience(pool, async () => {
        await expect(store.claim(`${key}:other`, request)).rejects.toThrow('timeout exceeded');
      });
      expect(await claim.complete()).toBe(true);
      expect((await store.claim(key, request)).status).toBe('completed');
      expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
    });
  });
});
