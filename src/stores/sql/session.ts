// What the engine and dead letters need from a database: statements on any connection, and transactions on one.
import { StoreError } from '../../errors.js';
import { MAX_TIMER_MS } from '../../options/duration.js';
import type { Statement } from './statement.js';

export type Row = Readonly<Record<string, unknown>>;

export interface Reply {
  readonly rows: readonly Row[];
  /** How many rows a Postgres statement found or changed. MySQL clients count differently, so read back there. */
  readonly count: number;
}

/** Runs one statement. `parameters` are `$1`, `$2` and so on. */
export type RunSql = (statement: Statement, parameters: readonly unknown[]) => Promise<Reply>;

/** A pool, client or ORM of the user. */
export interface Connections {
  /** The object itself: a claim and a letter that have the same one are in the same database. */
  readonly client: object;
  /** Runs a statement that commits by itself. Retries a deadlock or serialization failure. */
  readonly run: RunSql;
  /** @param transaction what handlers have in their context */
  within(transaction: unknown): RunSql;
  /** Runs statements that have no parameters, all or none of them. */
  migrate(statements: string): Promise<void>;
  /** Calls `check` with a connection that is not used again if it rejects. */
  ping(check: (run: RunSql) => Promise<void>): Promise<void>;
  /** @param leaseMs after which the session ends, unless the lease is extended */
  open(leaseMs: number): Promise<Session>;
}

/** A transaction on one connection. */
export interface Session {
  readonly transaction: unknown;
  /** Whether `transaction` still runs statements once this has ended. Handlers then get a guarded one. */
  readonly outlives: boolean;
  readonly run: RunSql;
  /** Whether it can send a statement before the previous one is answered. Undefined: the client does not say. */
  readonly pipelines?: boolean;
  /** False once the transaction is being committed or rolled back, or is lost. */
  readonly isOpen: boolean;
  /** Whether a handler's statement occupies the connection. Undefined: the client does not say. */
  readonly isBusy: boolean | undefined;
  /** Begins the transaction with a statement. */
  begin(opening: string): Promise<void>;
  extend(leaseMs: number): void;
  /**
   * @param isCommitted of a completed claim: asks on another connection, for clients whose answer to a commit proves
   *   nothing. A session that pipelines instead commits only if the server sees that the claim is completed
   * @returns false if the transaction had ended before
   * @throws {StoreError} unless it is confirmed, by synchronous replicas too
   */
  commit(isCommitted?: () => Promise<boolean>): Promise<boolean>;
  /** Like {@link commit}, for a rollback. */
  rollBack(): Promise<boolean>;
  /** Rolls back a transaction whose state is unknown. Never rejects. Its claim can no longer succeed. */
  abort(reason: Error): Promise<void>;
}

/** Ends a session whose lease has expired. */
export class Expiry {
  readonly #end: (reason: StoreError) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(leaseMs: number, end: (reason: StoreError) => void) {
    this.#end = end;
    this.extend(leaseMs);
  }

  extend(leaseMs: number): void {
    this.stop();
    const expire = () => this.#end(new StoreError('The lease expired, so its transaction was rolled back.'));
    this.#timer = setTimeout(expire, Math.min(leaseMs, MAX_TIMER_MS)).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
