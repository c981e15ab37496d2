// What TypeScript knows of sqlStore(): the transaction of once(), from the types of the client.

import type Database from 'better-sqlite3';
import { receiver } from 'payment-webhooks';
import {
  type SqlDeadLetters,
  type SqlStore,
  sqlDeadLetters,
  sqliteDatabase,
  sqlStore,
  type WithOnce,
  type WithOnceSync,
} from 'payment-webhooks/stores/sql';
import { is } from './is.js';

/** As each library declares them, cut down to what a store needs. */
interface PrismaTransaction {
  $queryRawUnsafe<T = unknown>(sql: string, ...values: unknown[]): Promise<T>;
  readonly ledger: { create(row: object): Promise<object> };
}
interface Prisma extends PrismaTransaction {
  $transaction<P extends Promise<unknown>[]>(work: [...P]): Promise<unknown[]>;
  $transaction<R>(work: (tx: PrismaTransaction) => Promise<R>, options?: { timeout?: number }): Promise<R>;
}
declare const prisma: Prisma;
const withPrisma = sqlStore({
  dialect: 'postgres',
  client: prisma,
  query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
  transaction: (work) => prisma.$transaction(work, { timeout: 60_000 }),
});
is<SqlStore<WithOnce<PrismaTransaction>>>()(withPrisma);

interface EntityManager {
  query(sql: string, values?: unknown[]): Promise<unknown>;
  save(entity: object): Promise<object>;
}
interface DataSource {
  query(sql: string, values?: unknown[]): Promise<unknown>;
  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T>;
  transaction<T>(isolation: 'SERIALIZABLE', work: (manager: EntityManager) => Promise<T>): Promise<T>;
}
declare const dataSource: DataSource;

const withTypeorm = sqlStore({
  dialect: 'mysql',
  client: dataSource,
  query: (client, sql, values) => client.query(sql, values),
  transaction: (work) => dataSource.transaction(work),
});
is<SqlStore<WithOnce<EntityManager>>>()(withTypeorm);

interface KnexTransaction extends Knex {
  commit(): Promise<void>;
}
interface Knex {
  (table: string): { insert(row: object): Promise<number[]> };
  raw(sql: string, values: readonly unknown[]): Promise<{ rows: object[] }>;
  transaction(config?: object): Promise<KnexTransaction>;
  transaction(work: null, config?: object): Promise<KnexTransaction>;
  transaction<T>(work: (trx: KnexTransaction) => Promise<T>, config?: object): Promise<T>;
}
declare const knex: Knex;

const withKnex = sqlStore({
  dialect: 'postgres',
  client: knex,
  query: async (client, sql, values) => (await client.raw(sql.replace(/\$\d+/g, '?'), values)).rows,
  transaction: (work) => knex.transaction(work),
});
is<SqlStore<WithOnce<KnexTransaction>>>()(withKnex);

interface KyselyTransaction extends Kysely {
  readonly isTransaction: true;
}
interface Kysely {
  executeQuery(query: { sql: string; parameters: unknown[] }): Promise<{ rows: object[] }>;
  transaction(): { execute<T>(work: (trx: KyselyTransaction) => Promise<T>): Promise<T> };
}
declare const kysely: Kysely;

const withKysely = sqlStore({
  dialect: 'postgres',
  client: kysely,
  query: async (client, sql, parameters) => (await client.executeQuery({ sql, parameters })).rows,
  transaction: (work) => kysely.transaction().execute(work),
});
is<SqlStore<WithOnce<KyselyTransaction>>>()(withKysely);

interface Connection {
  execute(sql: string, values: unknown[]): Promise<[object[], object[]]>;
  beginTransaction(): Promise<void>;
  commit(): Promise<void>;
}
interface MysqlPool {
  execute(sql: string, values: unknown[]): Promise<[object[], object[]]>;
  getConnection(): Promise<Connection>;
}
declare const mysqlPool: MysqlPool;

