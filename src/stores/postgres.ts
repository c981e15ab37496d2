// Remembers event ids in Postgres: one row for each, or one transaction around the whole delivery.

import { ConfigurationError, refuseUnknownOptions, show } from '../errors.js';
import { retentionMs } from '../options/duration.js';
import { type InTransaction, sqlEngine, type TableStore } from './sql/engine.js';
import { type ClientOf, PgConnections, type PostgresPool } from './sql/pg-session.js';
import { PostgresDialect } from './sql/postgres.js';

export {
  type PostgresDeadLetters,
  type PostgresDeadLettersOptions,
  postgresDeadLetters,
} from './postgres/dead-letters.js';
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
