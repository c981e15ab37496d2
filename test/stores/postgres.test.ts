import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import type { ClaimResult } from '../../src/claims/idempotency-store.js';
import { ConfigurationError } from '../../src/errors.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { eventMigration } from '../../src/stores/sql/postgres.js';
import { codeBlocks } from '../setup/markdown.js';
import { needing } from '../setup/platform.js';
import { refusingPort } from '../setup/ports.js';
import { until } from '../setup/waiting.js';
import { keepsTheContract, walksAsPromised } from './contract.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
/** Tables of this file alone, so that files can run at the same time. */
const schema = `lease_${randomBytes(6).toString('hex')}`;
const bytes = { leaseMs: 60_000, fingerprint: 'a'.repeat(64) };

function granted<Extra extends object>(result: ClaimResult<Extra>) {
  if (result.status !== 'claimed') throw new Error(`not granted: ${result.status}`);
  return result.claim;
}

withPostgres('the Postgres store, in lease mode', () => {
  const pool = new Pool({ connectionString, max: 20 });
  const table = `${schema}.webhook_event`;
  const store = postgresStore({ pool, table });
  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}`);
    await store.migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  describe('keeps the contract', () => {
    const options = {
      create: ({ retention }: { retention: number | undefined }) => postgresStore({ pool, table, retention }),
    };
    keepsTheContract(options);
    walksAsPromised(options);
  });

  test('answers each of 400 concurrent claims, on a new key as on a lapsed one, and one wins', async () => {
    for (const key of ['default:live:new', 'default:live:lapsed']) {
      if (key.endsWith('lapsed')) granted(await store.claim(key, { ...bytes, leaseMs: 0 }));
      const results = await Promise.all(Array.from({ length: 400 }, () => store.claim(key, bytes)));
      const statuses = results.map(({ status }) => status).sort();
      expect(statuses).toEqual(['claimed', ...Array(399).fill('in_progress')]);
    }
  });

  describe('a ping', () => {
    const rows = async () => (await pool.query(`SELECT count(*)::int AS rows FROM ${table}`)).rows;

    test('claims nothing', async () => {
      const before = await rows();
      await expect(store.ping()).resolves.toBeUndefined();
      expect(await rows()).toEqual(before);
    });

    test('rejects without the table', async () => {
      const missing = postgresStore({ pool, table: `${schema}.missing` });
      await expect(missing.ping()).rejects.toThrow('does not exist');
    });

    test('rejects when the server takes no writes, as claims do', async () => {
      const options = '-c default_transaction_read_only=on';
      const reading = new Pool({ connectionString, options, max: 1 });
      const replica = postgresStore({ pool: reading, table });
      await expect(replica.ping()).rejects.toThrow('This Postgres is read-only');
      await expect(replica.claim('default:live:ping', bytes)).rejects.toThrow('read-only');
      await reading.end();
    });

    test('leaves a server that takes no writes, so that the next one asks where the address leads by then', async () => {
      const demoted = new Pool({ connectionString, max: 1 });
      await demoted.query('SET default_transaction_read_only = on');
      const left = postgresStore({ pool: demoted, table });
      await expect(left.ping()).rejects.toThrow('This Postgres is read-only');
      await expect(left.ping()).resolves.toBeUndefined();
      expect([demoted.totalCount, demoted.idleCount]).toEqual([1, 1]);
      await demoted.end();
    });

    test('rejects when the server is down', async () => {
      const url = new URL(connectionString);
      url.port = String(await refusingPort());
      const gone = new Pool({ connectionString: url.href });
      await expect(postgresStore({ pool: gone }).ping()).rejects.toThrow();
      await gone.end();
    });
  });

  describe('claims', () => {
    /** A pool that lets a test look at each query before it is sent. */
    const watched = (before: (text: string) => unknown) => {
      const query = async (config: { text: string; values?: unknown[] }) => {
        await before(config.text);
        return pool.query(config);
      };
      const on = () => {};
      return postgresStore({ pool: { query, on, connect: () => pool.connect() }, table });
    };

    test('a new event with one statement, and a known one with two', async () => {
      const sent: string[] = [];
      const counted = watched((text) => sent.push(/DO [A-Z]+/.exec(text)?.[0] ?? 'other'));
      const first = granted(await counted.claim('counted', bytes));
      expect(sent.splice(0)).toEqual(['DO NOTHING']);
      await first.release(['mail']);
      expect(granted(await counted.claim('counted', bytes))).toMatchObject({
        attempt: 2,
        finished: ['mail'],
      });
      expect(sent).toEqual(['other', 'DO NOTHING', 'DO UPDATE']);
    });

    test('an event whose row is deleted between the two statements', async () => {
      await granted(await store.claim('deleted', bytes)).complete();
      const racing = watched(async (text) => {
        if (text.includes('DO UPDATE')) await pool.query(`DELETE FROM ${table} WHERE key = 'deleted'`);
      });
      expect(granted(await racing.claim('deleted', bytes)).attempt).toBe(1);
    });
  });

  describe('migrates', () => {
    test('at once in two pools, and again later', async () => {
      const other = new Pool({ connectionString });
      for (let round = 0; round < 10; round += 1) {
        const name = `${schema}.at_once_${round}`;
        await Promise.all(
          [pool, pool, other, other].map((each) => postgresStore({ pool: each, table: name }).migrate()),
        );
        await postgresStore({ pool, table: name }).migrate();
      }
      await other.end();
      const { rows } = await pool.query(
        'SELECT count(*)::int AS n FROM pg_indexes WHERE schemaname = $1 AND tablename LIKE $2',
        [schema, 'at_once_%'],
      );
      expect(rows).toEqual([{ n: 20 }]);
    });

    test('to tables whose long names begin alike, each with its own index', async () => {
      const names = ['a', 'b'].map((last) => `${'t'.repeat(62)}${last}`);
      for (const name of names) await postgresStore({ pool, table: `${schema}.${name}` }).migrate();
      for (const name of names) {
        const { rows } = await pool.query('SELECT indexdef FROM pg_indexes WHERE tablename = $1', [name]);
        expect(rows.filter(({ indexdef }) => indexdef.includes('claimed_at'))).toHaveLength(1);
      }
    });

    test('to a name that is a word of SQL, in capitals', async () => {
      const reserved = postgresStore({ pool, table: `${schema}.Order` });
      await reserved.migrate();
      granted(await reserved.claim('a', bytes));
      const { rows } = await pool.query(`SELECT key FROM ${schema}."Order"`);
      expect(rows).toEqual([{ key: 'a' }]);
    });

    test('by the SQL that the docs show, so that another role can run it', async () => {
      const docs = join(__dirname, '../../docs');
      const migration = readFileSync(join(docs, 'sql/webhook-event.sql'), 'utf8');
      const overview = codeBlocks(join(docs, 'stores.md')).find(({ language }) => language === 'sql')?.text;
      expect(eventMigration('webhook_event').trim()).toBe(migration.trim());
      const client = await pool.connect();
      await client.query(`CREATE SCHEMA ${schema}_docs; SET search_path TO ${schema}_docs`);
      await client.query(migration);
      expect((await client.query(overview ?? '')).rows).toEqual([
        { completed: '0', at_work: '0', waiting_for_a_delivery: '0' },
      ]);
      await client.query(`DROP SCHEMA ${schema}_docs CASCADE`);
      client.release(true);
    });

    test('keeps what the table already remembers', async () => {
      await granted(await store.claim('kept', bytes)).complete();
      await store.migrate();
      expect((await store.claim('kept', bytes)).status).toBe('completed');
    });
  });

  describe('prunes', () => {
    test('whatever is no longer remembered, in batches, and nothing else', async () => {
      const name = `${schema}.pruned`;
      const brief = postgresStore({ pool, table: name, retention: 1 });
      const lasting = postgresStore({ pool, table: name });
      await brief.migrate();
      await pool.query(`INSERT INTO ${name} (key, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
        SELECT 'old ' || n, 1, '[]', '', 'infinity', now() - n * interval '1 second', now() - interval '31 days' FROM generate_series(1, 2500) n`);
      await granted(await brief.claim('running', bytes)).renew(60_000);
      await granted(await lasting.claim('completed', bytes)).complete();
      await granted(await lasting.claim('released', bytes)).release([]);
      await pool.query(`UPDATE ${name} SET claimed_at = now() - interval '1 year' WHERE key = 'released'`);
      expect(await lasting.prune()).toBe(2_500);
      expect(await lasting.prune()).toBe(0);
      const { rows } = await pool.query(`SELECT key FROM ${name} ORDER BY key`);
      expect(rows.map(({ key }) => key)).toEqual(['completed', 'released', 'running']);
    });

    test('in two processes at once without a row being in the way', async () => {
      const name = `${schema}.pruned_twice`;
      const twice = postgresStore({ pool, table: name });
      await twice.migrate();
      await pool.query(`INSERT INTO ${name} (key, attempt, finished, fingerprint, lease_ends, forget_at, claimed_at)
        SELECT n::text, 1, '[]', '', now(), now(), now() - interval '31 days' FROM generate_series(1, 5000) n`);
      const counts = await Promise.all([twice.prune(), twice.prune(), twice.prune()]);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5_000);
    });
  });

  describe('when Postgres undid a statement because of others', () => {
    /** The next so many inserts into the table fail; a sequence keeps counting through a rollback. */
    async function failing(name: string, code: string, times: number) {
      const failingTable = `${schema}.${name}`.toLowerCase();
      const tried = postgresStore({ pool, table: failingTable });
      await tried.migrate();
      await pool.query(`
        CREATE SEQUENCE ${failingTable}_tries;
        CREATE FUNCTION ${failingTable}_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('${failingTable}_tries') <= ${times} THEN RAISE EXCEPTION USING ERRCODE = '${code}'; END IF;
          RETURN NEW; END $$;
        CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON ${failingTable} FOR EACH ROW EXECUTE FUNCTION ${failingTable}_fail();`);
      return tried;
    }

    test.each(['40001', '40P01'])('tries a claim three times after %s', async (code) => {
      const twice = await failing(`twice_${code}`, code, 2);
      expect(granted(await twice.claim('a', bytes)).attempt).toBe(1);
      const thrice = await failing(`thrice_${code}`, code, 3);
      await expect(thrice.claim('a', bytes)).rejects.toMatchObject({ code });
    });

    test('tries only once what would fail again', async () => {
      const once = await failing('once', '23514', 1);
      await expect(once.claim('a', bytes)).rejects.toMatchObject({ code: '23514' });
      expect(granted(await once.claim('a', bytes)).attempt).toBe(1);
    });

    test('also retries the later steps', async () => {
      const unsteady = await failing('later', '40001', 2);
      const again = () => pool.query(`ALTER SEQUENCE ${schema}.later_tries RESTART`);
      const claim = granted(await unsteady.claim('a', bytes));
      await again();
      expect(await claim.renew(1_000)).toBe(true);
      await again();
      expect(await claim.release(['mail'])).toBe(true);
      await again();
      const next = granted(await unsteady.claim('a', bytes));
      await again();
      expect([next.finished, await next.complete()]).toEqual([['mail'], true]);
    });

    test('one of many wins also when every transaction is serializable', async () => {
      const strict = new Pool({
        connectionString,
        max: 8,
        options: '-c default_transaction_isolation=serializable',
      });
      const serializable = postgresStore({ pool: strict, table });
      for (let round = 0; round < 10; round += 1) {
        const claims = Array.from({ length: 4 }, () => serializable.claim(`strict ${round}`, bytes));
        const results = await Promise.allSettled(claims);
        const won = results.filter(
          (result) => result.status === 'fulfilled' && result.value.status === 'claimed',
        );
        expect(won).toHaveLength(1);
      }
      await strict.end();
    });
  });

  describe('behind a pooler that puts other connections behind a client', () => {
    test.each([
      ['knows nothing of what was prepared', 'DEALLOCATE ALL'],
      ['has prepared something else by that name', undefined],
    ])('goes on without preparing when one %s', async (_name, sql) => {
      for (const transactional of [false, true]) {
        const names: unknown[] = [];
        const one = new Pool({ connectionString, max: 1 });
        one.on('connect', (client) => {
          const query = client.query.bind(client) as (...args: unknown[]) => unknown;
          client.query = ((...args: { name?: string }[]) => {
            names.push(args[0]?.name);
            return query(...args);
          }) as typeof client.query;
        });
        const pooled = transactional
          ? postgresStore({ pool: one, table, transactional })
          : postgresStore({ pool: one, table });
        const key = `pooled ${_name} ${transactional}`;
        await granted(await pooled.claim(key, bytes)).release([]);
        const [name] = names.filter(Boolean);
        expect(name).toMatch(/^payment_webhooks_[0-9a-f]{16}$/);
        if (sql) await one.query(sql);
        else {
          await one.end();
          const stranger = new Pool({ connectionString, max: 1 });
          await stranger.query(`PREPARE ${name} AS SELECT 1`);
          const confused = transactional
            ? postgresStore({ pool: stranger, table, transactional })
            : postgresStore({ pool: stranger, table });
          expect(await granted(await confused.claim(key, bytes)).complete()).toBe(true);
          await stranger.end();
          continue;
        }
        names.length = 0;
        expect(await granted(await pooled.claim(key, bytes)).complete()).toBe(true);
        expect(names.filter(Boolean)).toHaveLength(1);
        await one.end();
      }
    });
  });

  test('survives a restart of its connections, with a pool that has no listeners', async () => {
    const name = `lives_${schema}`;
    const lonely = new Pool({ connectionString, max: 3, application_name: name });
    const survivor = postgresStore({ pool: lonely, table });
    postgresStore({ pool: lonely, table });
    expect(lonely.listenerCount('error')).toBe(1);
    const kill = () =>
      pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
        name,
      ]);
    // Idle connections, and one in the middle of a claim that waits for another session.
    const holder = await pool.connect();
    await holder.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE`);
    const waiting = survivor.claim('killed', bytes);
    await until(async () => {
      const { rows } = await pool.query(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'",
        [name],
      );
      return rows.length > 0;
    });
    await kill();
    await expect(waiting).rejects.toThrow(/terminat/);
    await holder.query('ROLLBACK');
    holder.release();
    await Promise.all([1, 2, 3].map((n) => survivor.claim(`idle ${n}`, bytes)));
    await kill();
    await until(() => lonely.totalCount === 0);
    expect(granted(await survivor.claim('after', bytes)).attempt).toBe(1);
    await lonely.end();
  });

  test('rejects while the pool is exhausted, and recovers', async () => {
    const small = new Pool({ connectionString, max: 1 });
    const tight = postgresStore({ pool: small, table });
    const client = await small.connect();
    // From now on: the connection itself takes its time on a busy machine.
    small.options.connectionTimeoutMillis = 100;
    await expect(tight.claim('exhausted', bytes)).rejects.toThrow('timeout exceeded');
    client.release();
    expect(granted(await tight.claim('exhausted', bytes)).attempt).toBe(1);
    await small.end();
  });

  test('rejects when the table is missing', async () => {
    const missing = postgresStore({ pool, table: `${schema}.missing` });
    await expect(missing.claim('a', bytes)).rejects.toMatchObject({ code: '42P01' });
  });

  test('rejects when a trigger of the table drops the row', async () => {
    const ruled = postgresStore({ pool, table: `${schema}.ruled` });
    await ruled.migrate();
    await pool.query(`
      CREATE FUNCTION ${schema}.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER swallow BEFORE INSERT ON ${schema}.ruled FOR EACH ROW EXECUTE FUNCTION ${schema}.swallow()`);
    await expect(ruled.claim('a', bytes)).rejects.toThrow('without a row');
  });
});

