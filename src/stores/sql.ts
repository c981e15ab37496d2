// Remembers event ids in Postgres or MySQL, through whatever client or ORM its user has.
import { StoreError } from '../errors.js';
import { refuseUnknownOptions } from '../options/unknown-option.js';
import { DATABASE_OPTIONS, Database, type RunTransaction, type SqlDatabase } from './sql/database.js';
import type { TransactionOf } from './sql/transaction-of.js';
import { type IdempotencyStore, retentionMs } from './store.js';

export type { RunTransaction, SqlDatabase } from './sql/database.js';
export type { SqlDialect } from './sql/placeholders.js';
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
  /** Deletes rows whose retention is over, a thousand at a time, and resolves with their number. */
  prune(): Promise<number>;
  /** Rejects when the server is down or read-only, or has no such table. */
  ping(): Promise<void>;
}

export function sqlStore<Client extends object, Transaction = TransactionOf<Client>>(
  options: SqlStoreOptions<Client, Transaction> & { readonly transaction: RunTransaction<Transaction> },
): SqlStore<{ readonly transaction: Transaction }>;
export function sqlStore<Client extends object>(
  options: SqlStoreOptions<Client, Client> & { readonly transaction?: undefined },
): SqlStore;
export function sqlStore(options: SqlStoreOptions): SqlStore<object> {
  const { table, retention, ...database } = options;
  refuseUnknownOptions(options, [...DATABASE_OPTIONS, 'table', 'retention']);
  new Database(database);
  retentionMs(retention);
  throw new StoreError('Not yet.');
}
