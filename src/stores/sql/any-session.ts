// Any client or ORM: statements are plain text, and its transaction callback stays open until the claim ends.
import { withDeadline } from '../../claims/deadline.js';
import { ConfigurationError, StoreError, show } from '../../errors.js';
import { MAX_TIMER_MS } from '../../options/duration.js';
import { withRetry } from './conflicts.js';
import { type Connections, Expiry, type Reply, type Row, type RunSql, type Session } from './session.js';
import { Statement } from './statement.js';
import type { TransactionOf } from './transaction-of.js';

export type SqlDialect = 'postgres' | 'mysql';

/** The value of a placeholder: bytes as they are, anything else as text, which all clients bind alike. */
export type SqlValue = string | Buffer | null;

export interface SqlDatabase<Client extends object, Transaction = TransactionOf<Client>> {
  /** `mysql` is MySQL 8, and MariaDB from 10.6 on. Before MariaDB 11.4.2 leave `innodb_snapshot_isolation` off. */
  readonly dialect: SqlDialect;
  /** What runs a statement outside of a transaction, such as a pool or an ORM. The store neither opens nor ends it. */
  readonly client: Client;
  /**
   * Runs one statement and resolves with its rows, an array of objects. Whatever else a statement without rows resolves
   * with is ignored. Postgres has the placeholders `$1`, `$2` …, MySQL has `?`; each occurs once, in the order of `values`,
   * which are text, `null` or bytes. No statement has a question mark that is not a placeholder.
   */
  query(client: NoInfer<Client | Transaction>, sql: string, values: SqlValue[]): PromiseLike<unknown>;
  /**
   * Runs `work` once inside a transaction: commits when it resolves, rolls back when it rejects. It must not retry, and must
   * allow a transaction to take as long as a handler may. If omitted, claims commit on their own.
   */
  readonly transaction?: RunTransaction<Transaction> | undefined;
}

export type RunTransaction<Transaction> = (
  work: (transaction: Transaction) => Promise<void>,
) => PromiseLike<unknown>;

/** The names of the options above. */
export const DATABASE_OPTIONS = ['dialect', 'client', 'query', 'transaction'] as const;

const AUTOCOMMIT = new Statement('SELECT CAST(@@SESSION.autocommit AS CHAR) AS autocommit', {
  prepared: false,
});

export class AnyConnections implements Connections {
  readonly client: object;
  readonly #given: SqlDatabase<object, unknown>;
  readonly #portable = new WeakMap<Statement, Portable>();
  /** Whether a statement commits by itself. Postgres has no setting of the session for it. */
  #commits: boolean;

  /** @throws {ConfigurationError} if an option is not a dialect, client or function */
  constructor(given: SqlDatabase<object, unknown>) {
    refuseWrong(given as Readonly<Record<keyof SqlDatabase<object>, unknown>>);
    this.client = given.client;
    this.#given = given;
    this.#commits = given.dialect === 'postgres';
  }

  readonly run: RunSql = async (statement, parameters) => {
    if (!this.#commits) await this.#checkAutocommit();
    return withRetry(() => this.#query(this.client, statement, parameters));
  };

  /** Before the first statement: without autocommit it would stay open, with its locks, on a connection of the pool. */
  async #checkAutocommit(): Promise<void> {
    const [row] = (await this.#query(this.client, AUTOCOMMIT, [])).rows;
    if (row?.autocommit === '0' || row?.autocommit === 'OFF')
      throw new StoreError(
        'autocommit is off in sessions of MySQL, so claims and letters would be lost. Turn it on for every connection of client.',
      );
    this.#commits = true;
  }

  /** Without retries: only the whole transaction could be retried. */
  within(transaction: unknown): RunSql {
    return (statement, parameters) => this.#query(transaction, statement, parameters);
  }

  async migrate(statements: string): Promise<void> {
    const { dialect } = this.#given;
    await this.send(this.client, dialect === 'postgres' ? asOneStatement(statements) : statements);
  }

  /** Whatever the client answers. */
  send(client: unknown, text: string, values: SqlValue[] = []): PromiseLike<unknown> {
    return this.#given.query(client as object, text, values);
  }

  ping(check: (run: RunSql) => Promise<void>): Promise<void> {
    return check(this.run);
  }

  async open(leaseMs: number): Promise<Session> {
    const { transaction } = this.#given;
    if (!transaction) throw new StoreError('sqlStore() has no option transaction.');
    const session = new HeldTransaction(this, transaction, leaseMs);
    await session.called;
    return session;
  }

  async #query(client: unknown, statement: Statement, parameters: readonly unknown[]): Promise<Reply> {
    const portable = this.#portable.get(statement) ?? new Portable(this.#given.dialect, statement);
    this.#portable.set(statement, portable);
    const rows = await this.send(client, portable.text, portable.values(parameters));
    if (!portable.returnsRows) return { rows: [], count: 0 };
    if (Array.isArray(rows) && rows.every((row) => typeof row === 'object' && row && !Array.isArray(row)))
      return { rows: rows as Row[], count: rows.length };
    throw new StoreError(
      `query resolved with ${kindOf(rows)}, not with an array of rows. Return only the rows of the client's result.`,
    );
  }
}

/** Many clients send one statement at a time. */
function asOneStatement(statements: string): string {
  return `DO $$BEGIN${statements.replaceAll('SELECT pg_advisory', 'PERFORM pg_advisory')}\nEND$$`;
}

/** A statement for any client: each placeholder occurs once, in the order of the values, and is text. */
class Portable {
  readonly text: string;
  readonly returnsRows: boolean;
  readonly #order: number[] = [];

