// Claims in Postgres, by both stores: what every database keeps, and what only this one can do wrong.
import { afterAll, describe, expect, test } from '@jest/globals';
import { Pool, type PoolConfig } from 'pg';
import { needing } from '../setup/platform.js';
import { refusingPort } from '../setup/ports.js';
import { until } from '../setup/waiting.js';
import { bytes, keepsLeases } from './leases.js';
import {
  BY_PG,
  connectionString,
  failing,
  granted,
  type OpenedOnPg,
  ownWorld,
  postgresWorld,
  type StoreOptions,
  storeOnPg,
  withoutPatience,
} from './worlds.js';

type Store = ReturnType<typeof storeOnPg>;

needing('postgres').describe('a claim, on Postgres', () => {
  describe.each(BY_PG)('by %s', (by) => {
    const world = ownWorld(() => postgresWorld(by));
    const pools: Pool[] = [];
    afterAll(() => Promise.all(pools.map((pool) => pool.end())));
    const poolOf = (config: PoolConfig = {}) => {
      const pool = new Pool({ connectionString, ...config });
      pools.push(pool);
      return pool;
    };
    const named = (name: string) => `${world.schema}.${name}`;
    let opened: OpenedOnPg | undefined;
    const open = (options: StoreOptions = {}) => {
      opened ??= world.open({ max: 20 });
      return opened.storeWith(options);
    };
    const migrated = async (name: string, options: StoreOptions = {}) => {
      const store = open({ table: named(name), ...options });
      await store.migrate();
      return store;
    };

    keepsLeases(world);

    test('rejects pings and claims when the server takes no writes', async () => {
      const reading = poolOf({ options: '-c default_transaction_read_only=on', max: 1 });
      const replica = storeOnPg(by, reading, { table: world.table });
      await expect(replica.ping()).rejects.toThrow('This Postgres is read-only');
      await expect(replica.claim('default:live:ping', bytes)).rejects.toThrow('read-only');
    });

    test('rejects a ping when the server is down', async () => {
      const url = new URL(connectionString);
      url.port = String(await refusingPort());
      await expect(storeOnPg(by, poolOf({ connectionString: url.href })).ping()).rejects.toThrow();
    });

    test('claims an event whose row is deleted between two statements', async () => {
      const { pool, store } = world.open();
      await granted(await store.claim('deleted', bytes)).complete();
      const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
      Object.assign(pool, {
        query: async (...args: unknown[]) => {
          if (/DO UPDATE/.test(JSON.stringify(args[0])))
            await world.observe(`DELETE FROM ${world.table} WHERE key = 'deleted'`);
          return query(...args);
        },
      });
      expect(granted(await store.claim('deleted', bytes)).attempt).toBe(1);
    });

    describe('migrates', () => {
      test('to tables whose long names begin alike, each with its own index', async () => {
        const names = ['a', 'b'].map((last) => `${'t'.repeat(62)}${last}`);
        for (const name of names) await migrated(name);
        for (const name of names) {
          const sql = 'SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename = $2';
          const indexes = await world.observe(sql, [world.schema, name]);
          expect(indexes.filter(({ indexdef }) => String(indexdef).includes('claimed_at'))).toHaveLength(1);
          expect(indexes).toHaveLength(2);
        }
      });

      test('to a name that is a word of SQL, in capitals', async () => {
        granted(await (await migrated('Order')).claim('a', bytes));
        expect(await world.observe(`SELECT key FROM ${world.schema}."Order"`)).toEqual([{ key: 'a' }]);
      });
    });

    describe('prunes', () => {
      const fill = (name: string, rows: number) =>
        world.observe(`INSERT INTO ${named(name)} (key, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
          SELECT 'old ' || n, 1, '[]', '', 'infinity', now() - n * interval '1 second', now() - interval '31 days'
          FROM generate_series(1, ${rows}) n`);

      test('whatever is no longer remembered, in batches, and nothing else', async () => {
        const lasting = await migrated('pruned');
        await fill('pruned', 2_500);
        const brief = open({ table: named('pruned'), retention: 1 });
        await granted(await brief.claim('running', bytes)).renew(60_000);
        await granted(await lasting.claim('completed', bytes)).complete();
        await granted(await lasting.claim('released', bytes)).release([]);
        const longAgo = "claimed_at = now() - interval '1 year'";
        await world.observe(`UPDATE ${named('pruned')} SET ${longAgo} WHERE key = 'released'`);
        expect([await lasting.prune(), await lasting.prune()]).toEqual([2_500, 0]);
        const left = await world.observe(`SELECT key FROM ${named('pruned')} ORDER BY key`);
        expect(left.map(({ key }) => key)).toEqual(['completed', 'released', 'running']);
      });

      test('in three processes at once without a row being in the way', async () => {
        const store = await migrated('pruned_at_once');
        await fill('pruned_at_once', 5_000);
        const counts = await Promise.all([store.prune(), store.prune(), store.prune()]);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5_000);
      });
    });

    describe('when Postgres undid a statement because of others', () => {
      async function failingStore(name: string, code: string, times: number) {
        const store = await migrated(name);
        await failing(world, named(name), { code, times });
        return store;
      }

      test.each(['40001', '40P01'])('tries a claim three times after %s', async (code) => {
        const twice = await failingStore(`twice_${code.toLowerCase()}`, code, 2);
        expect(granted(await twice.claim('a', bytes)).attempt).toBe(1);
        const thrice = await failingStore(`thrice_${code.toLowerCase()}`, code, 3);
        await expect(thrice.claim('a', bytes)).rejects.toMatchObject({ code });
      });

      test('tries only once what would fail again', async () => {
        const once = await failingStore('once', '23514', 1);
        await expect(once.claim('a', bytes)).rejects.toMatchObject({ code: '23514' });
        expect(granted(await once.claim('a', bytes)).attempt).toBe(1);
      });

      test('also retries the later steps', async () => {
        const unsteady = await failingStore('later', '40001', 2);
        const again = async <Step>(step: () => Step) => {
          await world.observe(`ALTER SEQUENCE ${named('later')}_tries RESTART`);
          return step();
        };
        const claim = granted(await again(() => unsteady.claim('a', bytes)));
        expect(await again(() => claim.renew(1_000))).toBe(true);
        expect(await again(() => claim.release(['mail']))).toBe(true);
        const next = granted(await again(() => unsteady.claim('a', bytes)));
        expect([next.finished, await again(() => next.complete())]).toEqual([['mail'], true]);
      });

      test('one of many wins also when every transaction is serializable', async () => {
        const strict = poolOf({ max: 8, options: '-c default_transaction_isolation=serializable' });
        const serializable = storeOnPg(by, strict, { table: world.table });
        for (let round = 0; round < 10; round += 1) {
          const claims = Array.from({ length: 4 }, () => serializable.claim(`strict ${round}`, bytes));
          const results = await Promise.allSettled(claims);
          const won = results.filter((it) => it.status === 'fulfilled' && it.value.status === 'claimed');
          expect(won).toHaveLength(1);
        }
      });
    });

    test('goes on after its connections were ended, idle or in the middle of a claim', async () => {
      const { pool, store: survivor, terminateAll } = world.open({ max: 3 });
      const holder = await poolOf().connect();
      await holder.query(`BEGIN; LOCK TABLE ${world.table} IN EXCLUSIVE MODE`);
      const waiting = survivor.claim('killed', bytes);
      await until(async () => (await world.waiting()) > 0);
      await terminateAll();
      await expect(waiting).rejects.toThrow(/terminat/);
      await holder.query('ROLLBACK');
      holder.release();
      await Promise.all([1, 2, 3].map((n) => survivor.claim(`idle ${n}`, bytes)));
      await terminateAll();
      await until(() => pool.totalCount === 0);
      expect(granted(await survivor.claim('after', bytes)).attempt).toBe(1);
    });

    test('rejects while the pool is exhausted, and recovers', async () => {
      const { pool, store } = world.open({ max: 1 });
      const client = await pool.connect();
      await withoutPatience(pool, async () => {
        await expect(store.claim('exhausted', bytes)).rejects.toThrow('timeout exceeded');
      });
      client.release();
      expect(granted(await store.claim('exhausted', bytes)).attempt).toBe(1);
    });

    test('rejects when a trigger of the table drops the row', async () => {
      const ruled = await migrated('ruled');
      const swallow = named('swallow');
      await world.observe(`
        CREATE FUNCTION ${swallow}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER swallow BEFORE INSERT ON ${named('ruled')} FOR EACH ROW EXECUTE FUNCTION ${swallow}()`);
      await expect(ruled.claim('a', bytes)).rejects.toThrow('without a row');
    });
  });

  test('makes the same table by both stores, and each goes on where the other one was', async () => {
    const world = await postgresWorld('postgresStore');
    const { pool } = world.open();
    const [one, other] = BY_PG.map((by) => storeOnPg(by, pool, { table: world.table })) as [Store, Store];
    const columns = () =>
      world.observe(
        `SELECT column_name, data_type, collation_name, column_default, is_nullable FROM information_schema.columns
         WHERE table_schema || '.' || table_name = $1 ORDER BY ordinal_position`,
        [world.table],
      );
    const byOne = await columns();
    expect(byOne).toHaveLength(8);
    await world.observe(`DROP TABLE ${world.table}`);
    await other.migrate();
    expect(await columns()).toEqual(byOne);
    await granted(await one.claim('a', bytes)).release(['mail']);
    const second = granted(await other.claim('a', bytes));
    expect([second.attempt, second.finished, await second.complete()]).toEqual([2, ['mail'], true]);
    expect(await one.claim('a', bytes)).toEqual({ status: 'completed', fingerprint: bytes.fingerprint });
    await world.close();
  });
});
