// Remembers event ids in Postgres: one row for each, or one transaction around the whole delivery.
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions } from '../unknown-option.js';
import { claimRow } from './postgres/claim.js';
import { type ClientOf, type PostgresPool, survive } from './postgres/pool.js';
import { sqlFor } from './postgres/sql.js';
import { Asking } from './postgres/statement.js';
import { claimInTransaction } from './postgres/transaction.js';
import { type IdempotencyStore, retentionMs } from './store.js';

export type { PostgresClient, PostgresPool, PostgresQuery, PostgresReply } from './postgres/pool.js';

export interface PostgresStoreOptions<Pool extends PostgresPool = PostgresPool> {
  /** A pool of `pg`. The store neither opens nor ends it. */
  readonly pool: Pool;
  /** `name` or `schema.name`. @default 'webhook_event' */
  readonly table?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
  /**
   * The claim and what handlers write through `context.transaction` are one transaction: committed when every handler
   * has resolved, rolled back otherwise. Each delivery at work holds a client of the pool. @default false
   */
  readonly transactional?: boolean | undefined;
}

export interface PostgresStore<Extra extends object = {}> extends IdempotencyStore<Extra> {
  /** Creates the table and its index unless they are there. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /** Deletes what is no longer remembered, a thousand rows at a time, and tells how many. */
  prune(): Promise<number>;
}

const PRUNE_BATCH = 1_000;

/**
 * A store that any number of processes share.
 *
 * @throws {ConfigurationError} for what is no pool, a table name that would need quoting, or no duration
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
): PostgresStore<{ readonly transaction: ClientOf<Pool> }>;
export function postgresStore<Pool extends PostgresPool>(options: PostgresStoreOptions<Pool>): PostgresStore;
export function postgresStore(options: PostgresStoreOptions): PostgresStore<object> {
  const { pool, sql, retention, transactional } = check(options ?? {});
  survive(pool);
  const asking = new Asking();
  const claims = { pool, sql, asking, retention };
  return {
    scope: 'shared',
    claim: (key, request) =>
      transactional ? claimInTransaction(claims, key, request) : claimRow(claims, key, request),
    migrate: async () => {
      await pool.query({ text: sql.migrate });
    },
    prune: async () => {
      for (let pruned = 0; ; ) {
        const { rowCount } = await asking.again(() =>
          asking.query(pool, sql.prune, [retention, PRUNE_BATCH]),
        );
        pruned += rowCount ?? 0;
        if ((rowCount ?? 0) < PRUNE_BATCH) return pruned;
      }
    },
  };
}

function check(options: PostgresStoreOptions) {
  const { pool, table = 'webhook_event', retention, transactional = false } = options;
  refuseUnknownOptions(options, ['pool', 'table', 'retention', 'transactional']);
  if ([pool?.query, pool?.connect, pool?.on].some((method) => typeof method !== 'function')) {
    throw new ConfigurationError('pool is none; give one of pg: "new Pool({ connectionString })".');
  }
  if (typeof transactional !== 'boolean')
    throw new ConfigurationError(`transactional is of type ${typeof transactional}; give true or false.`);
  return { pool, sql: sqlFor(table), retention: retentionMs(retention), transactional };
}
