// What sqlStore() is given may be wrong: the client, its rows, and above all the function that runs a transaction.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigurationError, receiver } from 'payment-webhooks';
import { type RunTransaction, sqlStore } from 'payment-webhooks/stores/sql';
import { Pool, type PoolClient } from 'pg';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY } from '../setup/delivery.js';
import { needing } from '../setup/platform.js';
import { leased, overPg } from '../setup/sql-clients.js';
import { gate, until } from '../setup/waiting.js';
import { granted } from './worlds.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
const schema = `sql_misuse_${randomBytes(6).toString('hex')}`;
const table = `${schema}.webhook_event`;
const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

withPostgres('a transaction function that does not keep its word', () => {
  const pool = new Pool({ connectionString, max: 10 });
  const right = overPg(pool);
  let events = 0;

  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}`);
    await pool.query(`CREATE TABLE ${schema}.ledger (event text NOT NULL)`);
    await sqlStore({ ...leased(right), table }).migrate();
  });
  afterAll(async () => {
    await until(() => pool.totalCount === pool.idleCount);
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  /** What a sender is answered by a receiver on such a store, whose handler writes one payment, and what is committed. */
  async function delivered(
    transaction: RunTransaction<PoolClient>,
    handle: (client: PoolClient) => unknown = () => {},
    leaseMs = 30_000,
  ) {
    events += 1;
    const store = sqlStore({ ...right, transaction, table });
    const hooks = receiver({
      privateKey: KEY,
      store,
      logger: captureLog().logger,
      lease: leaseMs,
      namespace: `n${events}`,
    });
    hooks.on('transaction.paid', async (event, context) => {
      await context.transaction.query(`INSERT INTO ${schema}.ledger (event) VALUES ($1)`, [
        `${events}:${event.id}`,
      ]);
      await handle(context.transaction);
    });
    const { body, headers } = delivery();
    const response = await hooks.fetch(
      new Request('http://localhost/', { method: 'POST', body: new Uint8Array(body), headers }),
    );
    const { outcome, code } = (await response.json()) as { outcome?: string; code?: string };
    // A transaction that was called twice may still commit.
    await until(() => pool.totalCount === pool.idleCount);
    const count = async (sql: string) => (await pool.query(sql)).rows[0].n as number;
    return {
      answer: [response.status, outcome ?? code],
      payments: await count(`SELECT count(*)::int AS n FROM ${schema}.ledger WHERE event LIKE '${events}:%'`),
      completed: await count(
        `SELECT count(*)::int AS n FROM ${table} WHERE key LIKE 'n${events}:%' AND lease_ends = 'infinity'`,
      ),
    };
  }

  test('keeps it: the event is processed', async () => {
    expect(await delivered(right.transaction)).toMatchObject({
      answer: [200, 'processed'],
      payments: 1,
      completed: 1,
    });
  });

  /** Without a receiver, which logs where a store failed and not what it said. */
  const claimed = async (transaction: RunTransaction<PoolClient>) => {
    events += 1;
    return granted(await sqlStore({ ...right, transaction, table }).claim(`direct ${events}`, request));
  };

  test('resolves without calling its work', async () => {
    await expect(claimed(async () => {})).rejects.toThrow(
      'transaction resolved without having called its work',
    );
    const result = await delivered(async () => {});
    expect(result.answer).toEqual([503, 'STORE_UNAVAILABLE']);
  });

  test('rejects without calling its work', async () => {
    const refuse = async () => Promise.reject(new Error('no connection to be had'));
    await expect(claimed(refuse)).rejects.toThrow('no connection to be had');
    const result = await delivered(refuse);
    expect(result.answer).toEqual([503, 'STORE_UNAVAILABLE']);
  });

  test('never calls its work: the claim gives up when its lease would have ended, and a late call is rolled back', async () => {
    const late = gate();
    const begun = gate<PoolClient>();
    const store = sqlStore({
      ...right,
      table,
      transaction: async (work: (client: PoolClient) => Promise<void>) => {
        await late.opened;
        return right.transaction(async (client) => {
          begun.open(client);
          return work(client);
        });
      },
    });
    await expect((async () => store.claim('late', { ...request, leaseMs: 200 }))()).rejects.toThrow(
      'The lease expired',
    );
    late.open();
    await begun.opened;
    await until(() => pool.totalCount === pool.idleCount);
    const next = await sqlStore({ ...leased(right), table }).claim('late', request);
    expect(next.status).toBe('claimed');
  });

  test('begins later than the receiver waits for: it is rolled back at once', async () => {
    const result = await delivered(async (work) => {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await right.transaction(work);
    });
    expect(result.answer).toEqual([503, 'STORE_UNAVAILABLE']);
    await until(() => pool.totalCount === pool.idleCount);
    expect([result.payments, result.completed]).toEqual([0, 0]);
  });

  test.each<[string, RunTransaction<PoolClient>]>([
    [
      'calls its work again because the first commit failed',
      (work) =>
        right
          .transaction(async (client) => {
            await work(client);
            throw Object.assign(new Error('could not serialize'), { code: '40001' });
          })
          .catch(() => right.transaction(work)),
    ],
    [
      'calls its work twice at once',
      (work) => Promise.all([right.transaction(work), right.transaction(work)]),
    ],
    [
      'calls its work twice at once and hides that one failed',
      (work) => Promise.allSettled([right.transaction(work), right.transaction(work)]),
    ],
    ['does not wait for its work', (work) => right.transaction(async (client) => void work(client))],
    [
      'hides that the commit failed',
      (work) =>
        right
          .transaction(async (client) => {
            await work(client);
            throw new Error('the commit failed');
          })
          .catch(() => {}),
    ],
    [
      'does not look at how COMMIT was answered',
      (work) =>
        right.transaction(async (client) => {
          await work(client);
          await client.query('SELECT 1 / 0').catch(() => {});
        }),
    ],
    [
      'rolls back and resolves',
      (work) =>
        right.transaction(async (client) => {
          await work(client);
          await client.query('ROLLBACK');
        }),
    ],
  ])('%s', async (name, transaction) => {
    const { answer, payments, completed } = await delivered(transaction);
    expect(answer).toEqual([503, expect.stringMatching(/STORE_UNAVAILABLE|CLAIM_LOST/)]);
    // Where the first call had committed before the second came, the row answers the retry.
    expect(completed).toBe(payments);
    if (!name.includes('at once')) expect(payments).toBe(0);
  });

  test('begins no transaction at all', async () => {
    const { answer, completed } = await delivered(async (work) => {
      const client = await pool.connect();
      await work(client).finally(() => client.release());
    });
    expect([answer, completed]).toEqual([[503, 'STORE_UNAVAILABLE'], 0]);
  });

  test('has a time limit of its own, which ends it while the handler works', async () => {
    const ended = gate();
    const result = await delivered(
      (work) =>
        right.transaction(async (client) => {
          void work(client);
          await ended.opened;
          throw new Error('Transaction API error: expired');
        }),
      async () => {
        ended.open();
        await until(() => pool.totalCount === pool.idleCount);
      },
    );
    expect(result.answer).toEqual([503, 'STORE_UNAVAILABLE']);
    expect([result.payments, result.completed]).toEqual([0, 0]);
  });

  test('resolves although its work was rejected: a failed handler is still a failure', async () => {
    const result = await delivered(
      (work) => right.transaction(work).catch(() => {}),
      () => {
        throw new Error('the handler failed');
      },
    );
    expect(result.answer).toEqual([500, 'HANDLER_FAILED']);
    expect([result.payments, result.completed]).toEqual([0, 0]);
  });

  test('and where there is a message, the claim has it', async () => {
    const ended = gate();
    const early = await claimed((work) =>
      right.transaction(async (client) => {
        void work(client);
        await ended.opened;
        throw new Error('expired');
      }),
    );
    ended.open();
    await until(() => pool.totalCount === pool.idleCount);
    expect([await early.renew(1_000), await early.release([])]).toEqual([false, false]);
    await expect((async () => early.complete())()).rejects.toThrow(
      'The transaction ended before its handlers did.',
    );

    const hidden = await claimed((work) => right.transaction(work).catch(() => {}));
    await expect((async () => hidden.release([]))()).rejects.toThrow(
      'transaction resolved although its work was rejected',
    );

    const unheard = await claimed((work) =>
      right.transaction(async (client) => {
        await work(client);
        await client.query('ROLLBACK');
      }),
    );
    await expect((async () => unheard.complete())()).rejects.toThrow('its writes are not committed');

    const hasty = claimed((work) => right.transaction(async (client) => void work(client)));
    await expect(hasty).rejects.toThrow();

    const twice = await claimed((work) =>
      right.transaction(work).then(
        () => right.transaction(work),
        () => {},
      ),
    );
    await expect((async () => twice.complete())()).rejects.toThrow('transaction called its work twice');
  });

  test('wraps what its work is rejected with', async () => {
    const store = sqlStore({
      ...right,
      table,
      transaction: (work: (client: PoolClient) => Promise<void>) =>
        right.transaction(work).catch((cause) => Promise.reject(new Error('transaction failed', { cause }))),
    });
    const result = await store.claim('wrapped', request);
    expect(result.status === 'claimed' && (await result.claim.release([]))).toBe(true);
  });
});

withPostgres('a query function that does not resolve with rows', () => {
  const pool = new Pool({ connectionString, max: 2 });
  const right = leased(overPg(pool));
  const name = `${schema}_rows`;
  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${name}`);
    await sqlStore({ ...right, table: `${name}.webhook_event` }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${name} CASCADE`);
    await pool.end();
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
    [
      'rows and fields',
      async (sql, values) => [(await pool.query(sql, values)).rows, []],
      'an array of something else',
    ],
    ['no rows, whatever it is asked', async () => [], 'answered a claim without a row'],
    [
      'rows without their columns',
      async (sql) => (sql.includes('DO UPDATE') ? [{}] : []),
      'that the store cannot read',
    ],
    [
      'a row that says nothing of attempts',
      async (sql) =>
        sql.includes('DO UPDATE') ? [{ status: 'claimed', attempt: 'many', finished: '[]' }] : [],
      'that the store cannot read',
    ],
    ['an error', async () => Promise.reject(new Error('connection refused')), 'connection refused'],
  ])('but with %s', async (_, query, message) => {
    const store = sqlStore({
      ...right,
      table: `${name}.webhook_event`,
      query: (_client, sql, values) => query(sql, values),
    });
    await expect((async () => store.claim('wrong rows', request))()).rejects.toThrow(message);
  });
});

describe('the options of sqlStore', () => {
  const given = { dialect: 'postgres', client: {}, query: async () => [] };
  const wrong = sqlStore as unknown as (options?: unknown) => unknown;

  test.each([
    [{ dialect: 'pg' }, 'dialect is "pg". Give "postgres" or "mysql".'],
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
