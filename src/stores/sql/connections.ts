// What the engine and dead letters need from a database: statements on any connection, and a transaction on one.
import type { Statement } from './statement.js';

export type Row = Readonly<Record<string, unknown>>;

export interface Reply {
  readonly rows: readonly Row[];
  /** How many rows a Postgres statement found or changed. MySQL clients count differently, so read back there. */
  readonly count: number;
}

/** Runs one statement. `parameters` are `$1`, `$2` and so on. */
export type RunSql = (statement: Statement, parameters: readonly unknown[]) => Promise<Reply>;

/** Work in a transaction. @param begun what `opening` was answered; undefined if the transaction was begun without it */
export type InTransaction = (transaction: unknown, begun: Reply | undefined) => Promise<void>;

/** A synchronous driver, whose answers are no promises. */
export interface SyncConnections {
  readonly client: unknown;
  run(db: unknown, statement: Statement, parameters: readonly unknown[]): Reply;
  inTransaction(db: unknown): boolean;
  /** Commits when `work` returns, and rolls back when it throws. */
  transaction<Value>(work: (db: unknown) => Value): Value;
}

/** A pool, client or ORM of the user. */
export interface Connections {
  /** Runs a statement that commits by itself. Retries a deadlock or serialization failure. */
  readonly run: RunSql;
  /**
   * Without retries: only the whole transaction could be retried.
   * @throws {ConfigurationError} if this is no transaction of the client
   */
  within(transaction: unknown): RunSql;
  /** @throws {ConfigurationError} if `run` is known to use the connection of this open transaction */
  confirmSeparate?(transaction: unknown): void;
  /**
   * Commits when `work` resolves, and rolls back when it rejects. Undefined if the store cannot begin a transaction.
   *
   * @param opening the first statement of the transaction, for connections that send it along with BEGIN
   * @throws what `work` throws, or an error unless the commit is confirmed, by synchronous replicas too
   */
  readonly transaction: ((work: InTransaction, opening: string) => Promise<void>) | undefined;
  /** Whether handlers get `once`, and of which kind. */
  readonly once: 'async' | SyncConnections | undefined;
  /** Runs statements that have no parameters, all or none of them. */
  migrate(statements: string): Promise<void>;
  /** Calls `check` with a connection that is not used again if it rejects. */
  ping(check: (run: RunSql) => Promise<void>): Promise<void>;
}