  constructor(dialect: SqlDialect, statement: Statement) {
    // Not every client reports how many rows a statement changed.
    const counted =
      statement.returnsRows || dialect === 'mysql'
        ? statement.text
        : `${statement.text} RETURNING 'yes' AS written`;
    this.returnsRows = statement.returnsRows || dialect === 'postgres';
    this.text = counted.replace(/\$(\d+)(::\w+)?/g, (_, parameter: string, cast = '') => {
      const place = this.#order.push(Number(parameter) - 1);
      if (dialect === 'mysql') return '?';
      return cast === '::bytea' || cast === '::text' ? `$${place}${cast}` : `$${place}::text${cast}`;
    });
  }

  /** @param parameters `$1` first. @returns a value for each placeholder */
  values(parameters: readonly unknown[]): SqlValue[] {
    return this.#order.map((index) => asValue(parameters[index]));
  }
}

function asValue(value: unknown): SqlValue {
  if (value === undefined || value === null) return null;
  if (Buffer.isBuffer(value)) return value;
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}

/** Only its type: the value may be a customer's data. */
function kindOf(answer: unknown): string {
  if (Array.isArray(answer)) return 'an array of something else';
  return answer === null ? 'null' : typeof answer === 'object' ? 'an object' : typeof answer;
}

/** How `transaction()` itself ended. */
type Outcome = { readonly resolved: true } | { readonly resolved: false; readonly error: unknown };

/** A method of every transaction of Kysely. */
const KYSELY = 'executeQuery';
/** A static property of every class of Drizzle. */
const DRIZZLE = Symbol.for('drizzle:entityKind');

class HeldTransaction implements Session {
  /** Resolves when the work is called, and rejects if it never is. */
  readonly called: Promise<void>;
  readonly isBusy = undefined;
  transaction: unknown;
  readonly run: RunSql = (...statement) => this.#connections.within(this.transaction)(...statement);
  readonly #connections: AnyConnections;
  readonly #expiry: Expiry;
  readonly #outcome: Promise<Outcome>;
  #leaseMs: number;
  #begin: () => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #work: { resolve(): void; reject(error: unknown): void } | undefined;
  /** Why it ended, unless the claim ended it. */
  #broken: Error | undefined;
  #asked = false;

