// Remembers event ids in Postgres or MySQL, through any client or ORM.

import { refuseUnknownOptions } from '../errors.js';
import { retentionMs } from '../options/duration.js';
import {
  AnyConnections,
  DATABASE_OPTIONS,
  type RunTransaction,
  type SqlDatabase,
} from './sql/any-session.js';
import { type InTransaction, sqlEngine, type TableStore } from './sql/engine.js';
import { MysqlDialect } from './sql/mysql.js';
import { PostgresDialect } from './sql/postgres.js';
import type { TransactionOf } from './sql/transaction-of.js';

export type * from '../claims/contracts.js';
export type { RunTransaction, SqlDatabase, SqlDialect, SqlValue } from './sql/any-session.js';
export {
  type SqlDeadLetters,
  type SqlDeadLettersOptions,
  sqlDeadLetters,
} from './sql/letters.js';
export type { TransactionOf } from './sql/transaction-of.js';

export interface SqlStoreOptions<Client extends object = object, Transaction = TransactionOf<Client>>
  extends SqlDatabase<Client, Transaction> {
  /** `name` or `schema.name`. @default 'webhook_event' */
  readonly table?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

export interface SqlStore<Extra extends object = {}> extends TableStore<Extra> {}

/**
 * A store that any number of processes share, in Postgres or MySQL, through the client or ORM that you have. With
 * `transaction`, the claim and what handlers write through `context.transaction` are one commit; each delivery holds a
 * connection meanwhile. In Postgres the table is that of `postgresStore`.
 *
 * @throws {ConfigurationError} for an invalid option, a table whose name needs quotes, or an invalid duration
 * @example
 * const store = sqlStore({
 *   dialect: 'postgres',
 *   client: prisma,
 *   query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
 *   transaction: (work) => prisma.$transaction(work, { timeout: 310_000 }), // above maxHandlerTime
 * });
 * await store.migrate();
 * const hooks = receiver({ store });
 * hooks.on('transaction.paid', async (event, { transaction }) => {
 *   await transaction.ledger.create({ data: { payment: event.payload.transaction.id } });
 * });
 */
export function sqlStore<Client extends object, Transaction = TransactionOf<Client>>(
  options: SqlStoreOptions<Client, Transaction> & { readonly transaction: RunTransaction<Transaction> },
): SqlStore<InTransaction<Transaction>>;
export function sqlStore<Client extends object>(
  options: SqlStoreOptions<Client, Client> & { readonly transaction?: undefined },
): SqlStore;
export function sqlStore(options: SqlStoreOptions<object, unknown>): SqlStore<object> {
  const { table = 'webhook_event', retention, ...database } = options ?? {};
  refuseUnknownOptions(options ?? {}, [...DATABASE_OPTIONS, 'table', 'retention']);
  return sqlEngine({
    connections: new AnyConnections(database),
    dialect: new (database.dialect === 'mysql' ? MysqlDialect : PostgresDialect)(table),
    retentionMs: retentionMs(retention),
    transactional: database.transaction !== undefined,
  });
}
