// Any client or ORM: statements are plain text, and transactions are those of its own callback.
import { ConfigurationError, StoreError } from '../../errors.js';
import { show } from '../../misuse.js';
import { withRetry } from './conflicts.js';
import type { Connections, InTransaction, Reply, Row, RunSql } from './connections.js';
import { Statement } from './statement.js';
import type { TransactionOf } from './transaction-of.js';

export type SqlDialect = 'postgres' | 'mysql' | 'sqlite';

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
   * Runs `work` inside a transaction for `once(work)`: commits when it resolves, rolls back when it rejects. It may retry the
   * whole transaction. If omitted, handlers begin transactions themselves, for `once(tx, work)`.
   * @example (work) => prisma.$transaction(work)
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
  readonly transaction: Connections['transaction'];
  readonly #given: SqlDatabase<object, unknown>;
  readonly #portable = new WeakMap<Statement, Portable>();
  /** Whether a statement commits by itself. Postgres has no setting of the session for it. */
  #commits: boolean;

  /** @throws {ConfigurationError} if an option is not a dialect, client or function */
  constructor(given: SqlDatabase<object, unknown>) {
    refuseWrong(given as Readonly<Record<keyof SqlDatabase<object>, unknown>>);
    this.#given = given;
    this.#commits = given.dialect === 'postgres';
    const { transaction } = given;
    this.transaction = transaction && ((work) => runOnce(transaction, work));
  }

  readonly run: RunSql = async (statement, parameters) => {
    if (!this.#commits) await this.#checkAutocommit();
    return withRetry(() => this.#query(this.#given.client, statement, parameters));
  };

  /** Before the first statement: without autocommit it would stay open, with its locks, on a connection of the pool. */
  async #checkAutocommit(): Promise<void> {
    const [row] = (await this.#query(this.#given.client, AUTOCOMMIT, [])).rows;
    if (row?.autocommit === '0' || row?.autocommit === 'OFF')
      throw new StoreError(
        'autocommit is off in sessions of MySQL, so claims and letters would be lost. Turn it on for every connection of client.',
      );
    this.#commits = true;
  }

  within(transaction: unknown): RunSql {
    return (statement, parameters) => this.#query(transaction, statement, parameters);
  }

  async migrate(statements: string): Promise<void> {
    const { dialect } = this.#given;
    await this.#send(this.#given.client, dialect === 'postgres' ? asOneStatement(statements) : statements);
  }

  /** Whatever the client answers. */
  #send(client: unknown, text: string, values: SqlValue[] = []): PromiseLike<unknown> {
    return this.#given.query(client as object, text, values);
  }

  ping(check: (run: RunSql) => Promise<void>): Promise<void> {
    return check(this.run);
  }

  async #query(client: unknown, statement: Statement, parameters: readonly unknown[]): Promise<Reply> {
    const portable = this.#portable.get(statement) ?? new Portable(this.#given.dialect, statement);
    this.#portable.set(statement, portable);
    const rows = await this.#send(client, portable.text, portable.values(parameters));
    if (!portable.returnsRows) return { rows: [], count: 0 };
    if (Array.isArray(rows) && rows.every((row) => typeof row === 'object' && row && !Array.isArray(row)))
      return { rows: rows as Row[], count: rows.length };
    throw new StoreError(
      `query resolved with ${kindOf(rows)}, not with an array of rows. Return only the rows of the client's result.`,
    );
  }
}

/** @throws what the work threw when it was last called, or an error unless `transaction` ran it and resolved after it */
async function runOnce(transaction: RunTransaction<unknown>, work: InTransaction): Promise<void> {
  let outcome: { readonly error?: unknown } | undefined;
  const run = async (given: unknown) => {
    outcome = undefined;
    try {
      await work(given, undefined);
      outcome = {};
    } catch (error) {
      outcome = { error };
      throw error;
    }
  };
  let refused: { readonly error: unknown } | undefined;
  try {
    await transaction((given) => {
      const running = run(given);
      // If nobody waits for it, its error must not end the process.
      running.catch(() => {});
      return running;
    });
  } catch (error) {
    refused = { error };
  }
  // It may have been caught, so that the rest was committed, or wrapped, so that a RetryAfterError would ask for nothing.
  if (outcome && 'error' in outcome) throw outcome.error;
  if (refused) throw refused.error;
  if (!outcome)
    throw new StoreError(
      'transaction resolved before its work did. Call work once, and wait for it: (work) => …',
    );
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

function refuseWrong({
  dialect,
  client,
  query,
  transaction,
}: Readonly<Record<keyof SqlDatabase<object>, unknown>>): void {
  if (dialect !== 'postgres' && dialect !== 'mysql')
    throw new ConfigurationError(`dialect is ${show(dialect)}. Pass "postgres" or "mysql".`);
  if ((typeof client !== 'object' && typeof client !== 'function') || client === null)
    throw new ConfigurationError(
      `client is ${show(client)}. Pass what query() runs statements with, such as a pool or an ORM.`,
    );
  if (typeof query !== 'function')
    throw new ConfigurationError(
      `query is ${show(query)}. Pass a function (client, sql, values) that resolves with an array of rows.`,
    );
  if (transaction !== undefined && typeof transaction !== 'function')
    throw new ConfigurationError(
      `transaction is ${show(transaction)}. Pass a function (work) that runs work inside a transaction, or leave it out.`,
    );
}
