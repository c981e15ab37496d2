// Remembers event ids in Postgres, MySQL or SQLite, through any client or ORM.

import type { WithOnce, WithOnceSync } from '../contracts/idempotency-store.js';
import { refuseUnknownOptions } from '../misuse.js';
import { retentionMs } from '../time.js';
import { AnyConnections, DATABASE_OPTIONS, type SqlDatabase } from './sql/any-connections.js';
import { sqlEngine, type TableStore } from './sql/engine.js';
import { MysqlDialect } from './sql/mysql.js';
import { PostgresDialect } from './sql/postgres.js';
import { SqliteDialect } from './sql/sqlite.js';
import type { SqliteDatabase } from './sql/sqlite-database.js';
import type { TransactionOf } from './sql/transaction-of.js';

export type * from '../contracts/for-doors.js';
export type { OnceSync, WithOnceSync } from '../contracts/idempotency-store.js';
export {
  type SqlDeadLetters,
  type SqlDeadLettersOptions,
  sqlDeadLetters,
} from './letters/sql.js';
export type { RunTransaction, SqlDatabase, SqlDialect, SqlValue } from './sql/any-connections.js';
export { type SqliteDatabase, sqliteDatabase } from './sql/sqlite-database.js';
export type { TransactionOf } from './sql/transaction-of.js';

export interface SqlStoreOptions<Client extends object = object, Transaction = TransactionOf<Client>>
  extends SqlDatabase<Client, Transaction>,
    SqlStoreSettings {}

export interface SqlStoreSettings {
  /** `name` or `schema.name`, in SQLite without a schema. @default 'webhook_event' */
  readonly table?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

export interface SqlStore<Extra extends object = {}> extends TableStore<Extra> {}

/**
 * A store that any number of processes share, in Postgres, MySQL or SQLite, through the client or ORM that you have. Handlers get
 * `once`, for writes that are committed exactly once. In Postgres the table is that of `postgresStore`.
 *
 * @throws {ConfigurationError} for an invalid option, a table whose name needs quotes, or an invalid duration
 * @example
 * const store = sqlStore({
 *   dialect: 'postgres',
 *   client: prisma,
 *   query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
 *   transaction: (work) => prisma.$transaction(work),
 * });
 * await store.migrate();
 * const hooks = receiver({ store });
 * hooks.on('transaction.paid', async (event, { once }) => {
 *   await once((tx) => tx.ledger.create({ data: { payment: event.payload.transaction.id } }));
 * }, { name: 'ledger' });
 */
export function sqlStore<Db extends object>(
  options: SqliteDatabase<Db> & SqlStoreSettings,
): SqlStore<WithOnceSync<Db>>;
export function sqlStore<Client extends object>(options: SqlStoreOptions<Client> & WithoutOnce): SqlStore;
export function sqlStore<Client extends object, Transaction = TransactionOf<Client>>(
  options: SqlStoreOptions<Client, Transaction>,
): SqlStore<WithOnce<Transaction>>;
export function sqlStore(
  options: SqlStoreOptions<object, unknown> | (SqliteDatabase<object> & SqlStoreSettings),
): SqlStore {
  const { table = 'webhook_event', retention, ...database } = options ?? {};
  refuseUnknownOptions(options ?? {}, [...DATABASE_OPTIONS, 'table', 'retention']);
  const connections = new AnyConnections(database as SqlDatabase<object, unknown>);
  const store = sqlEngine({
    connections,
    dialect: new DIALECTS[database.dialect](table),
    retentionMs: retentionMs(retention),
  });
  return store as SqlStore;
}

/** A client of SQLite without transactions that a handler can hold, such as D1. */
interface WithoutOnce {
  readonly dialect: 'sqlite';
  readonly transaction?: undefined;
}

const DIALECTS = { postgres: PostgresDialect, mysql: MysqlDialect, sqlite: SqliteDialect };
