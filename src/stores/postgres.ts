// Remembers event ids in Postgres, and keeps dead letters: one row for each, or one transaction around a delivery.

import type { DeadLetterStore } from '../claims/dead-letter-store.js';
import type { LetterOptions } from '../dead-letters/stored-letters.js';
import { ConfigurationError, refuseUnknownOptions, show } from '../errors.js';
import { retentionMs } from '../options/duration.js';
import { type InTransaction, sqlEngine, type TableStore } from './sql/engine.js';
import { storedInSql } from './sql/letter-rows.js';
import { type ClientOf, PgConnections, type PostgresPool } from './sql/pg-session.js';
import { PostgresDialect } from './sql/postgres.js';
import { PostgresLetterRows } from './sql/postgres-letters.js';

export type * from '../claims/contracts.js';
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresReply } from './sql/pg-session.js';

export interface PostgresStoreOptions<Pool extends PostgresPool = PostgresPool> {
  /** A pool of `pg`. The store neither opens nor ends it. */
  readonly pool: Pool;
  /** `name` or `schema.name`. @default 'webhook_event' */
  readonly table?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
  /**
   * The claim and what handlers write through `context.transaction` are one transaction: committed when every handler
   * has resolved, rolled back otherwise. Each delivery holds a client of the pool meanwhile. @default false
   */
  readonly transactional?: boolean | undefined;
}

export interface PostgresStore<Extra extends object = {}> extends TableStore<Extra> {}

/**
 * A store that any number of processes share.
 *
 * @throws {ConfigurationError} if pool is not a pool, the name of the table needs quotes, or retention is not a duration
 * @example
 * const store = postgresStore({ pool: new Pool({ connectionString }), transactional: true });
 * await store.migrate();
 * const hooks = receiver({ store });
 * hooks.on('transaction.paid', async (event, { transaction }) => {
 *   await transaction.query('INSERT INTO ledger (payment) VALUES ($1)', [event.payload.transaction.id]);
 * });
 */
export function postgresStore<Pool extends PostgresPool>(
  options: PostgresStoreOptions<Pool> & { readonly transactional: true },
): PostgresStore<InTransaction<ClientOf<Pool>>>;
export function postgresStore<Pool extends PostgresPool>(options: PostgresStoreOptions<Pool>): PostgresStore;
export function postgresStore(options: PostgresStoreOptions): PostgresStore<object> {
  const { pool, table = 'webhook_event', retention, transactional = false } = options ?? {};
  refuseUnknownOptions(options ?? {}, ['pool', 'table', 'retention', 'transactional']);
  const connections = new PgConnections(pool);
  if (typeof transactional !== 'boolean')
    throw new ConfigurationError(`transactional is ${show(transactional)}. Give true or false.`);
  const dialect = new PostgresDialect(table);
  return sqlEngine({ connections, dialect, retentionMs: retentionMs(retention), transactional });
}

export interface PostgresDeadLettersOptions extends LetterOptions {
  /** A pool of `pg`. The store neither opens nor ends it. That of a transactional `postgresStore` removes letters in its commits. */
  readonly pool: PostgresPool;
  /** `name` or `schema.name`. @default 'dead_letter' */
  readonly table?: string | undefined;
}

export interface PostgresDeadLetters extends DeadLetterStore {
  /** Creates the table and its indexes unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /** Deletes expired letters and tombstones, a thousand at a time, and resolves with their number. */
  prune(): Promise<number>;
}

/**
 * Dead letters that any number of processes share.
 *
 * @throws {ConfigurationError} if pool is not a pool, the name of the table needs quotes, a key does not have 32 bytes, or
 *   retention is not a duration
 * @example
 * const deadLetters = postgresDeadLetters({ pool, encryptionKeys: [process.env.LETTER_KEY ?? ''], retention: '90d' });
 * await deadLetters.migrate();
 * const hooks = receiver({ store: postgresStore({ pool, transactional: true, retention: '90d' }), deadLetters });
 */
export function postgresDeadLetters(options: PostgresDeadLettersOptions): PostgresDeadLetters {
  const { pool, table = 'dead_letter', encryptionKeys, retention } = options ?? {};
  refuseUnknownOptions(options ?? {}, ['pool', 'table', 'encryptionKeys', 'retention']);
  const rows = new PostgresLetterRows(new PgConnections(pool), table, retentionMs(retention));
  return storedInSql(rows, encryptionKeys);
}
