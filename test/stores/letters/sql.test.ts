// Dead letters in Postgres, MariaDB and SQLite, by a pool of pg and through clients that users have: the contract, bytes, many at once.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pool as MysqlPool, PoolConnection } from 'mysql2/promise';
import { ConfigurationError, receiver, StoreError } from 'payment-webhooks';
import { postgresDeadLetters } from 'payment-webhooks/stores/postgres';
import {
  type SqlDeadLetters,
  type SqlValue,
  sqlDeadLetters,
  type WithOnce,
} from 'payment-webhooks/stores/sql';
import { deadLetterContract } from 'payment-webhooks/testing';
import { Pool } from 'pg';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { KEY, receivable } from '../../setup/delivery.js';
import { aLetter, keepTheLetterContract, queryOf, WHY } from '../../setup/letters.js';
import { withMariadb } from '../../setup/own-mariadb.js';
import { needing } from '../../setup/platform.js';
import { overMysql2 } from '../../setup/sql-clients.js';
import {
  describeEachClient,
  isMysql,
  isPostgres,
  type SqlLetters,
  sqlServers,
} from '../../setup/sql-letters.js';
import { keepsSharedLetters, NEW_KEY, OLD_KEY } from './shared-letters.js';

const openLetters = sqlServers();
const encryptionKeys = [OLD_KEY];
const newId = () => randomBytes(16).toString('hex');
const ODD_IDS = 'e-1|e-1 |E-1| e-1|é|e\u0301|É|ß|ss|e\'1|e\\1|e\\\\1|e"1|💶|💷'.split('|');

const ONE_EACH = { keep: 1, again: 2, find: 1, list: 1, count: 1, discard: 1, remove: 1, nothing: 1 };
const RETURNING_COUNTS = { ...ONE_EACH, update: 2 };
// A letter that is kept again is read, to see whether it opens. MySQL tells nothing of a write, so a keep, an update and a discard are read back.
const MYSQL_COUNTS = { ...RETURNING_COUNTS, keep: 2, again: 3, update: 3, discard: 2, remove: 2 };

const MISSING_TABLE = {
  postgres: '42P01',
  mysql: 'ER_NO_SUCH_TABLE',
  sqlite: expect.stringContaining('SQLITE_ERROR'),
};