  constructor(connections: AnyConnections, run: RunTransaction<unknown>, leaseMs: number) {
    this.#connections = connections;
    this.#leaseMs = leaseMs;
    this.called = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#refuse = reject;
    });
    this.#expiry = new Expiry(leaseMs, (reason) => this.#break(reason));
    const ended = new Promise<unknown>((resolve) => resolve(run((transaction) => this.#call(transaction))));
    this.#outcome = ended.then(
      () => this.#settle({ resolved: true }),
      (error: unknown) => this.#settle({ resolved: false, error }),
    );
  }

  /**
   * Most ORMs refuse statements once a transaction has ended. Connections, Postgres.js, Drizzle, Kysely, and TypeORM until its
   * rollback is answered, would run them outside of any transaction, or in that of another event. Connections and the
   * transactions of TypeORM have a `release()`.
   */
  get outlives(): boolean {
    const transaction = Object(this.transaction);
    const isPostgresJs = typeof transaction === 'function' && 'unsafe' in transaction;
    const isDrizzle = DRIZZLE in Object(transaction.constructor);
    return 'release' in transaction || KYSELY in transaction || isPostgresJs || isDrizzle;
  }

  get isOpen(): boolean {
    return this.#work !== undefined && !this.#asked && this.#broken === undefined;
  }

  /** The client has begun the transaction already. */
  async begin(opening: string): Promise<void> {
    await this.#connections.send(this.transaction, opening);
  }

  extend(leaseMs: number): void {
    this.#leaseMs = leaseMs;
    this.#expiry.extend(leaseMs);
  }

  /** @throws unless `transaction()` has called its work once, resolved after it, and committed the writes */
  async commit(isCommitted?: () => Promise<boolean>): Promise<boolean> {
    const outcome = await this.#end((work) => work.resolve());
    if (!outcome.resolved) throw outcome.error;
    // A resolved commit is not enough: Postgres may have answered ROLLBACK, which many clients ignore.
    if (isCommitted && !(await isCommitted()))
      throw new StoreError('transaction resolved, but its writes are not committed.');
    return true;
  }

  /** @throws unless `transaction()` rejects with what its work was rejected with */
  async rollBack(): Promise<boolean> {
    const reason = new StoreError('The delivery failed, so its transaction is rolled back.');
    const outcome = await this.#end((work) => work.reject(reason));
    if (outcome.resolved)
      throw new StoreError('transaction resolved although its work was rejected, so it may have committed.');
    if (!isOrWraps(outcome.error, reason)) throw outcome.error;
    return true;
  }

  async abort(reason: Error): Promise<void> {
    if (!this.isOpen) return;
    this.#break(reason);
    await this.#outcome;
  }

  /** @throws why the transaction is broken */
  async #end(settle: (work: { resolve(): void; reject(error: unknown): void }) => void): Promise<Outcome> {
    if (this.#broken) throw this.#broken;
    this.#asked = true;
    this.#expiry.stop();
    if (this.#work) settle(this.#work);
    const outcome = await this.#outcome;
    if (this.#broken) throw this.#broken;
    return outcome;
  }

  /** From now on it can only fail. */
  #break(reason: Error): void {
    this.#broken ??= reason;
    this.#expiry.stop();
    this.#refuse(reason);
    this.#work?.reject(reason);
  }

  #call(transaction: unknown): Promise<void> {
    if (this.#work)
      this.#break(
        new StoreError(
          'transaction called its work twice. Turn its retries off: the delivery is retried as a whole.',
        ),
      );
    if (this.#broken) return rejectedWith(this.#broken);
    this.transaction = transaction;
    const work = new Promise<void>((resolve, reject) => {
      this.#work = { resolve, reject: (reason) => void this.#answered().then(() => reject(reason)) };
    });
    // `transaction()` may not wait for its work.
    work.catch(() => {});
    this.#begin();
    return work;
  }

  /**
   * Resolves once the statements of handlers are answered. Kysely holds back those behind the first one, and would send them
   * after the rollback: each would commit on its own. A `stream()` that a handler left open blocks it for good, so the wait
   * ends after another lease.
   */
  async #answered(): Promise<void> {
    if (!(KYSELY in Object(this.transaction))) return;
    const send = async () => this.#connections.send(this.transaction, 'SELECT 1');
    // Postgres refuses it after an error, and a connection may be lost.
    const answered = send().catch(() => {});
    await withDeadline(answered, Math.min(this.#leaseMs, MAX_TIMER_MS), () => undefined);
  }

  #settle(outcome: Outcome): Outcome {
    this.#expiry.stop();
    if (this.#asked) return outcome;
    if (!this.#work)
      this.#refuse(
        outcome.resolved ? new StoreError('transaction resolved without calling its work.') : outcome.error,
      );
    this.#broken ??= new StoreError(
      outcome.resolved
        ? 'transaction resolved before its work did. It must wait for the work.'
        : 'The transaction ended before its handlers did.',
      outcome.resolved ? undefined : { cause: outcome.error },
    );
    return outcome;
  }
}

function rejectedWith(error: Error): Promise<never> {
  const rejected = Promise.reject(error);
  rejected.catch(() => {});
  return rejected;
}

function isOrWraps(error: unknown, reason: Error): boolean {
  return error === reason || (error as { cause?: unknown } | null)?.cause === reason;
}

function refuseWrong({
  dialect,
  client,
  query,
  transaction,
}: Readonly<Record<keyof SqlDatabase<object>, unknown>>): void {
  if (dialect !== 'postgres' && dialect !== 'mysql')
    throw new ConfigurationError(`dialect is ${show(dialect)}. Give "postgres" or "mysql".`);
  if ((typeof client !== 'object' && typeof client !== 'function') || client === null)
    throw new ConfigurationError(
      `client is ${show(client)}. Give what query() runs statements with, such as a pool or an ORM.`,
    );
  if (typeof query !== 'function')
    throw new ConfigurationError(
      `query is ${show(query)}. Give a function (client, sql, values) that resolves with an array of rows.`,
    );
  if (transaction !== undefined && typeof transaction !== 'function')
    throw new ConfigurationError(
      `transaction is ${show(transaction)}. Give a function (work) that runs work inside a transaction, or leave it out.`,
    );
}
