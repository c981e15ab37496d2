// The options of `sqlStore()`, checked, and how the client's answers are read.
import { ConfigurationError, StoreError, show } from '../../errors.js';
import { withRetry } from './conflicts.js';
import type { SqlDialect, SqlStatement, SqlValue } from './placeholders.js';
import type { TransactionOf } from './transaction-of.js';

export interface SqlDatabase<Client extends object, Transaction = TransactionOf<Client>> {
  /** `mysql` is MySQL 8, and MariaDB from 10.6 on. */
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
   * allow a transaction to take as long as a handler may. Left out: claims commit by themselves.
   */
  readonly transaction?: RunTransaction<Transaction> | undefined;
}

export type RunTransaction<Transaction> = (
  work: (transaction: Transaction) => Promise<void>,
) => PromiseLike<unknown>;

/** The names of the options above. */
export const DATABASE_OPTIONS = ['dialect', 'client', 'query', 'transaction'] as const;

export type Row = Readonly<Record<string, unknown>>;

/** Sends one statement and reads its rows. */
export type RunStatement = (
  statement: SqlStatement,
  parameters: readonly unknown[],
) => Promise<readonly Row[]>;

export class Database<Client extends object = object, Transaction = unknown> {
  readonly dialect: SqlDialect;
  readonly client: Client;
  readonly transaction: RunTransaction<Transaction> | undefined;
  readonly #given: SqlDatabase<Client, Transaction>;

  /** @throws {ConfigurationError} for what is no dialect, client or function */
  constructor(given: SqlDatabase<Client, Transaction>) {
    refuseWrong(given as Readonly<Record<keyof SqlDatabase<object>, unknown>>);
    this.dialect = given.dialect;
    this.client = given.client;
    this.transaction = given.transaction;
    this.#given = given;
  }

  /** A statement that commits by itself; retried if the database undid it because of others. */
  readonly run: RunStatement = (statement, parameters) =>
    withRetry(() => this.query(this.client, statement, parameters));

  /** The same within a transaction, where only the whole of it could be retried. */
  within(transaction: Transaction): RunStatement {
    return (statement, parameters) => this.query(transaction, statement, parameters);
  }

  async query(
    client: Client | Transaction,
    statement: SqlStatement,
    parameters: readonly unknown[],
  ): Promise<readonly Row[]> {
    const rows = await this.send(client, statement.text, statement.values(parameters));
    if (!statement.returnsRows) return [];
    if (Array.isArray(rows) && rows.every((row) => typeof row === 'object' && row && !Array.isArray(row)))
      return rows as Row[];
    throw new StoreError(
      `query resolved with ${kindOf(rows)}, not with an array of rows. Take the rows out of what the client answers.`,
    );
  }

  /** For a statement whose answer says nothing. */
  send(client: Client | Transaction, sql: string, values: SqlValue[] = []): PromiseLike<unknown> {
    return this.#given.query(client, sql, values);
  }
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

/** Never a value: it may be of a customer. */
function kindOf(answer: unknown): string {
  if (Array.isArray(answer)) return 'an array of something else';
  return answer === null ? 'null' : typeof answer === 'object' ? 'an object' : typeof answer;
}
