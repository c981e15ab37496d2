// `once` on Postgres, by both stores: what every database keeps, and what only this one can do wrong.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Pool, type PoolClient } from 'pg';
import { needing } from '../setup/platform.js';
import { type Service, startPgBouncer } from '../setup/services.js';
import { until } from '../setup/waiting.js';
import { attemptsIn, BRIEF, FORMS, writesOnce } from './once.js';
import { overlapsAsPromised, survivesFaults } from './once-faults.js';
import { startWire } from './postgres-wire.js';
import {
  BY_PG,
  connectionString,
  failing,
  ownWorld,
  postgresWorld,
  storeOnPg,
  withoutPatience,
} from './worlds.js';

/** Connections that are cut at the same time. */
const AT_ONCE = 8;

needing('postgres').describe('once, on Postgres', () => {
  describe.each(BY_PG)('by %s', (by) => {
    const world = ownWorld(() => postgresWorld(by));
    writesOnce(world);
    survivesFaults(world);
    overlapsAsPromised(world);
    const { attempt, newKey, rowOf, paying, crashed, writing } = attemptsIn(world);

    describe.each(FORMS)('%s', (form) => {
      const write = writing(form);

      test.each(['requests', 'replies'] as const)(
        'pays once when the connection breaks after any number of messages of its %s',
        async (way) => {
          const elsewhere = world.open({ max: AT_ONCE });
          /** Whether all was over before so many messages had passed. */
          const isOverAfter = async (messages: number) => {
            const wire = await startWire(connectionString);
            const opened = world.open({ max: 1, connectionString: wire.connectionString });
            await opened.run('SELECT 1');
            const key = newKey();
            wire.cutAfter(way, messages);
            const deliver = async () => {
              const each = await opened.store.claim(key, BRIEF);
              if (each.status !== 'claimed') return false;
              const handler = each.claim.forHandler?.('pay');
              if (!handler) return false;
              await write(
                opened,
                { ...each, once: handler.context.once, end: () => handler.end(() => {}) },
                paying(key),
              );
              return each.claim.complete();
            };
            const confirmed = await deliver().catch(() => false);
            if (confirmed === true) expect([await world.paid(key), await rowOf(key)]).toEqual([1, 1]);
            const { isCut } = wire;
            await until(async () => {
              const result = await elsewhere.store.claim(key, BRIEF);
              if (result.status !== 'claimed') return result.status === 'completed';
              const handler = result.claim.forHandler?.('pay');
              await handler?.context.once(paying(key));
              return (await result.claim.complete()) === true;
            });
            expect([messages, await world.paid(key)]).toEqual([messages, 1]);
            await wire.close();
            return confirmed === true && !isCut;
          };
          for (let from = 0, isOver = false; !isOver; from += AT_ONCE) {
            const together = Array.from({ length: AT_ONCE }, (_, index) => isOverAfter(from + index));
            isOver = (await Promise.all(together)).every(Boolean);
          }
        },
        120_000,
      );

      test.each([
        ['a minute', '', '1min'],
        ['the limit of its session, if that has one', '-c idle_in_transaction_session_timeout=7s', '7s'],
      ])('may be idle for %s, and its session is as it was', async (_, options, limit) => {
        const [opened, key] = [world.open({ max: 1, options }), newKey()];
        const name = 'idle_in_transaction_session_timeout';
        const before = await opened.run(`SHOW ${name}`);
        const first = await attempt(opened, key);
        let shown: unknown;
        await write(opened, first, async (tx) => {
          [shown] = await world.sending(tx)(`SHOW ${name}`);
        });
        expect(shown).toEqual({ [name]: limit });
        expect(await opened.run(`SHOW ${name}`)).toEqual(before);
      });

      test('commits nothing if a statement failed and the work swallowed its error', async () => {
        const [opened, key] = [world.open(), newKey()];
        const first = await attempt(opened, key);
        const failure = await Promise.resolve(
          write(opened, first, async (tx) => {
            await paying(key)(tx);
            await world
              .sending(tx)('SELECT 1 / 0')
              .catch(() => {});
          }),
        ).catch((error: Error) => error.message);
        // Other transactions than that of postgresStore() do not tell that their COMMIT was answered with ROLLBACK.
        if (by === 'postgresStore' && form === 'once(work)') {
          expect(failure).toContain('answered COMMIT with ROLLBACK');
          expect(first.end().failure).toMatchObject({ name: 'StoreError' });
        } else expect(await first.claim.complete()).toEqual({ uncommitted: ['pay'] });
        expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
        await until(opened.idle);
      });

      // Another delivery would get it in the middle of the transaction, and its writes could be rolled back with these.
      if (by === 'postgresStore' && form === 'once(work)')
        test('does not let the work release its client', async () => {
          const [opened, key] = [world.open({ max: 1 }), newKey()];
          const first = await attempt(opened, key);
          const released = write(opened, first, async (tx) => {
            await paying(key)(tx);
            (tx as PoolClient).release();
          });
          await expect(released).rejects.toThrow('once() releases the client itself');
          expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
          await write(opened, first, paying(key));
          expect([await world.paid(key), await first.claim.complete()]).toEqual([1, true]);
          await until(opened.idle);
        });

      test('commits nothing if a constraint that was deferred to the commit is violated', async () => {
        const [opened, key] = [world.open(), newKey()];
        const table = `${world.schema}.deferred_${form.length}`;
        await world.observe(`CREATE TABLE ${table} (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`);
        const first = await attempt(opened, key);
        const failed = write(opened, first, async (tx) => {
          await paying(key)(tx);
          await world.sending(tx)(`INSERT INTO ${table} VALUES (1), (1)`);
        });
        await expect(failed).rejects.toMatchObject({ code: '23505' });
        expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
        await until(opened.idle);
      });

      test.each(['on', 'off'])(
        'keeps keys as they are, with standard_conforming_strings %s and no escaped quotes',
        async (conforming) => {
          const options = `-c standard_conforming_strings=${conforming} -c backslash_quote=off`;
          const opened = world.open({ options });
          const odd = [
            "it's",
            "''",
            "\\'",
            '\\',
            '\\\\',
            "'; DROP TABLE x; --",
            '$1',
            '$$',
            '?',
            '\\x41',
            'é\u{1f600}',
          ];
          for (const end of odd) {
            const key = `${newKey()}:${end}`;
            const next = await crashed(opened, key, (first) => write(opened, first, paying(key)));
            await write(opened, next, paying(key));
            expect([key, await world.paid(key), await rowOf(key)]).toEqual([key, 1, 1]);
            expect(await next.claim.complete()).toBe(true);
          }
        },
      );
    });

    test('commits nothing that a part of failed work sends while it is rolled back', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      let late: Promise<unknown> | undefined;
      const failing = first.once((tx) => {
        const client = tx as { query(...given: unknown[]): unknown };
        const query = client.query.bind(client);
        client.query = (...given) => {
          const reply = query(...given);
          if (!/"ROLLBACK[";]/.test(JSON.stringify(given))) return reply;
          client.query = query;
          late = Promise.resolve(paying(key)(tx));
          return late.then(() => reply);
        };
        throw new Error('the other part');
      });
      await expect(failing).rejects.toThrow('the other part');
      await expect(late).resolves.toEqual([]);
      await until(opened.idle);
      expect(await world.paid(key)).toBe(0);
    });

    test('lets no part of failed work write, however late it comes', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      let late: Promise<unknown> = Promise.resolve();
      const failing = first.once((tx) => {
        late = until(() => opened.idle()).then(() => paying(key)(tx));
        late.catch(() => {});
        throw new Error('the other part');
      });
      await expect(failing).rejects.toThrow('the other part');
      await expect(late).rejects.toThrow();
      expect([await world.paid(key), opened.idle()]).toEqual([0, true]);
    });

    if (by === 'postgresStore') {
      test('refuses the pool also after a BEGIN', async () => {
        const [opened, key] = [world.open({ max: 1 }), newKey()];
        const first = await attempt(opened, key);
        await opened.run('BEGIN');
        await expect(first.once(opened.client, () => paying(key)(opened.client))).rejects.toThrow(
          'given the pool',
        );
        await opened.run('COMMIT');
        expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
      });
    }

    test('rejects if the pool has no connection, and the handler has failed', async () => {
      const [opened, key] = [world.open({ max: 1 }), newKey()];
      const first = await attempt(opened, key);
      const client = await opened.pool.connect();
      await withoutPatience(opened.pool, async () => {
        await expect(first.once(paying(key))).rejects.toThrow('timeout exceeded');
      });
      client.release();
      expect(first.end().failure).toMatchObject({ message: expect.stringContaining('timeout exceeded') });
      const { pool } = opened;
      expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
    });

    test('rejects with a serialization failure, which a second call makes up for', async () => {
      const table = `${world.schema}.unsteady`;
      const [opened, key] = [world.open({ table }), newKey()];
      await opened.store.migrate();
      const first = await attempt(opened, key);
      await failing(world, table, { code: '40001', times: 1 });
      await expect(first.once(paying(key))).rejects.toMatchObject({ code: '40001' });
      await first.once(paying(key));
      expect([await world.paid(key), await first.claim.complete()]).toEqual([1, true]);
    });

    needing('postgres', 'pgbouncer').describe('behind PgBouncer in transaction mode', () => {
      let bouncer: Service;
      let pool: Pool;
      beforeAll(async () => {
        const settings = ['pool_mode = transaction', 'default_pool_size = 3', 'max_client_conn = 100'];
        bouncer = await startPgBouncer(Number(new URL(connectionString).port), settings);
        const { pathname } = new URL(connectionString);
        pool = new Pool({
          connectionString: Object.assign(new URL(bouncer.url), { pathname }).href,
          max: 20,
        });
      }, 60_000);
      afterAll(async () => {
        await pool.end();
        await bouncer.stop();
      });

      test('pays each of many events once, through connections that change', async () => {
        const store = storeOnPg(by, pool, { table: world.table });
        const events = Array.from({ length: 60 }, (_, index) => `${world.schema}:bounced:${index % 20}`);
        await Promise.all(
          events.map((key) =>
            until(async () => {
              const result = await store.claim(key, BRIEF);
              if (result.status !== 'claimed') return result.status === 'completed';
              const handler = result.claim.forHandler?.('pay');
              await handler?.context.once(paying(key));
              return (await result.claim.complete()) === true;
            }),
          ),
        );
        for (const key of new Set(events)) expect([await world.paid(key), await rowOf(key)]).toEqual([1, 1]);
      });

      test('refuses a pool without a transaction', async () => {
        const key = newKey();
        const { once } = await attempt({ store: storeOnPg(by, pool, { table: world.table }) }, key);
        await expect(once(pool, () => {})).rejects.toThrow('no open transaction');
        expect(await rowOf(key)).toBe(0);
      });
    });
  });

  test('takes a BEGIN with the row, the statements of the work and a COMMIT, and no more', async () => {
    const world = await postgresWorld('postgresStore');
    const { attempt, newKey, paying } = attemptsIn(world);
    const wire = await startWire(connectionString);
    const opened = world.open({ max: 1, connectionString: wire.connectionString });
    await (await attempt(opened, newKey())).claim.complete();
    const key = newKey();
    wire.turns = 0;
    const first = await attempt(opened, key);
    await first.once(paying(key));
    expect(await first.claim.complete()).toBe(true);
    expect(wire.turns).toBe(1 + 4);
    await wire.close();
    await world.close();
  });
});
