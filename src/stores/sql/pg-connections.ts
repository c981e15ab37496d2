// A pool of `pg`: named statements, row counts, and clients that are released exactly once.

import { ConfigurationError, StoreError } from '../../errors.js';
import { show } from '../../misuse.js';
import { withDeadline } from '../../time.js';
import { isUnprepared, withRetry } from './conflicts.js';
import type { Connections, InTransaction, Reply, Row, RunSql } from './connections.js';
import type { Statement } from './statement.js';

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

// The part of `pg` that the store uses, so that it needs neither the types nor the code of the driver.
interface Queryable {
  query(query: PostgresQuery): Promise<PostgresReply>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** A client that is checked out of the pool. */
export interface PostgresClient extends Queryable {
  release(error?: Error | boolean): void;
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

/** After this, a client that does not answer is destroyed. Monitors give up earlier. */
const PING_MS = 30_000;
/** Where a commit waits for synchronous replicas: Postgres names the function in a warning about the wait. */
const REPLICATION = 'SyncRepWaitForLSN';

export class PgConnections implements Connections {
  readonly once = 'async';
  readonly #pool: PostgresPool;
  /** Whether statements are named. Planning a claim each time would triple its cost on the server. */
  #prepared = true;

  /** @throws {ConfigurationError} if pool is not a pool, e.g. a connection string */
  constructor(pool: PostgresPool) {
    if ([pool?.query, pool?.connect, pool?.on].some((method) => typeof method !== 'function')) {
      throw new ConfigurationError(
        `pool is ${show(pool)}, not a pool of pg. Pass "new Pool({ connectionString })".`,
      );
    }
    this.#pool = pool;
    ignoreIdleErrors(pool);
  }

  readonly run: RunSql = (statement, values) => withRetry(() => this.#query(this.#pool, statement, values));

  within(transaction: unknown): RunSql {
    const client = transaction as Queryable | null | undefined;
    // A pool sends each statement on any of its clients, also after a BEGIN.
    if (typeof client?.query === 'function' && transaction !== this.#pool)
      return (statement, values) => this.#query(client, statement, values);
    throw new ConfigurationError(
      transaction === this.#pool
        ? 'once() was given the pool, which is no open transaction. Pass a client of it after BEGIN, or let once(work) begin one.'
        : `once() of postgresStore() was given ${show(transaction)}. Pass a client of pg, or use sqlStore() with your ORM.`,
    );
  }

  async #query(client: Queryable, { name, text }: Statement, parameters: readonly unknown[]): Promise<Reply> {
    const values = [...parameters];
    try {
      const named = this.#prepared && name !== undefined;
      return replyOf(await client.query(named ? { name, text, values } : { text, values }));
    } catch (error) {
      if (isUnprepared(error)) this.#prepared = false;
      throw error;
    }
  }

  async migrate(text: string): Promise<void> {
    await this.#pool.query({ text });
  }

  /** If only pings use a pool, its client must be dropped after a failover: it is connected to the old primary. */
  async ping(check: (run: RunSql) => Promise<void>): Promise<void> {
    const client = await this.#pool.connect();
    const checking = check(this.within(client)).then(
      () => undefined,
      (error: Error) => error,
    );
    const failure = await withDeadline(checking, PING_MS, () => new StoreError('Postgres does not answer.'));
    client.release(failure);
    if (failure) throw failure;
  }

  async transaction(work: InTransaction, opening: string): Promise<void> {
    const client = await this.#pool.connect();
    const release = keepFromWork(client);
    try {
      // pg returns a list of results if one text has several statements.
      const replies = [await client.query({ text: `BEGIN;\n${opening}` })].flat();
      await work(client, replies.map(replyOf).at(-1));
      await commit(client);
    } catch (error) {
      // A part of the work that nobody waited for may still write. Now that is undone too, and later the client is destroyed.
      await client.query({ text: 'ROLLBACK;\nBEGIN' }).catch(() => {});
      release(true);
      throw error;
    }
    release();
  }
}

/**
 * Released in the middle of its transaction, the client would go to another delivery, whose writes would be committed or rolled
 * back with those of this one.
 *
 * @returns what releases it after all
 */
function keepFromWork(client: PostgresClient): PostgresClient['release'] {
  const { release } = client;
  client.release = () => {
    throw new ConfigurationError('once() releases the client itself. Remove tx.release() from its work.');
  };
  return (error) => {
    client.release = release;
    client.release(error);
  };
}

function replyOf({ rows, rowCount }: PostgresReply): Reply {
  return { rows: rows as readonly Row[], count: rowCount ?? 0 };
}

interface Warned {
  on(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
  removeListener(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
}

/** @throws {StoreError} unless it is confirmed, by synchronous replicas too */
async function commit(client: PostgresClient): Promise<void> {
  const warned = client as unknown as Warned;
  let unreplicated = false;
  const onNotice = ({ routine }: { readonly routine?: string }) => {
    unreplicated ||= routine === REPLICATION;
  };
  warned.on('notice', onNotice);
  const { command } = await client
    .query({ text: 'COMMIT' })
    .finally(() => warned.removeListener('notice', onNotice));
  if (command !== 'COMMIT')
    throw new StoreError(
      `Postgres answered COMMIT with ${command}, because a statement had failed. Let the error of a statement reach once().`,
    );
  if (unreplicated)
    throw new StoreError(
      'The wait for a synchronous replica was cancelled, so a failover may undo the commit.',
    );
}

const ignoring = new WeakSet<PostgresPool>();

/** A client that breaks while idle makes its pool emit `error`, which ends the process if nothing listens. */
function ignoreIdleErrors(pool: PostgresPool): void {
  if (ignoring.has(pool)) return;
  ignoring.add(pool);
  // The pool has already dropped the client. If the server is still down, the next query fails.
  const ignore = () => {};
  pool.on('error', ignore);
  // A client can also fail after the pool has released it for us but before `connect()` resolves.
  const clients = new WeakSet<object>();
  (pool as unknown as Acquiring).on('acquire', (client) => {
    if (clients.has(client)) return;
    clients.add(client);
    client.on('error', ignore);
  });
}

interface Acquiring {
  on(event: 'acquire', listener: (client: Queryable) => void): unknown;
}
