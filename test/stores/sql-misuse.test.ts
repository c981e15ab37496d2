// What sqlStore() is given may be wrong: the client, its rows, and above all the function that runs a transaction.
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { PoolConnection } from 'mysql2/promise';
import { ConfigurationError, RetryAfterError, receiver } from 'payment-webhooks';
import {
  type RunTransaction,
  type SqlDatabase,
  type SqlValue,
  sqlDeadLetters,
  sqlInbox,
  sqlStore,
} from 'payment-webhooks/stores/sql';
import { fixtures } from 'payment-webhooks/testing';
import type { Pool, PoolClient } from 'pg';
import { KEY, receivable } from '../setup/delivery.js';
import { openSqlite, sqliteFile } from '../setup/open-sqlite.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { needing } from '../setup/platform.js';
import { overPg } from '../setup/sql-clients.js';
import { gate, until } from '../setup/waiting.js';
import { granted, mariadbWorld, ownWorld, postgresWorld, type World } from './worlds.js';

const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

needing('postgres').describe('a transaction function that does not keep its word', () => {
  const world = ownWorld(() => postgresWorld('sqlStore'));
  let right: ReturnType<typeof overPg>;
  let idle: () => Promise<void>;
  beforeAll(() => {
    const { pool } = world.open({ max: 10 });
    right = overPg(pool);
    idle = () => until(() => pool.totalCount === pool.idleCount);
  });

  type Work = (client: PoolClient) => Promise<void>;
  /** Does something more between the work and the end of the transaction. */
  const followedBy = (more: (client: PoolClient) => unknown) => (work: Work) =>
    right.transaction(async (client) => {
      await work(client);
      await more(client);
    });
  const fails = () => Promise.reject(new Error('no commit'));
  const hides = (work: Work) => right.transaction(work).catch(() => {});
  const twice = (work: Work) => [right.transaction(work), right.transaction(work)];

  type Handle = (client: PoolClient) => unknown;

  /**
   * What a sender is answered, at first and when it retries, by a receiver on such a store, whose handler writes one payment
   * inside once(); and how many payments are committed after each.
   */
  async function delivered(
    transaction: RunTransaction<PoolClient>,
    { inside = () => {}, calls = 1 }: { inside?: Handle; calls?: number } = {},
  ) {
    const event = fixtures.transactionPaid();
    const steps: unknown[] = [];
    for (const by of [transaction, right.transaction]) {
      const store = sqlStore({ ...right, transaction: by, table: world.table });
      const hooks = receiver({ privateKey: KEY, store, logger: false });
      const handler = async ({ id }: { readonly id: string }, once: RunOnce) => {
        for (let call = 1; by === transaction && call < calls; call += 1) await pay(id, once).catch(() => {});
        await pay(id, once);
      };
      const pay = (id: string, once: RunOnce) =>
        once(async (client) => {
          await world.pay(world.sending(client), id);
          if (by === transaction) await inside(client);
        });
      hooks.on('transaction.paid', (given, { once }) => handler(given, once), { name: 'pay' });
      const { status, body } = await hooks.receive(receivable(event));
      const { outcome, code } = JSON.parse(body) as { outcome?: string; code?: string };
      // A transaction that was called twice may still commit.
      await idle();
      steps.push([status, outcome ?? code, await world.paid(event.id)]);
    }
    return steps;
  }
  type RunOnce = (work: (client: PoolClient) => Promise<void>) => Promise<void>;

  const failedFirst = [
    [500, 'HANDLER_FAILED', 0],
    [200, 'processed', 1],
  ];
  const atOnce = [
    [200, 'processed', 1],
    [200, 'duplicate', 1],
  ];

  test('keeps it: the event is processed', async () => {
    expect(await delivered(right.transaction)).toEqual(atOnce);
  });

  test.each<[string, RunTransaction<PoolClient>]>([
    ['resolves without calling its work', async () => {}],
    ['cannot connect', () => Promise.reject(new Error('no connection to be had'))],
    ['throws', () => JSON.parse('not a promise')],
    ['does not wait for its work', (work) => right.transaction(async (client) => void work(client))],
    ['hides that the commit failed', (work) => followedBy(fails)(work).catch(() => {})],
    ['ignores how COMMIT was answered', followedBy((by) => by.query('SELECT 1 / 0').catch(() => {}))],
    ['rolls back and resolves', followedBy((by) => by.query('ROLLBACK'))],
    [
      'begins no transaction at all',
      async (work) => {
        const client = await right.client.connect();
        await work(client).finally(() => client.release());
      },
    ],
  ])('%s: the handler has failed, and the retry writes', async (_, transaction) => {
    expect(await delivered(transaction)).toEqual(failedFirst);
  });

  test('resolves without calling its work: the error says how to call it', async () => {
    const store = sqlStore({ ...right, transaction: async () => {}, table: world.table });
    const claim = granted(await store.claim('default:live:resolves', request));
    const called = claim.forHandler?.('pay').context.once(() => {});
    await expect(called).rejects.toThrow('Call work once, and wait for it: (work) => …');
  });

  test.each<[string, RunTransaction<PoolClient>]>([
    [
      'because the first commit failed',
      (work) => followedBy(fails)(work).catch(() => right.transaction(work)),
    ],
    [
      'although the first commit succeeded',
      (work) =>
        right
          .transaction(work)
          .then(fails)
          .catch(() => right.transaction(work)),
    ],
    ['twice at once', (work) => Promise.all(twice(work))],
    ['twice at once, and hides that one failed', (work) => Promise.allSettled(twice(work))],
  ])('calls its work again, %s: the payment is written once', async (_, transaction) => {
    expect(await delivered(transaction)).toEqual(atOnce);
  });

  const afterCommit = (work: Work) => right.transaction(work).then(fails);

  test('reports a commit as failed: the retry finds the row', async () => {
    expect(await delivered(afterCommit)).toEqual([
      [500, 'HANDLER_FAILED', 1],
      [200, 'processed', 1],
    ]);
  });

  test('reports a commit as failed, and its handler calls once() again: it finds the row', async () => {
    let calls = 0;
    const firstFails = (work: Work) => (++calls === 1 ? afterCommit(work) : right.transaction(work));
    expect(await delivered(firstFails, { calls: 2 })).toEqual(atOnce);
  });

  test('has a time limit of its own, which ends it while the handler works', async () => {
    const ended = gate();
    const limited = (work: Work) =>
      right.transaction(async (client) => {
        void work(client);
        await ended.opened;
        throw new Error('Transaction API error: expired');
      });
    const inside = async () => {
      ended.open();
      await idle();
    };
    expect(await delivered(limited, { inside })).toEqual(failedFirst);
  });

  test('resolves although its work was rejected: a failed handler is still a failure', async () => {
    const inside = () => Promise.reject(new Error('the handler failed'));
    expect(await delivered(hides, { inside })).toEqual(failedFirst);
  });

  test('wraps what its work is rejected with: what the work asked for counts', async () => {
    const wraps = (work: Work) =>
      right.transaction(work).catch((cause) => Promise.reject(new Error('transaction failed', { cause })));
    const inside = () => Promise.reject(new RetryAfterError('30s'));
    expect(await delivered(wraps, { inside })).toEqual([
      [503, 'RETRY_LATER', 0],
      [200, 'processed', 1],
    ]);
  });

  test('is not what once() was given, but the pool: refused, and later claims are granted', async () => {
    const store = sqlStore<Pool, object>({ ...(right as SqlDatabase<Pool, object>), table: world.table });
    const result = await store.claim('pool', request);
    const handler = result.status === 'claimed' ? result.claim.forHandler?.('pay') : undefined;
    const once = handler?.context.once(right.client, async () => {});
    await expect(once).rejects.toThrow('once() was given no open transaction');
    expect(await store.claim('pool too', request)).toMatchObject({ status: 'claimed' });
  });

  test('is missing: once(work) names the option, and once(tx, work) needs none', async () => {
    const { transaction: _, ...rest } = right;
    const store = sqlStore<Pool, PoolClient>({ ...rest, table: world.table });
    const result = await store.claim('without', request);
    const handler = result.status === 'claimed' ? result.claim.forHandler?.('pay') : undefined;
    const none = async () => {};
    await expect(handler?.context.once(none)).rejects.toThrow('needs the option transaction of sqlStore()');
    await right.transaction(async (client) => void (await handler?.context.once(client, none)));
    expect(await world.known('without pay')).toBe(1);
  });
});

