// What sqlStore() is given may be wrong: the client, its rows, and above all the function that runs a transaction.
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigurationError, RetryAfterError, receiver } from 'payment-webhooks';
import { type RunTransaction, sqlStore } from 'payment-webhooks/stores/sql';
import { fixtures } from 'payment-webhooks/testing';
import type { Pool, PoolClient } from 'pg';
import { KEY, receivable } from '../setup/delivery.js';
import { needing } from '../setup/platform.js';
import { overPg } from '../setup/sql-clients.js';
import { gate, until } from '../setup/waiting.js';
import { ownWorld, postgresWorld } from './worlds.js';

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
});

describe('the options of sqlStore', () => {
  const given = { dialect: 'postgres', client: {}, query: async () => [] };
  const wrong = sqlStore as unknown as (options?: unknown) => unknown;

  test.each([
    [{ dialect: 'pg' }, 'dialect is "pg". Pass "postgres", "mysql" or "sqlite".'],
    [{ dialect: undefined }, 'dialect is undefined.'],
    [{ client: undefined }, 'client is undefined. Give what query() runs statements with'],
    [{ client: 'postgres://localhost' }, 'client is "postgres://localhost".'],
    [{ query: undefined }, 'query is undefined. Give a function (client, sql, values)'],
    [{ transaction: true }, 'transaction is true. Give a function (work)'],
    [{ table: 'a-b' }, 'table is "a-b". Give "name" or "schema.name"'],
    [{ dialect: 'mysql', table: 'a`b' }, 'table is "a`b". Give "name" or "schema.name"'],
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
