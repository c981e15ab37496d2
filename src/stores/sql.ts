// Remembers event ids in Postgres or MySQL, through whatever client or ORM its user has.

import type { IdempotencyStore } from '../claims/idempotency-store.js';
import { lockOf } from '../claims/lock-of-claim.js';
import { refuseUnknownOptions } from '../errors.js';
import { retentionMs } from '../options/duration.js';
import { DATABASE_OPTIONS, Database, type RunTransaction, type SqlDatabase } from './sql/database.js';
import { MysqlRows } from './sql/mysql-rows.js';
import { PostgresRows } from './sql/postgres-rows.js';
import { claimRow } from './sql/row-claim.js';
import { claimInTransaction, type InTransaction } from './sql/transaction-claim.js';
import type { TransactionOf } from './sql/transaction-of.js';

export type { RunTransaction, SqlDatabase } from './sql/database.js';
export {
  type SqlDeadLetters,
  type SqlDeadLettersOptions,
  sqlDeadLetters,
} from './sql/letters.js';
export type { SqlDialect, SqlValue } from './sql/placeholders.js';
export type { TransactionOf } from './sql/transaction-of.js';

export interface SqlStoreOptions<Client extends object = object, Transaction = TransactionOf<Client>>
  extends SqlDatabase<Client, Transaction> {
  /** `name` or `schema.name`. @default 'webhook_event' */
  readonly table?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

export interface SqlStore<Extra extends object = {}> extends IdempotencyStore<Extra> {
  /** Creates the table and its index unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /**
   * Deletes rows whose retention is over, a thousand at a time, and resolves with their number. In MySQL, several at once may
   * count a row twice, and leave some to the next time.
   */
  prune(): Promise<number>;
  /** Rejects when the server is down or read-only, or has no such table. */
  ping(): Promise<void>;
}

/**
 * A store that any number of processes share, in Postgres or MySQL, through the client or ORM that you have. With
 * `transaction`, the claim and what handlers write through `context.transaction` are one commit; each delivery holds a
 * connection meanwhile. In Postgres the table is that of `postgresStore`.
 *
 * @throws {ConfigurationError} for an option of the wrong kind, a table whose name needs quotes, or no duration
 * @example
 * const store = sqlStore({
 *   dialect: 'postgres',
 *   client: prisma,
 *   query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
 *   transaction: (work) => prisma.$transaction(work, { timeout: 300_000 }),
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
  const { database, rows, retentionMs } = read(options ?? {});
  const { run, transaction: begin } = database;
  const row = { rows, run, retentionMs };
  return {
    scope: 'shared',
    retentionMs,
    joins: (letters) => begin !== undefined && letters.database === database.client,
    claim: (key, request) =>
      begin
        ? claimInTransaction({ database, begin, rows, retentionMs }, key, request)
        : claimRow(row, key, request),
    lock: (key, leaseMs) => lockOf((request) => claimRow(row, key, request), leaseMs),
    migrate: async () => {
      for (const statement of rows.migrate()) await database.send(database.client, statement);
    },
    prune: async () => {
      for (let sum = 0; ; ) {
        const { pruned, more } = await rows.prune(run, retentionMs);
        sum += pruned;
        if (!more) return sum;
      }
    },
    ping: () => rows.ping(run),
  };
}

function read(options: SqlStoreOptions<object, unknown>) {
  refuseUnknownOptions(options, [...DATABASE_OPTIONS, 'table', 'retention']);
  const { table = 'webhook_event', retention } = options;
  const database = new Database(options);
  const rows = database.dialect === 'mysql' ? new MysqlRows(table) : new PostgresRows(table);
  return { database, rows, retentionMs: retentionMs(retention) };
}