interface Queryable {
  query(...given: unknown[]): unknown;
}

/** @param world by `sqlStore` */
function refusesOneConnection(
  world: World,
  { dialect, query }: Pick<SqlDatabase<object>, 'dialect' | 'query'>,
  connect: () => Promise<{ readonly client: Queryable; release(): void }>,
): void {
  const open = async (isSame: boolean) => {
    const { client, release } = await connect();
    // ORMs give another object to each transaction.
    const other = { query: (...given: unknown[]) => client.query(...given) };
    const run = (sql: string) => query(client, sql, []);
    const transaction = async (work: (tx: object) => Promise<void>) => {
      await run('BEGIN');
      await work(isSame ? client : other).finally(() => run('ROLLBACK'));
    };
    const store = sqlStore<object, object>({ dialect, client, query, transaction, table: world.table });
    return { store, release };
  };

  test.each([
    ['the client itself', true],
    ['another object', false],
  ])(
    'whose transactions get %s is refused: a rollback would undo claims of other events',
    async (what, isSame) => {
      const { store, release } = await open(isSame);
      const claim = granted(await store.claim(what, request)).forHandler?.('pay');
      const worked: unknown[] = [];
      const once = await Promise.allSettled([claim?.context.once(() => void worked.push(what))]);
      const next = await Promise.allSettled([store.claim(`${what} too`, request)]);
      release();
      expect([worked.length, await world.known(`${what} pay`), await world.known(`${what} too`)]).toEqual([
        0, 0, 0,
      ]);
      for (const [settled] of [once, next])
        expect(inspect(settled)).toMatch(/rejected(?:.|\n)*a client with a connection of its own/);
    },
  );
}

