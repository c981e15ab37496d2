// Remembers event ids in Postgres, MySQL or SQLite, through any client or ORM: alone, or with dead letters as an inbox.

import type { WithOnce, WithOnceSync } from '../contracts/idempotency-store.js';
import type { Inbox } from '../contracts/inbox.js';
import { anything, defineOptions, type OptionRule, RETENTION } from '../options/define-options.js';
import { inboxInTables, TABLE_RULES, type TableOptions } from './inbox/tables.js';
import { MysqlLetterRows } from './letters/mysql.js';
import { PostgresLetterRows } from './letters/postgres.js';
import type { SqlDeadLetters } from './letters/sql.js';
import { SqliteLetterRows } from './letters/sqlite.js';
import { AnyConnections, DATABASE_RULES, type SqlDatabase } from './sql/any-connections.js';
import { sqlEngine, type TableStore } from './sql/engine.js';
import { MysqlDialect } from './sql/mysql.js';
import { PostgresDialect } from './sql/postgres.js';
import { SqliteDialect, sqliteTable } from './sql/sqlite.js';
import { type SqliteDatabase, sqliteDatabase } from './sql/sqlite-database.js';
import { parseTable } from './sql/statement.js';
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

export interface SqlInboxOptions<Client extends object = object, Transaction = TransactionOf<Client>>
  extends SqlDatabase<Client, Transaction>,
    TableOptions {}

export interface SqlInbox<Extra extends object = {}> extends Inbox<Extra> {
  readonly store: SqlStore<Extra>;
  readonly deadLetters: SqlDeadLetters;
}

/**
 * Event ids and dead letters that any number of processes share, in two tables that it creates and prunes, through the client or
 * ORM that you have. Handlers get `once`, for writes that are committed exactly once.
 *
 * @throws {ConfigurationError} for an invalid option, a table whose name needs quotes, or an invalid duration
 * @example
 * const inbox = sqlInbox({
 *   dialect: 'postgres',
 *   client: prisma,
 *   query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
 *   transaction: (work) => prisma.$transaction(work),
 * });
 * const hooks = receiver({ inbox });
 */
export function sqlInbox<Db extends object>(
  options: SqliteDatabase<Db> & TableOptions,
): SqlInbox<WithOnceSync<Db>>;
export function sqlInbox<Client extends object>(options: SqlInboxOptions<Client> & WithoutOnce): SqlInbox;
export function sqlInbox<Client extends object, Transaction = TransactionOf<Client>>(
  options: SqlInboxOptions<Client, Transaction>,
): SqlInbox<WithOnce<Transaction>>;
export function sqlInbox(
  options: SqlInboxOptions<object, unknown> | (SqliteDatabase<object> & TableOptions),
): SqlInbox {
  const { eventTable, deadLetterTable, retention, encryptionKeys, prune, ...database } =
    SQL_INBOX.read(options);
  const connections = new AnyConnections(database);
  const tables = { eventTable, deadLetterTable, retention, encryptionKeys, prune };
  return inboxInTables({ connections, ...TABLES[connections.dialect] }, tables);
}

const SQL_INBOX = defineOptions({ ...DATABASE_RULES, ...TABLE_RULES } satisfies Record<
  keyof SqlInboxOptions,
  OptionRule<unknown>
>);

const TABLES = {
  postgres: { parse: parseTable, Dialect: PostgresDialect, Rows: PostgresLetterRows, files: '.sql' },
  mysql: { parse: parseTable, Dialect: MysqlDialect, Rows: MysqlLetterRows, files: '.mysql.sql' },
  sqlite: { parse: sqliteTable, Dialect: SqliteDialect, Rows: SqliteLetterRows, files: '.sqlite.sql' },
} as const;

/**
 * Event ids and dead letters in a file of SQLite, for an app on one host: durable without a server. Handlers get a synchronous
 * `once`.
 *
 * @param db a database of better-sqlite3, node:sqlite or bun:sqlite, or a Drizzle database on one of them
 * @throws {ConfigurationError} if it is not one, for an invalid option, or a table whose name needs quotes
 * @example
 * const hooks = receiver({ inbox: sqliteInbox(new Database('shop.db')) });
 * hooks.on('transaction.paid', (event, { once }) => {
 *   once((db) => db.prepare('UPDATE orders SET paid = 1 WHERE id = ?').run(event.payload.transaction.order_id));
 * }, { name: 'mark-paid' });
 */
export function sqliteInbox<Db extends object>(
  db: Db,
  options: TableOptions = {},
): SqlInbox<WithOnceSync<Db>> {
  SQL_TABLES.read(options);
  return sqlInbox({ ...sqliteDatabase(db), ...options });
}

const SQL_TABLES = defineOptions(TABLE_RULES);

export interface SqlStoreOptions<Client extends object = object, Transaction = TransactionOf<Client>>
  extends SqlDatabase<Client, Transaction>,
    SqlStoreSettings {}

export interface SqlStoreSettings {
  /** `name` or `schema.name`, in SQLite without a schema. @default 'webhook_event' */
  readonly table?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style string or milliseconds. @default '30d' */
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
  const { table, retention, ...database } = SQL_STORE.read(options);
  const connections = new AnyConnections(database);
  const store = sqlEngine({
    connections,
    dialect: new TABLES[connections.dialect].Dialect(table),
    retentionMs: retention,
  });
  return store as SqlStore;
}

const SQL_STORE = defineOptions({
  ...DATABASE_RULES,
  table: anything('webhook_event'),
  retention: RETENTION,
} satisfies Record<keyof SqlStoreOptions, OptionRule<unknown>>);

/** A client of SQLite without transactions that a handler can hold, such as D1. */
interface WithoutOnce {
  readonly dialect: 'sqlite';
  readonly transaction?: undefined;
}
