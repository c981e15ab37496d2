// Remembers event ids in Postgres: one row for each, or one transaction around the whole delivery.

import type { IdempotencyStore } from '../claims/idempotency-store.js';
import { lockOf } from '../claims/lock-of-claim.js';
import { ConfigurationError, refuseUnknownOptions, show } from '../errors.js';
import { retentionMs } from '../options/duration.js';
import { CheckedOutClient } from './postgres/checked-out-client.js';
import { claimRow } from './postgres/claim.js';
import { EventTable } from './postgres/event-table.js';
import { type ClientOf, type PostgresPool, refuseOtherThanPool, survive } from './postgres/pool.js';
import { checkPing, sqlFor } from './postgres/sql.js';
import { claimInTransaction } from './postgres/transaction.js';

export {
  type PostgresDeadLetters,
  type PostgresDeadLettersOptions,
  postgresDeadLetters,
} from './postgres/dead-letters.js';
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresReply } from './postgres/pool.js';

/** After which a client that does not answer is destroyed. Monitors give up earlier. */
const PING_MS = 30_000;

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

export interface PostgresStore<Extra extends object = {}> extends IdempotencyStore<Extra> {
  /** Creates the table and its index unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /** Deletes rows whose retention is over, a thousand at a time, and resolves with their number. */
  prune(): Promise<number>;
  /** Rejects when the server is down or read-only, or has no such table. */
  ping(): Promise<void>;
}

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
): PostgresStore<{ readonly transaction: ClientOf<Pool> }>;
export function postgresStore<Pool extends PostgresPool>(options: PostgresStoreOptions<Pool>): PostgresStore;
export function postgresStore(options: PostgresStoreOptions): PostgresStore<object> {
  const { table, transactional } = read(options ?? {});
  survive(table.pool);
  return {
    scope: 'shared',
    retentionMs: table.retentionMs,
    claim: (key, request) =>
      transactional ? claimInTransaction(table, key, request) : claimRow(table, key, request),
    joins: ({ database }) => transactional && database === table.pool,
    lock: (key, leaseMs) => lockOf((request) => claimRow(table, key, request), leaseMs),
    migrate: async () => {
      await table.pool.query({ text: table.sql.migrate });
    },
    prune: () => table.prune(),
    ping: () => ping(table),
  };
}

/** Also asks whether the server takes writes: a pool may have been left with a replica after a failover. */
async function ping({ pool, sql }: EventTable): Promise<void> {
  const checkedOut = new CheckedOutClient(await pool.connect(), PING_MS);
  try {
    const { rows } = await checkedOut.client.query({ text: sql.ping });
    checkPing(rows[0], sql.exactKey);
  } catch (error) {
    // The pool destroys it. Pings may be all that uses a pool, and would else keep it at the old primary.
    checkedOut.giveBack(error as Error);
    throw error;
  }
  checkedOut.giveBack();
}

function read(options: PostgresStoreOptions) {
  const { pool, table = 'webhook_event', retention, transactional = false } = options;
  refuseUnknownOptions(options, ['pool', 'table', 'retention', 'transactional']);
  refuseOtherThanPool(pool);
  if (typeof transactional !== 'boolean')
    throw new ConfigurationError(`transactional is ${show(transactional)}. Give true or false.`);
  return { table: new EventTable(pool, sqlFor(table), retentionMs(retention)), transactional };
}