needing('postgres').describe('a client of Postgres with one connection for everything', () => {
  const world = ownWorld(() => postgresWorld('sqlStore'));
  const query = async (by: object, sql: string, values: SqlValue[]) =>
    (await (by as PoolClient).query(sql, values)).rows;
  refusesOneConnection(world, { dialect: 'postgres', query }, async () => {
    const client = await world.open().pool.connect();
    return { client: client as unknown as Queryable, release: () => client.release() };
  });
});

withMariadb('a client of MariaDB with one connection for everything', () => {
  const mariadb = ownMariadb();
  const world = ownWorld(() => mariadbWorld(mariadb, 'query'));
  const query = async (by: object, sql: string, values: SqlValue[]) =>
    (await (by as PoolConnection).query(sql, values))[0];
  refusesOneConnection(world, { dialect: 'mysql', query }, async () => {
    const client = await mariadb.pool().getConnection();
    return { client: client as unknown as Queryable, release: () => client.release() };
  });
});

/** A client of promises over one connection of SQLite, as TypeORM, sqlite3 and the better-sqlite3 adapter of Prisma have. */
function oneConnection(file?: string) {
  const db = openSqlite(file);
  const run = async (sql: string, values: (string | null)[] = []) => {
    await new Promise(setImmediate);
    return /RETURNING|^\s*(?:SELECT|PRAGMA)/.test(sql)
      ? db.prepare(sql).all(...values)
      : void db.prepare(sql).run(...values);
  };
  return { run, close: () => db.close() };
}
type OneConnection = Pick<ReturnType<typeof oneConnection>, 'run'>;

