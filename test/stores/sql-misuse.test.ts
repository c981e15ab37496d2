// What sqlStore() is given may be wrong: the client, its rows, and above all the function that runs a transaction.
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigurationError, receiver } from 'payment-webhooks';
import { type RunTransaction, sqlStore } from 'payment-webhooks/stores/sql';
import { fixtures } from 'payment-webhooks/testing';
import type { Pool, PoolClient } from 'pg';
import { KEY, receivable } from '../setup/delivery.js';
import { needing } from '../setup/platform.js';
import { leased, overPg } from '../setup/sql-clients.js';
import { gate, until } from '../setup/waiting.js';
import { expire, fails } from './transactions.js';
import { granted, ownWorld, postgresWorld } from './worlds.js';

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
  const storeBy = (transaction: RunTransaction<PoolClient>) =>
    sqlStore({ ...right, transaction, table: world.table });

  type Work = (client: PoolClient) => Promise<void>;
  /** Does something more between the work and the end of the transaction. */
  const followedBy = (more: (client: PoolClient) => unknown) => (work: Work) =>
    right.transaction(async (client) => {
      await work(client);
      await more(client);
    });
  const fails = (code: string) => () => Promise.reject(Object.assign(new Error('no commit'), { code }));
  const rollsBack = followedBy((client) => client.query('ROLLBACK'));
  const hasty = (work: Work) => right.transaction(async (client) => void work(client));
  const twice = (work: Work) => [right.transaction(work), right.transaction(work)];
  const hides = (work: Work) => right.transaction(work).catch(() => {});
  /** Has a time limit, which ends it while its work goes on. */
  const limited = (limit: Promise<void>) => (work: Work) =>
    right.transaction(async (client) => {
      void work(client);
      await limit;
      throw new Error('Transaction API error: expired');
    });

  /** What a sender is answered by a receiver on such a store, whose handler writes one payment, and what is committed. */
  async function delivered(
    transaction: RunTransaction<PoolClient>,
    handle: () => unknown = () => {},
    afterAnswer: () => unknown = () => {},
  ) {
    const event = fixtures.transactionPaid();
    const hooks = receiver({ privateKey: KEY, store: storeBy(transaction), logger: false });
    hooks.on('transaction.paid', async ({ id }, context) => {
      await world.pay(world.sending(context.transaction), id);
      await handle();
    });
    const { status, body } = await hooks.receive(receivable(event));
    const { outcome, code } = JSON.parse(body) as { outcome?: string; code?: string };
    await afterAnswer();
    // A transaction that was called twice may still commit.
    await idle();
    const sql = `SELECT FROM ${world.table} WHERE key LIKE '%:' || $1 AND lease_ends = 'infinity'`;
    const { length: completed } = await world.observe(sql, [event.id]);
    return {
      answer: [status, outcome ?? code],
      payments: await world.paid(event.id),
      completed,
    };
  }

  test('keeps it: the event is processed', async () => {
    const processed = { answer: [200, 'processed'], payments: 1, completed: 1 };
    expect(await delivered(right.transaction)).toEqual(processed);
  });

  /** Without a receiver, which logs where a store failed and not what it said. */
  const claimed = async (transaction: RunTransaction<PoolClient>) => {
    return granted(await storeBy(transaction).claim(`direct ${randomUUID()}`, request));
  };

  /** Async, because a claim may throw synchronously. */
  const completing = async (claim: Awaited<ReturnType<typeof claimed>>) => claim.complete();

  test('resolves without calling its work', async () => {
    const claiming = claimed(async () => {});
    await expect(claiming).rejects.toThrow('transaction resolved without calling its work');
    expect((await delivered(async () => {})).answer).toEqual([503, 'STORE_UNAVAILABLE']);
  });

  test('rejects without calling its work', async () => {
    const refuse = async () => Promise.reject(new Error('no connection to be had'));
    await expect(claimed(refuse)).rejects.toThrow('no connection to be had');
    expect((await delivered(refuse)).answer).toEqual([503, 'STORE_UNAVAILABLE']);
  });

  test('never calls its work: the claim gives up when its lease would have ended, and a late call is rolled back', async () => {
    const [late, begun] = [gate(), gate()];
    const store = storeBy(async (work) => {
      await late.opened;
      await right.transaction(async (client) => {
        begun.open();
        await work(client);
      });
    });
    const claiming = (async () => store.claim('late', { ...request, leaseMs: 200 }))();
    await expect(claiming).rejects.toThrow('The lease expired');
    late.open();
    await begun.opened;
    await idle();
    const next = await sqlStore({ ...leased(right), table: world.table }).claim('late', request);
    expect(next.status).toBe('claimed');
  });

  test('begins later than the receiver waits for: it is rolled back at once', async () => {
    const answered = gate();
    const steps: string[] = [];
    const late = async (work: Work) => {
      await answered.opened;
      const transaction = right.transaction((client) => {
        steps.push('begun');
        return work(client);
      });
      transaction.then(
        () => steps.push('committed'),
        () => steps.push('rolled back'),
      );
      await transaction;
    };
    const result = await delivered(late, undefined, () => {
      answered.open();
      return until(() => steps.length === 2);
    });
    expect(steps).toEqual(['begun', 'rolled back']);
    expect(result).toEqual({ answer: [503, 'STORE_UNAVAILABLE'], payments: 0, completed: 0 });
  });

  test.each<[string, RunTransaction<PoolClient>]>([
    [
      'calls its work again because the first commit failed',
      (work) => followedBy(fails('40001'))(work).catch(() => right.transaction(work)),
    ],
    ['calls its work twice at once', (work) => Promise.all(twice(work))],
    ['calls its work twice at once and hides that one failed', (work) => Promise.allSettled(twice(work))],
    ['does not wait for its work', hasty],
    ['hides that the commit failed', (work) => followedBy(fails('XX000'))(work).catch(() => {})],
    ['ignores how COMMIT was answered', followedBy((by) => by.query('SELECT 1 / 0').catch(() => {}))],
    ['rolls back and resolves', rollsBack],
  ])('%s', async (name, transaction) => {
    const { answer, payments, completed } = await delivered(transaction);
    expect(answer).toEqual([503, expect.stringMatching(/STORE_UNAVAILABLE|CLAIM_LOST/)]);
    // Where the first call had committed before the second came, the row answers the retry.
    expect(completed).toBe(payments);
    if (!name.includes('at once')) expect(payments).toBe(0);
  });

  test('begins no transaction at all', async () => {
    const { answer, completed } = await delivered(async (work) => {
      const client = await right.client.connect();
      await work(client).finally(() => client.release());
    });
    expect([answer, completed]).toEqual([[503, 'STORE_UNAVAILABLE'], 0]);
  });

  test('has a time limit of its own, which ends it while the handler works', async () => {
    const ended = gate();
    const result = await delivered(limited(ended.opened), async () => {
      ended.open();
      await idle();
    });
    expect(result).toEqual({ answer: [503, 'STORE_UNAVAILABLE'], payments: 0, completed: 0 });
  });

  test('resolves although its work was rejected: a failed handler is still a failure', async () => {
    const result = await delivered(hides, () => Promise.reject(new Error('the handler failed')));
    expect(result).toEqual({ answer: [500, 'HANDLER_FAILED'], payments: 0, completed: 0 });
  });

  test('and where there is a message, the claim has it', async () => {
    const ended = gate();
    const early = await claimed(limited(ended.opened));
    ended.open();
    await idle();
    expect([await early.renew(1_000), await early.release([])]).toEqual([false, false]);
    await expect(completing(early)).rejects.toThrow('The transaction ended before its handlers did.');

    const hidden = await claimed(hides);
    const releasing = (async () => hidden.release([]))();
    await expect(releasing).rejects.toThrow('transaction resolved although its work was rejected');

    const unheard = await claimed(rollsBack);
    await expect(completing(unheard)).rejects.toThrow('its writes are not committed');

    await expect(claimed(hasty)).rejects.toThrow();

    const again = await claimed((work) =>
      right.transaction(work).then(
        () => right.transaction(work),
        () => {},
      ),
    );
    await expect(completing(again)).rejects.toThrow('transaction called its work twice');
  });

  test('wraps what its work is rejected with', async () => {
    const wrapped = await claimed((work) =>
      right.transaction(work).catch((cause) => Promise.reject(new Error('transaction failed', { cause }))),
    );
    expect(await wrapped.release([])).toBe(true);
  });
});

