// Dead letters in a real Postgres: the contract, and what only a database that processes share can do wrong.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigurationError } from 'payment-webhooks';
import { postgresDeadLetters } from 'payment-webhooks/stores/postgres';
import { deadLetterContract } from 'payment-webhooks/testing';
import { Pool } from 'pg';
import { StoreError } from '../../src/errors.js';
import { letterSqlFor } from '../../src/stores/postgres/letter-sql.js';
import { aLetter, DAMAGES, keepsTheLetterContract, queryOf } from '../setup/letters.js';
import { needing } from '../setup/platform.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
/** Tables of this file alone, so that files can run at the same time. */
const schema = `letters_${randomBytes(6).toString('hex')}`;
const OLD_KEY = randomBytes(32);
const NEW_KEY = randomBytes(32).toString('base64');

withPostgres('dead letters in Postgres', () => {
  const pool = new Pool({ connectionString, max: 20 });
  const table = `${schema}.dead_letter`;
  const open = (options: Partial<Parameters<typeof postgresDeadLetters>[0]> = {}) =>
    postgresDeadLetters({ pool, table, ...options });
  const sealed = () => open({ encryptionKeys: [OLD_KEY] });

  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}`);
    await open().migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  describe.each([
    ['as they are', undefined],
    ['encrypted', [NEW_KEY, OLD_KEY]],
  ])('kept %s keep the contract', (_, encryptionKeys) => {
    const cases = deadLetterContract({ create: ({ retention }) => open({ retention, encryptionKeys }) });
    keepsTheLetterContract(cases);
  });

  describe('with a changed row', () => {
    test.each(DAMAGES.flatMap(({ column, change }) => [[column, change] as const]))(
      'are unreadable when %s is changed',
      async (column, change) => {
        const letters = sealed();
        const letter = aLetter({ namespace: randomBytes(6).toString('hex') });
        const id = await letters.keep(letter);
        await pool.query(`UPDATE ${table} SET ${column} = ${change(column)} WHERE id = $1`, [id]);
        const [listed] = (await letters.list({ ...queryOf(letter), ...onlyIf(column) }, { limit: 5 }))
          .letters;
        expect(await letters.read(listed?.id ?? id)).toEqual({ status: 'unreadable' });
      },
    );

    /** A row whose namespace is changed is found in another one. */
    function onlyIf(column: string) {
      return column === 'namespace' ? { namespace: 'other' } : {};
    }

    test.each(['body', 'head', 'issues'])(
      'are unreadable when %s is that of another letter',
      async (column) => {
        const letters = sealed();
        const one = aLetter();
        const other = aLetter();
        for (const letter of [one, other]) await letters.keep(letter);
        await pool.query(
          `UPDATE ${table} SET ${column} = (SELECT ${column} FROM ${table} WHERE id = $1) WHERE id = $2`,
          [other.id, one.id],
        );
        expect(await letters.read(one.id)).toEqual({ status: 'unreadable' });
        expect((await letters.read(other.id)).status).toBe('found');
      },
    );

    test.each(['body', 'head'])('are unreadable without %s', async (column) => {
      const letter = aLetter();
      await sealed().keep(letter);
      await pool.query(`UPDATE ${table} SET ${column} = NULL WHERE id = $1`, [letter.id]);
      expect(await sealed().read(letter.id)).toEqual({ status: 'unreadable' });
    });

    test('are listed all the same, so that they can be found and discarded', async () => {
      const letter = aLetter({ namespace: 'listed', issues: [{ path: 'payload.id', message: 'required' }] });
      await sealed().keep(letter);
      await pool.query(`UPDATE ${table} SET issues = '\\x00', body = '\\x00' WHERE id = $1`, [letter.id]);
      const { letters } = await sealed().list(queryOf(letter), { limit: 5 });
      expect(letters.map(({ id, issues }) => [id, issues])).toEqual([[letter.id, []]]);
      expect(await sealed().discard(letter.id, { by: 'ada', because: 'changed' })).toBe(true);
    });
  });

  describe('with keys that rotate', () => {
    test('are sealed with the first key, and opened with any', async () => {
      const letter = aLetter();
      await sealed().keep(letter);
      const rotated = open({ encryptionKeys: [NEW_KEY, OLD_KEY] });
      expect(await rotated.read(letter.id)).toMatchObject({ status: 'found', rawBody: letter.rawBody });
      const later = aLetter();
      await rotated.keep(later);
      expect((await open({ encryptionKeys: [NEW_KEY] }).read(later.id)).status).toBe('found');
      expect((await sealed().read(later.id)).status).toBe('unreadable');
    });

    test('are unreadable when the old key is gone, also after another attempt', async () => {
      const letter = aLetter();
      await sealed().keep(letter);
      const onlyNew = open({ encryptionKeys: [NEW_KEY] });
      expect(await onlyNew.read(letter.id)).toEqual({ status: 'unreadable' });
      await onlyNew.keep({ ...letter, id: 'another' });
      expect(await onlyNew.read(letter.id)).toEqual({ status: 'unreadable' });
      const both = open({ encryptionKeys: [NEW_KEY, OLD_KEY] });
      expect(await both.read(letter.id)).toMatchObject({ status: 'found', headers: letter.headers });
    });

    test('are unreadable without any key, and unencrypted ones with a key', async () => {
      const [secret, plain] = [aLetter(), aLetter()];
      await sealed().keep(secret);
      await open().keep(plain);
      expect(await open().read(secret.id)).toEqual({ status: 'unreadable' });
      expect(await sealed().read(plain.id)).toEqual({ status: 'unreadable' });
      expect((await open().read(plain.id)).status).toBe('found');
    });
  });

  describe('in a dump of the table', () => {
    const CANARY = 'CHIRP-personal';
    const SINGS = /chirp|43485249502d|Q0hJUlAt|NISVJQL|DSElSUC/i;
    const personal = () =>
      aLetter({
        rawBody: Buffer.from(JSON.stringify({ customer: { name: CANARY } })),
        headers: { 'x-forwarded-for': CANARY },
        issues: [{ path: `payload.metadata.${CANARY}`, message: `expected string at ${CANARY}` }],
      });
    const dumpOf = async (id: string) => {
      const { rows } = await pool.query(
        `SELECT l::text AS row, encode(body, 'escape') AS body,
        encode(head, 'escape') AS head, encode(issues, 'escape') AS issues FROM ${table} l WHERE id = $1`,
        [id],
      );
      return JSON.stringify(rows);
    };

    test('stay unknown where they are encrypted, but for the name and id of the event', async () => {
      const letter = personal();
      const id = await sealed().keep(letter);
      await sealed().update(id, { reason: 'invalid', code: 'EVENT_INVALID', issues: letter.issues });
      await sealed().keep({ ...letter, id: 'again' });
      const dump = await dumpOf(id);
      expect(dump).not.toMatch(SINGS);
      for (const { column } of [{ column: letter.eventName }, { column: letter.eventId }])
        expect(dump).toContain(column);
      await sealed().discard(id, { by: 'ada', because: 'test data' });
      expect(await dumpOf(id)).not.toMatch(SINGS);
      // The same letter without encryption sings in each column, so the search is one that finds.
      const plain = personal();
      await open().keep(plain);
      for (const column of ['body', 'head', 'issues']) {
        const { rows } = await pool.query(
          `SELECT encode(${column}, 'escape') AS text FROM ${table} WHERE id = $1`,
          [plain.id],
        );
        expect(rows[0].text).toMatch(SINGS);
      }
    });

    test('of a discarded letter hold neither bytes nor headers', async () => {
      const letter = aLetter();
      await open().keep(letter);
      await open().discard(letter.id, { by: 'ada', because: 'test data' });
      const { rows } = await pool.query(`SELECT body, head FROM ${table} WHERE id = $1`, [letter.id]);
      expect(rows).toEqual([{ body: null, head: null }]);
    });
  });

  describe('kept by many at once', () => {
    test('of one event are one letter, from two pools of two stores', async () => {
      const other = new Pool({ connectionString, max: 10 });
      const stores = [sealed(), postgresDeadLetters({ pool: other, table, encryptionKeys: [OLD_KEY] })];
      const letter = aLetter({ namespace: 'many-one', attempts: 1 });
      const ids = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          stores[index % 2]?.keep({ ...letter, id: randomBytes(16).toString('hex') }),
        ),
      );
      await other.end();
      expect(new Set(ids).size).toBe(1);
      const { letters } = await sealed().list(queryOf(letter), { limit: 5 });
      expect(letters.map(({ id, attempts }) => [id, attempts])).toEqual([[ids[0], 50]]);
      expect((await sealed().read(ids[0] ?? '')).status).toBe('found');
    });

    test('of 50 events are 50 letters, each of them found and removed', async () => {
      const letters = Array.from({ length: 50 }, () => aLetter({ namespace: 'many-many' }));
      await Promise.all(letters.map((letter) => sealed().keep(letter)));
      const query = queryOf({ namespace: 'many-many' });
      expect(await sealed().count(query)).toBe(50);
      const removed = await Promise.all(letters.map((letter) => sealed().remove(letter, {})));
      expect(removed).toEqual(Array(50).fill(1));
      expect(await sealed().count(query)).toBe(0);
    });

    test('while others remove and update them leave a letter or none, and never an error', async () => {
      const letter = aLetter({ namespace: 'many-mixed' });
      const store = sealed();
      const id = await store.keep(letter);
      const change = { reason: 'invalid', code: undefined, issues: [] } as const;
      await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          if (index % 3 === 0) return store.keep({ ...letter, id: randomBytes(16).toString('hex') });
          return index % 3 === 1 ? store.remove(letter, {}) : store.update(id, change);
        }),
      );
      const { letters } = await store.list(queryOf(letter), { limit: 5 });
      expect(letters.length).toBeLessThanOrEqual(1);
      for (const left of letters) expect((await store.read(left.id)).status).toBe('found');
    });
  });

  test('keep letters of the same millisecond in order, and their time to the millisecond', async () => {
    const letter = aLetter({ namespace: 'precise' });
    await open().keep(letter);
    const [listed] = (await open().list(queryOf(letter), { limit: 1 })).letters;
    const { rows } = await pool.query(`SELECT kept_at FROM ${table} WHERE id = $1`, [letter.id]);
    expect(listed?.keptAt).toEqual(rows[0].kept_at);
    const { rows: exact } = await pool.query(
      `SELECT kept_at = date_trunc('milliseconds', kept_at) AS whole FROM ${table} WHERE id = $1`,
      [letter.id],
    );
    expect(exact).toEqual([{ whole: true }]);
  });

  test('are paged once each while letters are added and removed', async () => {
    const namespace = 'paged';
    const store = open();
    const first = Array.from({ length: 30 }, () => aLetter({ namespace }));
    for (const letter of first) await store.keep(letter);
    const seen: string[] = [];
    const added: string[] = [];
    const removed: string[] = [];
    for (let after: string | undefined, page = 0; ; page += 1) {
      const { letters, next } = await store.list(queryOf({ namespace }), { limit: 4, after });
      seen.push(...letters.map(({ id }) => id));
      // One that was seen, and one that is yet to come.
      for (const letter of [first[page * 4], first[29 - page]]) {
        if (!letter || (await store.remove(letter, {})) === 0) continue;
        removed.push(letter.id);
      }
      const late = aLetter({ namespace });
      if (page < 5) added.push(await store.keep(late));
      if (next === undefined) break;
      after = next;
    }
    expect(new Set(seen).size).toBe(seen.length);
    const stayed = first.map(({ id }) => id).filter((id) => !removed.includes(id));
    expect(seen).toEqual(expect.arrayContaining([...stayed, ...added]));
  });

  describe('are pruned', () => {
    test('in batches when their retention is over, tombstones by the time they were discarded', async () => {
      const name = `${schema}.pruned`;
      const store = postgresDeadLetters({ pool, table: name, retention: '30d' });
      await store.migrate();
      await pool.query(`INSERT INTO ${name} (id, key, fingerprint, namespace, event_name, event_id, sandbox, reason,
        attempts, issues, head, body, kept_at) SELECT 'old ' || n, n::text, 'f', 'pruned', 'a.b', n::text, false,
        'failed', 1, '\\x00', '\\x00', '\\x00', now() - interval '31 days' FROM generate_series(1, 2500) n`);
      await pool.query(`UPDATE ${name} SET discarded_at = now() WHERE id = 'old 7'`);
      const young = aLetter({ namespace: 'pruned' });
      await store.keep(young);
      expect(await store.count(queryOf(young))).toBe(1);
      const counts = await Promise.all([store.prune(), store.prune()]);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2_499);
      expect(await store.prune()).toBe(0);
      const { rows } = await pool.query(`SELECT id FROM ${name} ORDER BY arrival`);
      expect(rows.map(({ id }) => id)).toEqual(['old 7', young.id]);
    });
  });

  test('are not evicted, however many there are', async () => {
    const namespace = 'crowd';
    const letters = Array.from({ length: 300 }, () => aLetter({ namespace }));
    await Promise.all(letters.map((letter) => open().keep(letter)));
    expect(await open().count(queryOf({ namespace }))).toBe(300);
  });

  describe('migrate', () => {
    test('by the SQL that the docs show, so that another role can run it', () => {
      const migration = readFileSync(join(__dirname, '../../docs/sql/dead-letter.sql'), 'utf8');
      expect(letterSqlFor('dead_letter').migrate.trim()).toBe(migration.trim());
    });

    test('at once in two pools, again later, and to tables whose long names begin alike', async () => {
      const other = new Pool({ connectionString });
      const names = ['a', 'b'].map((last) => `${schema}.${'t'.repeat(62)}${last}`);
      await Promise.all(
        names.flatMap((name) =>
          [pool, other, pool].map((each) => postgresDeadLetters({ pool: each, table: name }).migrate()),
        ),
      );
      await other.end();
      for (const name of names) {
        const store = postgresDeadLetters({ pool, table: name });
        await store.migrate();
        expect(await store.keep(aLetter({ id: 'kept' }))).toBe('kept');
        const { rows } = await pool.query(
          'SELECT 1 FROM pg_indexes WHERE schemaname || $2 || tablename = $1',
          [name, '.'],
        );
        expect(rows).toHaveLength(5);
      }
    });
  });

  test('reject without their table, and when a trigger drops the row', async () => {
    await expect(open({ table: `${schema}.missing` }).keep(aLetter())).rejects.toMatchObject({
      code: '42P01',
    });
    const ruled = open({ table: `${schema}.ruled` });
    await ruled.migrate();
    await pool.query(`
      CREATE FUNCTION ${schema}.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER swallow BEFORE INSERT ON ${schema}.ruled FOR EACH ROW EXECUTE FUNCTION ${schema}.swallow()`);
    await expect(ruled.keep(aLetter())).rejects.toThrow(StoreError);
  });

  test('say for how long they are kept, on which pool, and that processes share them', () => {
    expect(open({ retention: '90d' })).toMatchObject({ retentionMs: 90 * 86_400_000, scope: 'shared' });
    expect(open().database).toBe(pool);
  });
});

describe('the options of dead letters in Postgres', () => {
  const pool = new Pool({ connectionString });
  afterAll(() => pool.end());
  const wrong = postgresDeadLetters as (options?: unknown) => unknown;

  test.each<[object | undefined, RegExp]>([
    [undefined, /pool is undefined, not a pool of pg/],
    [{ pool: 'postgres://localhost' }, /not a pool of pg/],
    [{ table: 'a-b' }, /table is "a-b"/],
    [{ retention: 'soon' }, /retention is "soon"/],
    [{ tabel: 'a' }, /Unknown option "tabel". Did you mean "table"\?/],
    [{ encryptionKeys: [Buffer.alloc(31)] }, /encryptionKeys\[0\] has 31 bytes instead of 32/],
  ])('refuse %p', (options, message) => {
    const given = options && { pool, ...options };
    expect(() => wrong(given)).toThrow(ConfigurationError);
    expect(() => wrong(given)).toThrow(message);
  });
});