needing('SQLite').describe('a client of SQLite with promises', () => {
  const { file, remove } = sqliteFile();
  const opened: { close(): unknown }[] = [];
  afterAll(() => {
    for (const each of opened) each.close();
    remove();
  });

  /** @param given what the work of a transaction gets */
  async function receiving(client: OneConnection, writer: OneConnection, given: OneConnection) {
    await writer.run('CREATE TABLE IF NOT EXISTS ledger (line TEXT)');
    const inbox = sqlInbox<OneConnection, OneConnection>({
      dialect: 'sqlite',
      client,
      query: (by, sql, values) => by.run(sql, values as string[]),
      transaction: async (work) => {
        await writer.run('BEGIN');
        try {
          await work(given);
          await writer.run('COMMIT');
        } catch (error) {
          await writer.run('ROLLBACK');
          throw error;
        }
      },
    });
    const hooks = receiver({ privateKey: KEY, inbox, logger: false });
    const [inside, go] = [gate(), gate()];
    hooks.on(
      'transaction.paid',
      async ({ payload: { transaction } }, { once }) => {
        if (transaction.order_id !== 'undone') return;
        await once(async (tx) => {
          await tx.run('INSERT INTO ledger VALUES (?)', ['undone']);
          inside.open();
          await go.opened;
          throw new RetryAfterError('30s');
        }).finally(inside.open);
      },
      { name: 'pay' },
    );
    const deliver = async (order_id: string) => {
      const event = fixtures.transactionPaid({ payload: { transaction: { order_id } } });
      const { body } = await hooks.receive(receivable(event));
      const { outcome, code } = JSON.parse(body) as { outcome?: string; code?: string };
      return outcome ?? code;
    };
    // Another event comes while the transaction of the first is open, and is rolled back with it.
    const undone = deliver('undone');
    await inside.opened;
    const other = deliver('other');
    await new Promise((resolve) => setTimeout(resolve, 50));
    go.open();
    return { answers: [await undone, await other], inbox };
  }

  test.each(['the client itself', 'another object'])(
    'with one connection for everything is refused, whether transactions get %s: no event is answered and then undone',
    async (what) => {
      const client = oneConnection();
      opened.push(client);
      const { run } = client;
      const { answers, inbox } = await receiving(
        client,
        client,
        what === 'another object' ? { run } : client,
      );
      // Not 500: the letter of the first event would not be safe there either.
      expect(answers).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
      await expect(inbox.ping()).rejects.toThrow('Give the store a client with a connection of its own');
    },
  );

  test('with a connection of its own is not', async () => {
    const [client, writer] = [oneConnection(file), oneConnection(file)];
    opened.push(client, writer);
    // A driver that waits for the lock blocks the process that keeps it.
    for (const pragma of ['journal_mode = WAL', 'busy_timeout = 10']) await client.run(`PRAGMA ${pragma}`);
    const { answers, inbox } = await receiving(client, writer, writer);
    expect(answers).toEqual(['RETRY_LATER', 'processed']);
    await inbox.ping();
  });
});