const withMysql2 = sqlStore({
  dialect: 'mysql',
  client: mysqlPool,
  query: async (client, sql, values) => (await client.execute(sql, values))[0],
  transaction: async (work) => {
    const connection = await mysqlPool.getConnection();
    await connection.beginTransaction();
    await work(connection);
    await connection.commit();
  },
});
is<SqlStore<WithOnce<Connection>>>()(withMysql2);

// A client whose types say nothing: its user does.
declare const plain: { send(sql: string, values: unknown[]): Promise<object[]> };
declare const begin: (work: (session: typeof plain & { id: string }) => Promise<void>) => Promise<void>;
const withPlain = sqlStore({
  dialect: 'postgres',
  client: plain,
  query: (client, sql, values) => client.send(sql, values),
  transaction: (work: (session: typeof plain & { id: string }) => Promise<void>) => begin(work),
});
is<SqlStore<WithOnce<typeof plain & { id: string }>>>()(withPlain);

// A synchronous driver of SQLite: once() returns no promise.
declare const sqlite: Database.Database;
const withSqlite = sqlStore({ ...sqliteDatabase(sqlite), retention: '60d' });
is<SqlStore<WithOnceSync<Database.Database>>>()(withSqlite);
receiver({ privateKey: 'pri_sandbox_x', store: withSqlite }).on(
  'transaction.paid',
  (_event, { once }) => {
    is<number | undefined>()(once((db) => db.prepare('DELETE FROM cart').run().changes));
    is<string | undefined>()(once(sqlite, () => 'done'));
  },
  { name: 'ledger' },
);

// A client of SQLite with promises has once() only with transactions, which D1 does not have.
const sqliteByPromises = {
  dialect: 'sqlite',
  client: plain,
  query: (client: typeof plain, sql: string, values: unknown[]) => client.send(sql, values),
} as const;
const withTransactions = sqlStore({
  ...sqliteByPromises,
  transaction: (work: (session: typeof plain & { id: string }) => Promise<void>) => begin(work),
});
is<SqlStore<WithOnce<typeof plain & { id: string }>>>()(withTransactions);
is<SqlStore>()(sqlStore(sqliteByPromises));
receiver({ privateKey: 'pri_sandbox_x', store: sqlStore(sqliteByPromises) }).on('*', (_event, context) => {
  // @ts-expect-error: without transactions there is no once()
  context.once;
});

// For once(tx, work) alone, with transactions that handlers begin.
const begunByHandlers = sqlStore({
  dialect: 'postgres',
  client: prisma,
  query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
});
is<SqlStore<WithOnce<PrismaTransaction>>>()(begunByHandlers);

receiver({ privateKey: 'pri_sandbox_x', store: withPrisma }).on(
  'transaction.paid',
  async ({ payload: { transaction } }, { once }) => {
    is<object | undefined>()(await once((tx) => tx.ledger.create({ payment: transaction.id })));
    await prisma.$transaction((tx) => once(tx, () => tx.ledger.create({ payment: transaction.id })));
    // @ts-expect-error: without a transaction that the handler has begun, the work is given one
    await once(() => {}, prisma);
  },
  { name: 'ledger' },
);

receiver({ privateKey: 'pri_sandbox_x', store: withPrisma }).on('*', (_event, context) => {
  // @ts-expect-error: writes are committed by once()
  context.transaction;
});

receiver({ privateKey: 'pri_sandbox_x' }).on('*', (_event, context) => {
  // @ts-expect-error: the memory store is not in the database of the writes
  context.once;
});

// @ts-expect-error: Postgres is not called pg here
sqlStore({ dialect: 'pg', client: plain, query: (client, sql, values) => client.send(sql, values) });

const letters = sqlDeadLetters({
  dialect: 'postgres',
  client: prisma,
  query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
  encryptionKeys: [Buffer.alloc(32)],
  retention: '90d',
});
is<SqlDeadLetters>()(letters);
receiver({ privateKey: 'pri_sandbox_x', store: withPrisma, deadLetters: letters });

// @ts-expect-error: its pool is called client here
sqlDeadLetters({ dialect: 'postgres', pool: plain, query: () => Promise.resolve([]) });
