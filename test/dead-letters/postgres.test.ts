// Dead letters in Postgres, by its pool and through sqlDeadLetters(): rows that somebody has changed, and what the table does.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigurationError } from 'payment-webhooks';
import { postgresDeadLetters } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { StoreError } from '../../src/errors.js';
import { aLetter, queryOf } from '../setup/letters.js';
import { needing } from '../setup/platform.js';
import { type SqlLetters, sqlServers } from '../setup/sql-letters.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const CLIENTS = ['pg pool', 'pg'] as const;
const openLetters = sqlServers(CLIENTS);

const flipped = (byte: string) => (column: string) =>
  `set_byte(${column}, ${byte}, get_byte(${column}, ${byte}) # 1)`;

/** One bit or character of each column that is sealed, or that what is sealed is tied to. */
const DAMAGES: readonly { readonly column: string; readonly change: (column: string) => string }[] = [
  ...['body', 'head', 'issues'].flatMap((column) =>
    ['0', '1', '13', '29', `length(${column}) - 1`].map((byte) => ({ column, change: flipped(byte) })),
  ),
  ...['body', 'head', 'issues'].map((column) => ({ column, change: () => "'\\x01'" })),
  ...['id', 'key', 'fingerprint', 'event_name', 'event_id'].map((column) => ({
    column,
    change: () => `overlay(${column} placing chr(ascii(right(${column}, 1)) # 1) from length(${column}))`,
  })),
  { column: 'namespace', change: () => "'other'" },
  { column: 'sandbox', change: () => 'NOT sandbox' },
];

needing('postgres').describe.each(CLIENTS)('dead letters in Postgres, through %s', (client) => {
  let letters: SqlLetters;
  beforeAll(async () => {
    letters = await openLetters(client);
    await letters.open().migrate();
  });
  afterAll(() => letters?.close());
  const sealed = () => letters.open({ encryptionKeys: [Buffer.alloc(32, 7)] });
  const table = () => `${letters.schema}.dead_letter`;
  const run: SqlLetters['run'] = (sql, values) => letters.run(sql, values);

  describe('with a changed row', () => {
    test.each(DAMAGES.flatMap(({ column, change }) => [[column, change] as const]))(
      'are unreadable when %s is changed',
      async (column, change) => {
        const store = sealed();
        const letter = aLetter({ namespace: randomBytes(6).toString('hex') });
        const id = await store.keep(letter);
        await run(`UPDATE ${table()} SET ${column} = ${change(column)} WHERE id = $1`, [id]);
        const [listed] = (await store.list({ ...queryOf(letter), ...onlyIf(column) }, { limit: 5 })).letters;
        expect(await store.read(listed?.id ?? id)).toEqual({ status: 'unreadable' });
      },
    );

    /** A row whose namespace is changed is found in another one. */
    function onlyIf(column: string) {
      return column === 'namespace' ? { namespace: 'other' } : {};
    }

    test.each(['body', 'head', 'issues'])(
      'are unreadable when %s is that of another letter',
      async (column) => {
        const store = sealed();
        const one = aLetter();
        const other = aLetter();
        for (const letter of [one, other]) await store.keep(letter);
        await run(
          `UPDATE ${table()} SET ${column} = (SELECT ${column} FROM ${table()} WHERE id = $1) WHERE id = $2`,
          [other.id, one.id],
        );
        expect(await store.read(one.id)).toEqual({ status: 'unreadable' });
        expect((await store.read(other.id)).status).toBe('found');
      },
    );

    test.each(['body', 'head'])('are unreadable without %s', async (column) => {
      const letter = aLetter();
      await sealed().keep(letter);
      await run(`UPDATE ${table()} SET ${column} = NULL WHERE id = $1`, [letter.id]);
      expect(await sealed().read(letter.id)).toEqual({ status: 'unreadable' });
    });

    test('are listed all the same, so that they can be found and discarded', async () => {
      const letter = aLetter({
        namespace: 'listed',
        issues: [{ path: 'payload.id', message: 'required' }],
      });
      await sealed().keep(letter);
      await run(`UPDATE ${table()} SET issues = '\\x00', body = '\\x00' WHERE id = $1`, [letter.id]);
      const { letters: listed } = await sealed().list(queryOf(letter), { limit: 5 });
      expect(listed.map(({ id, issues }) => [id, issues])).toEqual([[letter.id, []]]);
      expect(await sealed().discard(letter.id, { by: 'ada', because: 'changed' })).toBe(true);
    });
  });

  test('keep their time to the millisecond', async () => {
    const letter = aLetter({ namespace: 'precise' });
    await letters.open().keep(letter);
    const [listed] = (await letters.open().list(queryOf(letter), { limit: 1 })).letters;
    const [row] = await run(
      `SELECT kept_at, kept_at = date_trunc('milliseconds', kept_at) AS whole FROM ${table()} WHERE id = $1`,
      [letter.id],
    );
    expect(row).toEqual({ kept_at: listed?.keptAt, whole: true });
  });

  test('are not evicted, however many there are', async () => {
    const namespace = 'crowd';
    const crowd = Array.from({ length: 300 }, () => aLetter({ namespace }));
    await Promise.all(crowd.map((letter) => letters.open().keep(letter)));
    expect(await letters.open().count(queryOf({ namespace }))).toBe(300);
  });

  test('reject without their table, and when a trigger drops the row', async () => {
    const { schema } = letters;
    await expect(letters.open({ table: `${schema}.missing` }).keep(aLetter())).rejects.toMatchObject({
      code: '42P01',
    });
    const ruled = letters.open({ table: `${schema}.ruled` });
    await ruled.migrate();
    await run(
      `CREATE FUNCTION ${schema}.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
    );
    await run(
      `CREATE TRIGGER swallow BEFORE INSERT ON ${schema}.ruled FOR EACH ROW EXECUTE FUNCTION ${schema}.swallow()`,
    );
    await expect(ruled.keep(aLetter())).rejects.toThrow(StoreError);
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

  test('say for how long letters are kept, on which pool, and that processes share them', () => {
    const store = postgresDeadLetters({ pool, retention: '90d' });
    expect(store).toMatchObject({ retentionMs: 90 * 86_400_000, scope: 'shared' });
    expect(store.database).toBe(pool);
  });
});
