// A pool of `pg`: named statements, row counts, and clients that are released exactly once.
import { ConfigurationError, StoreError, show } from '../../errors.js';
import { isUnprepared, withRetry } from './conflicts.js';
import { COMMIT_IF_COMPLETED } from './postgres.js';
import { type Connections, Expiry, type Reply, type Row, type RunSql, type Session } from './session.js';
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

/** After this, a client that does not answer is destroyed. Monitors give up earlier. */
const PING_MS = 30_000;
/** Where a commit waits for synchronous replicas: Postgres names the function in a warning about the wait. */
const REPLICATION = 'SyncRepWaitForLSN';

export class PgConnections implements Connections {
  readonly client: PostgresPool;
  /** Whether statements are named. Planning a claim each time would triple its cost on the server. */
  #prepared = true;

  /** @throws {ConfigurationError} if pool is not a pool, e.g. a connection string */
  constructor(pool: PostgresPool) {
    if ([pool?.query, pool?.connect, pool?.on].some((method) => typeof method !== 'function')) {
      throw new ConfigurationError(
        `pool is ${show(pool)}, not a pool of pg. Give "new Pool({ connectionString })".`,
      );
    }
    this.client = pool;
    ignoreIdleErrors(pool);
  }

  readonly run: RunSql = (statement, values) => withRetry(() => this.#query(this.client, statement, values));

  within(transaction: unknown): RunSql {
    return (statement, values) => this.#query(transaction as Queryable, statement, values);
  }

  async #query(client: Queryable, { name, text }: Statement, parameters: readonly unknown[]): Promise<Reply> {
    const values = [...parameters];
    try {
      const named = this.#prepared && name !== undefined;
      const { rows, rowCount } = await client.query(named ? { name, text, values } : { text, values });
      return { rows: rows as readonly Row[], count: rowCount ?? 0 };
    } catch (error) {
      if (isUnprepared(error)) this.#prepared = false;
      throw error;
    }
  }

  async migrate(text: string): Promise<void> {
    await this.client.query({ text });
  }

  /** If only pings use a pool, its client must be dropped after a failover: it is connected to the old primary. */
  async ping(check: (run: RunSql) => Promise<void>): Promise<void> {
    const session = await this.open(PING_MS);
    try {
      await check(session.run);
    } catch (error) {
      session.giveBack(error as Error);
      throw error;
    }
    session.giveBack();
  }

  async open(leaseMs: number): Promise<PgSession> {
    const client = await this.client.connect();
    return new PgSession(client, this.within(client), leaseMs);
  }
}

/** A client of `pg` 8.23 or later with `pipeline: true`. Clients of `pg-native` have no such `connection`. */
interface Pipelined {
  readonly pipeline?: boolean;
  readonly connection?: { readonly stream?: { destroy(): void } };
}

interface Warned {
  on(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
  removeListener(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
}

class PgSession implements Session {
  readonly transaction: PostgresClient;
  readonly outlives = true;
  readonly run: RunSql;
  readonly pipelines: boolean;
  readonly #release: (error?: Error) => void;
  readonly #expiry: Expiry;
  #ending = false;
  #returned = false;

  constructor(client: PostgresClient, run: RunSql, leaseMs: number) {
    this.transaction = client;
    this.run = run;
    this.pipelines = (client as Pipelined).pipeline === true && this.#socket !== undefined;
    // Bound now: the pool sets a new function each time it hands the client out.
    this.#release = client.release.bind(client);
    client.on('error', this.#onError);
    this.#expiry = new Expiry(leaseMs, this.#onError);
  }

  get #socket() {
    return (this.transaction as Pipelined).connection?.stream;
  }

  /** After COMMIT is sent, a statement is no longer in the transaction, and soon the client serves another event. */
  get isOpen(): boolean {
    return !this.#ending && !this.#returned;
  }

  /** A query would have to wait for that of a handler, and the next version of pg does not queue queries. */
  get isBusy(): boolean {
    return this.transaction.readyForQuery === false;
  }

  async begin(opening: string): Promise<void> {
    await this.transaction.query({ text: `BEGIN ISOLATION LEVEL READ COMMITTED;\n${opening};` });
  }

  extend(leaseMs: number): void {
    this.#expiry.extend(leaseMs);
  }

  commit(isCommitted?: () => Promise<boolean>): Promise<boolean> {
    const text = isCommitted && this.pipelines ? COMMIT_IF_COMPLETED : 'COMMIT';
    return this.#end(async () => {
      const client = this.transaction as unknown as Warned;
      let unreplicated = false;
      const onNotice = ({ routine }: { readonly routine?: string }) => {
        unreplicated ||= routine === REPLICATION;
      };
      client.on('notice', onNotice);
      const replies = await this.transaction
        .query({ text })
        .finally(() => client.removeListener('notice', onNotice));
      // pg returns a list of results if one text has several statements.
      const command = [replies].flat().at(-1)?.command;
      if (command !== 'COMMIT') throw new StoreError(`Postgres answered COMMIT with ${command}.`);
      if (unreplicated)
        throw new StoreError(
          'The wait for a synchronous replica was cancelled, so a failover may undo the commit.',
        );
    });
  }

  rollBack(): Promise<boolean> {
    return this.#end(() => this.transaction.query({ text: 'ROLLBACK' }));
  }

  async #end(query: () => Promise<unknown>): Promise<boolean> {
    if (!this.isOpen) return false;
    this.#ending = true;
    try {
      await query();
    } catch (error) {
      this.giveBack(error as Error);
      throw error;
    }
    this.giveBack();
    return true;
  }

  async abort(reason: Error): Promise<void> {
    this.giveBack(reason);
  }

  /** @param error why the state of the client is unknown: the pool destroys it, and the server rolls back */
  giveBack(error?: Error): void {
    if (this.#returned) return;
    this.#returned = true;
    this.#expiry.stop();
    this.transaction.removeListener('error', this.#onError);
    // Otherwise the pool waits for the answers to everything that was sent.
    if (error && this.pipelines && this.isBusy) this.#socket?.destroy();
    this.#release(error);
  }

  // The transaction ended with its connection, so the client must not be reused.
  readonly #onError = (error: Error): void => this.giveBack(error);
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