describe('the options of the Postgres store', () => {
  const pool = new Pool({ connectionString });
  afterAll(() => pool.end());
  const wrong = postgresStore as (options?: unknown) => unknown;

  test.each([
    'x"; drop table y',
    'a.b.c',
    '',
    '.',
    'a.',
    '.a',
    '1st',
    'a-b',
    'naïve',
    'a b',
    '"a"',
    'a\n',
    'a'.repeat(64),
    `${'a'.repeat(64)}.b`,
    5,
    null,
    {},
  ])('refuse the table %p', (table) => {
    expect(() => wrong({ pool, table })).toThrow(ConfigurationError);
    expect(() => wrong({ pool, table })).toThrow(/^table is .*\. Give "name" or "schema\.name"/);
  });

  test.each(['a', '_', 'A1', 'public.webhook_event', `${'s'.repeat(63)}.${'t'.repeat(63)}`])(
    'take the table %p',
    (table) => {
      expect(() => postgresStore({ pool, table })).not.toThrow();
    },
  );

  test.each([undefined, null, 'postgres://localhost', {}, { query: async () => ({}) }])(
    'refuse a pool of %p',
    (given) => {
      expect(() => wrong({ pool: given })).toThrow(
        /^pool is .+, not a pool of pg\. Give "new Pool\(\{ connectionString \}\)"\.$/,
      );
    },
  );

  test('refuse missing options, an unknown name, and values of the wrong kind', () => {
    expect(() => wrong()).toThrow(ConfigurationError);
    expect(() => wrong({ pool, tabel: 'a' })).toThrow('Unknown option "tabel". Did you mean "table"?');
    expect(() => wrong({ pool, retention: 'soon' })).toThrow('retention is "soon"');
    expect(() => wrong({ pool, transactional: 'yes' })).toThrow(
      'transactional is "yes". Give true or false.',
    );
  });

  test('may be undefined for their defaults', () => {
    const store = postgresStore({ pool, table: undefined, retention: undefined, transactional: undefined });
    expect(store.scope).toBe('shared');
  });
});
