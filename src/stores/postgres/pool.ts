// The part of a `pg` pool that the store uses, so that neither types nor code of a driver are loaded.
import { ConfigurationError } from '../../errors.js';
import { show } from '../../options/option-checks.js';

export interface PostgresReply {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: readonly unknown[];
}

export interface PostgresQuery {
  readonly name?: string;
  readonly text: string;
  values?: unknown[];
}

export interface Queryable {
  query(query: PostgresQuery): Promise<PostgresReply>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** A client that is checked out of the pool. */
export interface PostgresClient extends Queryable {
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  release(error?: Error | boolean): void;
  /** False while a query runs. */
  readonly readyForQuery?: boolean;
}

/** A pool of `pg`, or one that behaves like it. */
export interface PostgresPool extends Queryable {
  connect(): Promise<PostgresClient>;
}

/** What `connect()` of this pool resolves with. In `pg` it also has a form with a callback. */
export type ClientOf<Pool extends PostgresPool> = Pool['connect'] extends {
  (): Promise<infer Client extends PostgresClient>;
  (callback: never): void;
}
  ? Client
  : Awaited<ReturnType<Pool['connect']>>;

const survivors = new WeakSet<PostgresPool>();

/** A client that breaks while idle makes its pool emit `error`, which ends the process if nothing listens. */
export function survive(pool: PostgresPool): void {
  if (survivors.has(pool)) return;
  survivors.add(pool);
  // The pool has already dropped the client. If the server is still down, the next query fails.
  pool.on('error', () => {});
}

/** @throws {ConfigurationError} for what is no pool, such as an address */
export function refuseOtherThanPool(pool: PostgresPool | undefined): void {
  if ([pool?.query, pool?.connect, pool?.on].some((method) => typeof method !== 'function')) {
    throw new ConfigurationError(
      `pool is ${show(pool)}, not a pool of pg. Give "new Pool({ connectionString })".`,
    );
  }
}