/** A transaction that still sends statements through its connection once it has ended. */
interface Outliving {
  run(sql: string, values: unknown[]): PromiseLike<{ rows: object[] }>;
  nest(work: (nested: Outliving) => Promise<void>): Promise<void>;
}

const entityKind = Symbol.for('drizzle:entityKind');

class DrizzleTransaction {
  static readonly [entityKind] = 'NodePgTransaction';
  readonly #client: PoolClient;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  execute(sql: string, values: unknown[]) {
    return this.#client.query(sql, values);
  }

  transaction(work: (nested: DrizzleTransaction) => Promise<void>): Promise<void> {
    return work(new DrizzleTransaction(this.#client));
  }
}

const overDrizzle = (by: DrizzleTransaction): Outliving => ({
  run: (sql, values) => by.execute(sql, values),
  nest: (work) => by.transaction((nested) => work(overDrizzle(nested))),
});

interface Tag {
  (strings: readonly string[], ...values: unknown[]): Promise<{ rows: object[] }>;
  unsafe(sql: string, values?: unknown[]): unknown;
  savepoint(work: (nested: Tag) => Promise<void>): Promise<void>;
}

function postgresJsTransaction(client: PoolClient): Tag {
  const tag = (strings: readonly string[], ...values: unknown[]) =>
    client.query(
      strings.reduce((text, next, index) => `${text}$${index}${next}`),
      values,
    );
  const savepoint = (work: (nested: Tag) => Promise<void>): Promise<void> =>
    work(postgresJsTransaction(client));
  return Object.assign(tag, { unsafe: client.query.bind(client), savepoint });
}

const overPostgresJs = (by: Tag): Outliving => ({
  run: async (sql, values) => by(sql.split(/\$\d+/), ...values),
  nest: (work) => by.savepoint((nested) => work(overPostgresJs(nested))),
});

/** Sends a statement only when the one before it is answered. */
class KyselyTransaction {
  readonly #client: PoolClient;
  #running: Promise<unknown> | undefined;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async executeQuery({ sql, parameters }: { sql: string; parameters: unknown[] }) {
    while (this.#running) await this.#running.catch(() => {});
    const running = this.#client.query(sql, parameters).finally(() => {
      this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  /** Until the rows are read to the end, no statement is sent. */
  stream(): void {
    this.#running = new Promise(() => {});
  }

  withSchema(): KyselyTransaction {
    return new KyselyTransaction(this.#client);
  }
}

const overKysely = (by: KyselyTransaction): Outliving => ({
  run: async (sql, parameters) => by.executeQuery({ sql, parameters }),
  nest: (work) => work(overKysely(by.withSchema())),
});

class TypeormManager {
  readonly #client: PoolClient;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async query(sql: string, values: unknown[]) {
    return (await this.#client.query(sql, values)).rows;
  }

  release() {}

  transaction(work: (nested: TypeormManager) => Promise<void>): Promise<void> {
    return work(this);
  }
}

const overTypeorm = (by: TypeormManager): Outliving => ({
  run: async (sql, values) => ({ rows: await by.query(sql, values) }),
  nest: (work) => by.transaction((nested) => work(overTypeorm(nested))),
});

needing('postgres').describe(
  'a client that sends a statement only when the one before it is answered',
  () => {
    const world = ownWorld(() => postgresWorld('sqlStore'));

    async function begin() {
      const { pool, key } = world.open();
      const right = overPg(pool);
      const store = sqlStore<object, KyselyTransaction>({
        ...{ dialect: 'postgres', client: pool, table: world.table },
        query: async (by, sql, parameters) =>
          (by instanceof KyselyTransaction
            ? await by.executeQuery({ sql, parameters })
            : await pool.query(sql, parameters)
          ).rows,
        transaction: (work) => right.transaction((client) => work(new KyselyTransaction(client))),
      });
      const claim = granted(await store.claim(key, request));
      const idle = () => pool.totalCount === pool.idleCount;
      return { key, claim, transaction: claim.context.transaction, idle };
    }

    /** Writes one payment many times at once, after a statement that may fail. */
    async function writing(first: string) {
      const begun = await begin();
      const { key, transaction } = begun;
      const insert = `INSERT INTO ${world.ledger} (event) VALUES ($1)`;
      const statements = [
        transaction.executeQuery({ sql: first, parameters: [] }),
        ...Array.from({ length: 5 }, () => transaction.executeQuery({ sql: insert, parameters: [key] })),
      ];
      return { ...begun, settled: Promise.allSettled(statements), failing: Promise.all(statements) };
    }

    test('writes nothing once a handler has failed at the first of several statements', async () => {
      const { key, claim, settled, failing, idle } = await writing('SELECT 1 / 0');
      await expect(failing).rejects.toThrow('division by zero');
      expect(await claim.release([])).toBe(true);
      await settled;
      await until(idle);
      expect(await world.paid(key)).toBe(0);
    });

    test('writes nothing when the handler fails while a statement runs', async () => {
      const { key, claim, settled, idle } = await writing(world.sleep(0.1));
      expect(await claim.release([])).toBe(true);
      await settled;
      await until(idle);
      expect(await world.paid(key)).toBe(0);
    });

    test('is rolled back although a handler has left a stream of rows open', async () => {
      const { claim, transaction, idle } = await begin();
      await expire(claim);
      transaction.stream();
      await until(idle);
      await fails(() => claim.complete(), 'The lease expired');
    });
  },
);

needing('postgres').describe('a transaction that still runs statements once it has ended', () => {
  const world = ownWorld(() => postgresWorld('sqlStore'));

  test.each<[string, (client: PoolClient) => object, (transaction: never) => Outliving]>([
    ['Drizzle', (client) => new DrizzleTransaction(client), overDrizzle],
    ['Postgres.js', postgresJsTransaction, overPostgresJs],
    ['Kysely', (client) => new KyselyTransaction(client), overKysely],
    ['TypeORM, before its rollback is answered', (client) => new TypeormManager(client), overTypeorm],
  ])(
    'writes nothing after the lease, neither by itself nor with another event: %s',
    async (_, begin, over) => {
      const { pool, key } = world.open({ max: 1 });
      const right = overPg(pool);
      const store = sqlStore<object, object>({
        ...{ dialect: 'postgres', client: pool, table: world.table },
        query: async (by, sql, values) =>
          (by === pool ? await pool.query(sql, values) : await over(by as never).run(sql, values)).rows,
        transaction: (work) => right.transaction((client) => work(begin(client))),
      });
      const claim = granted(await store.claim(key, request));
      const transaction = over(claim.context.transaction as never);
      const pay = async (by: Outliving, event: string) =>
        by.run(`INSERT INTO ${world.ledger} (event) VALUES ($1)`, [event]);
      await pay(transaction, key);
      const [begun, ended] = [gate(), gate()];
      const nesting = transaction.nest(async (nested) => {
        await pay(nested, key);
        begun.open();
        await ended.opened;
        await pay(nested, `${key}:late`);
      });
      await begun.opened;
      await expire(claim);
      await until(() => pool.totalCount === pool.idleCount);
      await expect(pay(transaction, `${key}:late`)).rejects.toThrow('The transaction has ended');
      const next = granted(await store.claim(`${key}:next`, request));
      await expect(pay(transaction, `${key}:late`)).rejects.toThrow('The transaction has ended');
      ended.open();
      await expect(nesting).rejects.toThrow('The transaction has ended');
      expect(await next.complete()).toBe(true);
      expect([await world.paid(key), await world.paid(`${key}:late`)]).toEqual([0, 0]);
    },
  );
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
    const given = { ...leased(overPg(pool)), table: world.table };
    const store = sqlStore({ ...given, query: (_client, sql, values) => query(sql, values) });
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