describeEachClient('dead letters through %s', (client) => {
  let letters: SqlLetters;
  beforeAll(async () => {
    letters = await openLetters(client);
    await letters.open().migrate();
  });
  afterAll(() => letters?.close());
  const open: SqlLetters['open'] = (options) => letters.open(options);
  const table = () => `${letters.schema}.dead_letter`;

  const contract = (keys?: (Buffer | string)[]) =>
    deadLetterContract({ create: ({ retention }) => open({ retention, encryptionKeys: keys }) });
  keepTheLetterContract({ 'kept as they are': contract(), 'kept encrypted': contract([NEW_KEY, OLD_KEY]) });

  const rowOf = async (id: string) => {
    const place = isPostgres(client) ? '$1' : '?';
    const [row] = await letters.run(`SELECT * FROM ${table()} WHERE id = ${place}`, [id]);
    return row ?? {};
  };
  const dumpOf = async (id: string) => {
    const text = (value: unknown) => (Buffer.isBuffer(value) ? value.toString('latin1') : value);
    return Object.fromEntries(Object.entries(await rowOf(id)).map(([name, value]) => [name, text(value)]));
  };
  let others: SqlLetters | undefined;
  afterAll(() => others?.close());
  keepsSharedLetters({
    open,
    another: (options) => {
      others = letters.again();
      return others.open(options);
    },
    dumpOf,
    parts: {
      bytes: ['body', 'head', 'issues'],
      identity: ['id', 'key', 'fingerprint', 'namespace', 'event_name', 'event_id', 'sandbox'],
      // MySQL refuses to lose them.
      optional: isMysql(client) ? [] : ['body', 'head'],
    },
    change: async (id, part, edit) => {
      const column = isMysql(client) ? `\`${part}\`` : part;
      const changed = edit((await rowOf(id))[part]);
      const set = `SET ${column} = ${isPostgres(client) ? '$1 WHERE id = $2' : '? WHERE id = ?'}`;
      await letters.run(`UPDATE ${table()} ${set}`, [changed ?? null, id]);
      return changed;
    },
    pages: { letters: 30, limit: 4 },
  });

  test.each([
    ['every byte', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['no byte', Buffer.alloc(0)],
    ['a mebibyte', randomBytes(2 ** 20)],
    ['UTF-16 with quotes', Buffer.from('\\\'"`\u0000?$1 \uD83D\uDE00', 'utf16le')],
  ])('keep %s exactly', async (_, rawBody) => {
    for (const keys of [undefined, encryptionKeys]) {
      const store = open({ encryptionKeys: keys });
      const issues = [{ path: 'payload.metadata.🚀 Ωμέγα', message: '\\\' OR 1=1 -- "?' }];
      const letter = aLetter({ rawBody, issues, headers: { 'x-name': '\\\'"`? 💶' } });
      await store.keep(letter);
      const read = await store.read(letter.id);
      if (read.status !== 'found') throw new Error(read.status);
      expect(read.rawBody.equals(rawBody)).toBe(true);
      expect([read.headers, read.letter.issues]).toEqual([letter.headers, issues]);
    }
  });

  test('tell ids apart by each byte, and say exactly who discarded what', async () => {
    const kept = ODD_IDS.map((eventId) =>
      aLetter({ eventId, namespace: 'bytes', rawBody: Buffer.from('{}') }),
    );
    for (const letter of kept) expect(await open().keep(letter)).toBe(letter.id);
    for (const { id, eventId } of kept) {
      const query = { ...queryOf({ namespace: 'bytes' }), eventId };
      const { letters: found } = await open().list(query, { limit: 5 });
      expect(found.map((letter) => [letter.id, letter.eventId])).toEqual([[id, eventId]]);
    }
    const why = { by: "Ωμέγα \\' OR 1=1 -- ", because: `💶 \\" it's a test?` };
    for (const letter of kept.slice(0, 3)) expect(await open().remove(letter)).toBe(1);
    for (const { id } of kept.slice(3)) expect(await open().discard(id, why)).toBe(true);
    const discarded = { ...queryOf({ namespace: 'bytes' }), discarded: true };
    const { letters: tombstones } = await open().list(discarded, { limit: 50 });
    expect(tombstones.map(({ eventId }) => eventId)).toEqual(ODD_IDS.slice(3));
    for (const { discarded: said } of tombstones) expect(said).toMatchObject(why);
  });

  test('are kept with the right time, whatever the time zone of the session', async () => {
    const before = Date.now();
    const letter = aLetter({ namespace: 'time' });
    await open().keep(letter);
    const [listed] = (await open().list(queryOf(letter), { limit: 1 })).letters;
    const keptAt = listed?.keptAt.getTime() ?? 0;
    // Both clocks are of this machine.
    expect(keptAt).toBeGreaterThanOrEqual(before - 1_000);
    expect(keptAt).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  describe('kept by many at once', () => {
    test('while others remove and update them leave a letter or none, and never an error', async () => {
      const letter = aLetter({ namespace: 'many-mixed' });
      const store = open({ encryptionKeys });
      const id = await store.keep(letter);
      const change = { reason: 'invalid', code: undefined, issues: [] } as const;
      await Promise.all(
        Array.from({ length: 45 }, (_, index) => {
          if (index % 3 === 0) return store.keep({ ...letter, id: newId() });
          return index % 3 === 1 ? store.remove(letter) : store.update(id, change);
        }),
      );
      const { letters: left } = await store.list(queryOf(letter), { limit: 5 });
      expect(left.length).toBeLessThanOrEqual(1);
      for (const each of left) expect((await store.read(each.id)).status).toBe('found');
    });

    test('are discarded by one of them, even if all say the same', async () => {
      const id = await open().keep(aLetter({ namespace: 'many-discard' }));
      const discarded = await Promise.all(Array.from({ length: 12 }, () => open().discard(id, WHY)));
      expect(discarded.filter(Boolean)).toHaveLength(1);
    });
  });

  test('hold neither bytes nor headers when they are discarded', async () => {
    const letter = aLetter();
    await open().keep(letter);
    await open().discard(letter.id, WHY);
    expect(await rowOf(letter.id)).toMatchObject({ body: null, head: null });
  });

  test('are pruned in batches when their retention is over, by several at once', async () => {
    const name = `${letters.schema}.pruned`;
    const store = open({ table: name, retention: '30d' });
    await store.migrate();
    const young = aLetter({ namespace: 'pruned' });
    await store.keep({ ...young, key: 'old', id: 'old 0' });
    const copied =
      'fingerprint, namespace, event_name, event_id, sandbox, reason, attempts, issues, head, body';
    const copies = {
      postgres: `SELECT 'old ' || n, key || n, ${copied}, now() - interval '31 days'
        FROM ${name} CROSS JOIN generate_series(1, 1250) n`,
      mysql: `SELECT CONCAT('old ', seq), CONCAT(\`key\`, seq), ${copied}, UTC_TIMESTAMP(3) - INTERVAL 31 DAY
        FROM ${name} JOIN seq_1_to_1250`,
      sqlite: `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 1250)
        SELECT 'old ' || n, key || n, ${copied}, unixepoch('now', '-31 days') * 1000 FROM ${name} CROSS JOIN numbers`,
    }[letters.database.dialect];
    const key = isMysql(client) ? '`key`' : 'key';
    await letters.run(`INSERT INTO ${name} (id, ${key}, ${copied}, kept_at) ${copies}`);
    const now = { postgres: 'now()', mysql: 'UTC_TIMESTAMP(3)', sqlite: 'unixepoch() * 1000' }[
      letters.database.dialect
    ];
    await letters.run(`UPDATE ${name} SET discarded_at = ${now} WHERE id = 'old 7'`);
    await store.keep(young);
    expect(await store.count?.(queryOf(young))).toBe(2);
    const counts =
      !isMysql(client) || client === 'mysql2 execute'
        ? await Promise.all([store.prune(), store.prune(), store.prune()])
        : [await store.prune()];
    // Several at once in MySQL may count a row twice.
    if (client !== 'mysql2 execute') expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1_249);
    expect(await store.prune()).toBe(0);
    expect(await store.count?.(queryOf(young))).toBe(2);
    expect(await store.count?.({ ...queryOf(young), discarded: true })).toBe(1);
  });

  // Those of a pool are counted on the wire.
  if (client !== 'pg pool')
    test('take as many statements as it needs to know what became of them', async () => {
      const store = open();
      const counts: Record<string, number> = {};
      const count = async (name: string, work: () => unknown) => {
        letters.taken();
        await work();
        counts[name] = letters.taken();
      };
      // A store asks once whether the session commits.
      await store.prune();
      const [letter, other] = [aLetter({ namespace: 'counted' }), aLetter({ namespace: 'counted' })];
      await count('keep', () => store.keep(letter));
      await count('again', () => store.keep({ ...letter, id: newId() }));
      await count('find', () => store.read(letter.id));
      await count('update', () => store.update(letter.id, { reason: 'failed', code: undefined, issues: [] }));
      await count('list', () => store.list(queryOf(letter), { limit: 5 }));
      await count('count', () => store.count?.(queryOf(letter)));
      await count('remove', () => store.remove(letter));
      await count('nothing', () => store.remove(letter));
      await store.keep(other);
      await count('discard', () => store.discard(other.id, WHY));
      expect(counts).toEqual(isMysql(client) ? MYSQL_COUNTS : RETURNING_COUNTS);
    });

  test('migrate at once in two pools, again later, and to tables whose long names begin alike', async () => {
    const other = letters.again();
    const names = ['a', 'b'].map((last) => `${letters.schema}.${'t'.repeat(62)}${last}`);
    await Promise.all(
      names.flatMap((name) => [letters, other, letters].map((each) => each.open({ table: name }).migrate())),
    );
    await other.close();
    for (const name of names) {
      await open({ table: name }).migrate();
      expect(await open({ table: name }).keep(aLetter({ id: 'kept' }))).toBe('kept');
      if (!isPostgres(client)) continue;
      const ofTable = `SELECT 1 FROM pg_indexes WHERE schemaname || '.' || tablename = $1`;
      expect(await letters.run(ofTable, [name])).toHaveLength(5);
    }
  });

  test('reject without their table', async () => {
    await expect(open({ table: `${letters.schema}.missing` }).keep(aLetter())).rejects.toMatchObject({
      code: MISSING_TABLE[letters.database.dialect],
      message: expect.stringContaining('missing'),
    });
  });

  if (!isPostgres(client)) return;

  test('keep their time to the millisecond', async () => {
    const letter = aLetter({ namespace: 'precise' });
    await open().keep(letter);
    const [listed] = (await open().list(queryOf(letter), { limit: 1 })).letters;
    const precise = `SELECT kept_at, kept_at = date_trunc('milliseconds', kept_at) AS whole FROM ${table()} WHERE id = $1`;
    const [row] = await letters.run(precise, [letter.id]);
    expect(row).toEqual({ kept_at: listed?.keptAt, whole: true });
  });

  test('reject when a trigger drops the row', async () => {
    const { schema } = letters;
    const ruled = open({ table: `${schema}.ruled` });
    await ruled.migrate();
    await letters.run(`CREATE FUNCTION ${schema}.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER swallow BEFORE INSERT ON ${schema}.ruled FOR EACH ROW EXECUTE FUNCTION ${schema}.swallow()`);
    await expect(ruled.keep(aLetter())).rejects.toThrow(StoreError);
  });
});

withMariadb('dead letters in MariaDB', () => {
  let letters: SqlLetters;
  beforeAll(async () => {
    letters = await openLetters('mysql2 query');
    await letters.open().migrate();
  });
  afterAll(() => letters?.close());
  const table = () => `${letters.schema}.dead_letter`;

  /** A store on one connection, whose session has a setting. */
  async function inSession(setting: string, work: (store: SqlDeadLetters) => Promise<void>) {
    const connection = await (letters.database.client as MysqlPool).getConnection();
    await connection.query(`SET SESSION ${setting}`);
    await work(sqlDeadLetters({ ...overMysql2(connection as never, 'query'), table: table() }));
    connection.destroy();
  }

  test('are never without bytes', async () => {
    const id = await letters.open().keep(aLetter());
    for (const column of ['head', 'body'])
      await expect(letters.run(`UPDATE ${table()} SET ${column} = NULL WHERE id = ?`, [id])).rejects.toThrow(
        /CONSTRAINT/,
      );
  });

  test('are not kept in a session that would not commit them', async () => {
    await inSession('autocommit = 0', async (store) => {
      const letter = aLetter();
      for (const call of [
        () => store.keep(letter),
        () => store.update(letter.id, letter),
        () => store.remove(letter),
        () => store.discard(letter.id, WHY),
        () => store.prune(),
      ])
        await expect(call()).rejects.toThrow('autocommit is off');
      expect(await letters.run('SELECT * FROM information_schema.innodb_trx')).toEqual([]);
    });
  });

  test.each([true, '_'])(
    'are never miscounted in rows that mysql2 nests by nestTables: %s',
    async (nestTables) => {
      const letter = aLetter({ namespace: `nested-${nestTables}` });
      await letters.open().keep(letter);
      const client = letters.database.client as MysqlPool;
      const query = async (_: object, sql: string, values: SqlValue[]) =>
        (await client.query({ sql, values, nestTables }))[0];
      const nested = sqlDeadLetters({ dialect: 'mysql', client, query, table: table() });
      for (const call of [
        () => nested.keep(letter),
        () => nested.list(queryOf(letter), { limit: 1 }),
        () => nested.count?.(queryOf(letter)),
        () => nested.countGroups?.(queryOf(letter), { names: 1 }),
        () => nested.read(letter.id),
      ])
        await expect(call()).rejects.toThrow('e.g. without nestTables');
    },
  );

  test('whose ids are too long are refused, also by a session that would cut them', async () => {
    const long = (last: string) => aLetter({ eventId: 'e'.repeat(600) + last, namespace: 'long' });
    for (const setting of ["sql_mode = ''", "sql_mode = 'STRICT_ALL_TABLES'"])
      await inSession(setting, async (store) => {
        for (const letter of [long('a'), long('b')]) await expect(store.keep(letter)).rejects.toThrow();
      });
    await inSession("sql_mode = ''", async (store) => {
      await expect(store.keep(long('c'))).rejects.toThrow(StoreError);
    });
  });

  test('that have expired make room for the same event, as a new letter at a new place', async () => {
    const brief = letters.open({ retention: '1h' });
    const [first, second] = [aLetter({ namespace: 'over' }), aLetter({ namespace: 'over' })];
    await brief.keep({ ...first, attempts: 7 });
    await brief.keep(second);
    await letters.run(`UPDATE ${table()} SET kept_at = kept_at - INTERVAL 2 HOUR WHERE id = ?`, [first.id]);
    expect(await brief.keep({ ...first, id: 'again', attempts: 1 })).toBe('again');
    const { letters: listed } = await brief.list(queryOf(first), { limit: 5 });
    expect(listed.map(({ id, attempts }) => [id, attempts])).toEqual([
      [second.id, 1],
      ['again', 1],
    ]);
  });

  test('are each replayed once by three that replay at once, with one row of the ledger', async () => {
    await letters.run(`CREATE TABLE ${letters.schema}.ledger (event varchar(100) NOT NULL)`);
    await letters.stores().store.migrate();
    const start = () =>
      receiver({ privateKey: KEY, logger: false, namespace: 'replay', ...letters.stores() });
    const before = start();
    const ids = Array.from({ length: 40 }, (_, index) => `r-${index}`);
    for (const id of ids) await before.receive(receivable({ ...fixtures.event('refund.made', {}), id }));
    expect(await before.deadLetters.count()).toMatchObject({ total: 40 });
    const replaying = [0, 1, 2].map(() => {
      const hooks = start();
      const insert = `INSERT INTO ${letters.schema}.ledger VALUES (?)`;
      const write = ({ id }: { id: string }, { once }: WithOnce<object>) =>
        once((connection) => (connection as PoolConnection).query(insert, [id]));
      hooks.onUnknown(write, { name: 'ledger' });
      return hooks.deadLetters.replay({ concurrency: 3 });
    });
    const reports = await Promise.all(replaying);
    expect(reports.reduce((sum, { processed }) => sum + processed, 0)).toBe(40);
    expect(reports.map(({ failed }) => failed)).toEqual([0, 0, 0]);
    expect(await before.deadLetters.count()).toMatchObject({ total: 0 });
    const paid = (await letters.run(`SELECT event FROM ${letters.schema}.ledger`)).map(({ event }) => event);
    expect(paid.sort()).toEqual([...ids].sort());
  });
});

needing('postgres').describe('dead letters in the table of postgresDeadLetters()', () => {
  test('are read, changed and removed by both', async () => {
    const letters = await openLetters('pg');
    const [ofAny, pool] = [letters.open({ encryptionKeys }), letters.database.client as Pool];
    const ofPg = postgresDeadLetters({ pool, table: `${letters.schema}.dead_letter`, encryptionKeys });
    await ofAny.migrate();
    await ofPg.migrate();
    for (const [one, other] of [
      [ofPg, ofAny],
      [ofAny, ofPg],
    ] as const) {
      const letter = aLetter({ issues: [{ path: 'payload', message: 'required' }] });
      await one.keep(letter);
      expect(await other.read(letter.id)).toEqual(await one.read(letter.id));
      expect(await other.keep({ ...letter, id: newId() })).toBe(letter.id);
      const list = [queryOf(letter), { limit: 5 }] as const;
      expect(await one.list(...list)).toEqual(await other.list(...list));
      expect(await other.remove(letter)).toBe(1);
      expect(await one.read(letter.id)).toEqual({ status: 'gone' });
    }
    await letters.close();
  });
});

/** The statements in the one that runs them all. */
function insideOf(sql: string): string {
  const body = /^DO 'BEGIN\n(.*)\nEND'$/s.exec(sql)?.[1] ?? '';
  return body.replaceAll("''", "'").replace('PERFORM', 'SELECT');
}

test.each([
  ['postgres', 'dead-letter.sql'],
  ['mysql', 'dead-letter.mysql.sql'],
  ['sqlite', 'dead-letter.sqlite.sql'],
] as const)(
  'the table in %s is that of the docs, so that another role can create it',
  async (dialect, file) => {
    const docs = readFileSync(join(__dirname, '../../../docs/sql', file), 'utf8');
    const sent: string[] = [];
    const query = async (_: object, sql: string) => {
      // In Postgres one statement, for clients that send one at a time. SQLite is asked for its version first.
      if (!sql.includes('AS clock')) sent.push(sql.startsWith('DO ') ? insideOf(sql) : sql);
      return [{ clock: 'text' }];
    };
    await sqlDeadLetters({ dialect, client: {}, query }).migrate();
    const asOne = sent.map((sql) => sql.trim().replace(/;$/, '')).join(';\n');
    expect(`${asOne};`).toBe(docs.trim());
  },
);

describe('the options of dead letters in a SQL database', () => {
  const pool = new Pool({ connectionString: process.env.TEST_POSTGRES_URL });
  afterAll(() => pool.end());
  const any = { dialect: 'postgres', client: {}, query: async () => [] };
  const STORES = {
    'a pool of pg': [postgresDeadLetters, { pool }],
    'any client': [sqlDeadLetters, any],
  } as const;

  const ofBoth = (['a pool of pg', 'any client'] as const).flatMap((by) => [
    [by, { table: 'a-b' }, /table is "a-b"/],
    [by, { retention: 'soon' }, /retention is "soon"/],
    [by, { tabel: 'a' }, /Unknown option "tabel". Did you mean "table"\?/],
    [by, { encryptionKeys: [Buffer.alloc(31)] }, /encryptionKeys\[0\] has 31 bytes instead of 32/],
  ]);
  test.each<[keyof typeof STORES, object | undefined, RegExp]>([
    ...ofBoth,
    ['a pool of pg', undefined, /pool is undefined, not a pool of pg/],
    ['a pool of pg', { pool: 'postgres://localhost' }, /not a pool of pg/],
    ['any client', undefined, /dialect is undefined/],
    ['any client', { dialect: 'oracle' }, /dialect is "oracle"/],
    ['any client', { dialect: 'mysql', table: 'a-b' }, /table is "a-b"/],
  ] as [keyof typeof STORES, object | undefined, RegExp][])('by %s refuse %p', (by, options, message) => {
    const [open, given] = STORES[by] as readonly [(options?: unknown) => unknown, object];
    expect(() => open(options && { ...given, ...options })).toThrow(ConfigurationError);
    expect(() => open(options && { ...given, ...options })).toThrow(message);
  });

  test('say for how long letters are kept, and that processes share them', () => {
    const retention = '90d';
    for (const store of [
      postgresDeadLetters({ pool, retention }),
      sqlDeadLetters({ ...any, dialect: 'mysql', retention }),
    ])
      expect(store).toMatchObject({ retentionMs: 90 * 86_400_000, scope: 'shared' });
  });

  test.each(['postgres', 'mysql', 'sqlite'] as const)(
    'reject a client that gives no rows in %s',
    async (dialect) => {
      const store = sqlDeadLetters({ dialect, client: {}, query: async () => ({ rows: [] }) });
      await expect(store.keep(aLetter())).rejects.toThrow(StoreError);
      const silent = sqlDeadLetters({ dialect, client: {}, query: async () => [] });
      await expect(silent.keep(aLetter())).rejects.toThrow(StoreError);
    },
  );
});
