// The part of a `pg` pool that the store uses, so that neither types nor code of a driver are loaded.
import { ConfigurationError, show } from '../../errors.js';

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
  pool.on('error', ignore);
  // One that breaks in the packet that completes its connection is no longer the pool's, and not yet whose it will be.
  const clients = new WeakSet<object>();
  (pool as unknown as Acquiring).on('acquire', (client) => {
    if (clients.has(client)) return;
    clients.add(client);
    client.on('error', ignore);
  });
}

function ignore(): void {}

interface Acquiring {
  on(event: 'acquire', listener: (client: Queryable) => void): unknown;
}

/** @throws {ConfigurationError} for what is no pool, such as an address */
export function refuseOtherThanPool(pool: PostgresPool | undefined): void {
  if ([pool?.query, pool?.connect, pool?.on].some((method) => typeof method !== 'function')) {
    throw new ConfigurationError(
      `pool is ${show(pool)}, not a pool of pg. Give "new Pool({ connectionString })".`,
    );
  }
}