needing('postgres').describe('a query function that does not resolve with rows', () => {
  const world = ownWorld(() => postgresWorld('sqlStore'));
  let pool: Pool;
  beforeAll(() => {
    ({ pool } = world.open());
  });

  test.each<[string, (sql: string, values: unknown[]) => Promise<unknown>, string]>([
    ['the whole answer', (sql, values) => pool.query(sql, values), 'query resolved with an object'],
    ['nothing', async () => undefined, 'query resolved with undefined'],
    ['null', async () => null, 'query resolved with null'],
    ['a count', async () => 1, 'query resolved with number'],
    [
      'rows as arrays',
      async (text, values) => (await pool.query({ text, values, rowMode: 'array' })).rows,
      'query resolved with an array of something else',
    ],
    ['fields too', async (...sent) => [(await pool.query(...sent)).rows, []], 'an array of something else'],
    ['no rows, whatever it is asked', async () => [], 'answered a claim without a row'],
    ['empty rows', async (sql) => (/DO UPDATE/.test(sql) ? [{}] : []), 'that the store cannot read'],
    [
      'a row that says nothing of attempts',
      async (sql) =>
        sql.includes('DO UPDATE') ? [{ status: 'claimed', attempt: 'many', finished: '[]' }] : [],
      'that the store cannot read',
    ],
    ['an error', async () => Promise.reject(new Error('connection refused')), 'connection refused'],
  ])('but with %s', async (_, query, message) => {
    const given = { ...overPg(pool), table: world.table };
    const store = sqlStore({ ...given, query: (_client, sql, values) => query(sql, values) });
    await expect((async () => store.claim('wrong rows', request))()).rejects.toThrow(message);
  });

  test('but with bytes in place of text: ping() says so, and not that the server is read-only', async () => {
    const asBytes = (row: object) =>
      Object.fromEntries(Object.entries(row).map(([k, v]) => [k, Buffer.from(`${v}`)]));
    const query = async (_: unknown, sql: string, values: unknown[]) =>
      (await pool.query(sql, values)).rows.map(asBytes);
    const store = sqlStore({ ...overPg(pool), table: world.table, query });
    await expect(store.ping()).rejects.toThrow('that the store cannot read');
    // MySQL is asked the same question in other words.
    const mysql = sqlStore({
      dialect: 'mysql',
      client: pool,
      query: async () => [asBytes({ readonly: 0, autocommit: 1 })],
    });
    await expect(mysql.ping()).rejects.toThrow('that the store cannot read');
  });

  test('a migration has no dollar sign, which Sequelize and others take for a placeholder', async () => {
    const sent: string[] = [];
    const given = overPg(pool);
    const query: (typeof given)['query'] = (client, sql, values) => {
      sent.push(sql);
      return given.query(client, sql, values);
    };
    for (const store of [sqlStore({ ...given, query }), sqlDeadLetters({ ...given, query })])
      await store.migrate();
    expect(sent).toHaveLength(2);
    expect(sent.join()).not.toContain('$');
  });
});

describe('the options of sqlStore', () => {
  const given = { dialect: 'postgres', client: {}, query: async () => [] };
  const wrong = sqlStore as unknown as (options?: unknown) => unknown;

  test.each([
    [{ dialect: 'pg' }, 'dialect is "pg". Pass "postgres", "mysql" or "sqlite".'],
    [{ dialect: undefined }, 'dialect is undefined.'],
    [{ client: undefined }, 'client is undefined. Pass what query() runs statements with'],
    [{ client: 'postgres://localhost' }, 'client is "postgres://localhost".'],
    [{ query: undefined }, 'query is undefined. Pass a function (client, sql, values)'],
    [{ transaction: true }, 'transaction is true. Pass a function (work)'],
    [{ table: 'a-b' }, 'table is "a-b". Pass "name" or "schema.name"'],
    [{ dialect: 'mysql', table: 'a`b' }, 'table is "a`b". Pass "name" or "schema.name"'],
    [{ retention: 'soon' }, 'retention is "soon"'],
    [{ tabel: 'a' }, 'Unknown option "tabel". Did you mean "table"?'],
  ])('refuse %p', (changed, message) => {
    expect(() => wrong({ ...given, ...changed })).toThrow(ConfigurationError);
    expect(() => wrong({ ...given, ...changed })).toThrow(message);
  });

  test('refuse missing options', () => {
    expect(() => wrong()).toThrow(ConfigurationError);
  });

  test('may be undefined for their defaults, and a client may be a function', () => {
    const rest = { table: undefined, retention: undefined, transaction: undefined };
    expect(wrong({ ...given, ...rest, client: () => {} })).toMatchObject({ scope: 'shared' });
  });
});
