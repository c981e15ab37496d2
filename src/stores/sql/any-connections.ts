// Any client or ORM: statements are plain text, and transactions are those of its own callback.

import { setTimeout as pause } from 'node:timers/promises';
import { ConfigurationError, StoreError } from '../../errors.js';
import { isThenable, show } from '../../misuse.js';
import { anything, type OptionRule } from '../../options/define-options.js';
import {
  hasCode,
  isBusy,
  NO_SAVEPOINT,
  refuseWithoutAutocommit,
  saysInside,
  withRetry,
} from './conflicts.js';
import type { Connections, InTransaction, Reply, Row, RunSql, SyncConnections } from './connections.js';
import { Statement } from './statement.js';
import type { TransactionOf } from './transaction-of.js';

export type SqlDialect = 'postgres' | 'mysql' | 'sqlite';

/** The value of a placeholder: bytes as they are, anything else as text, which all clients bind alike. */
export type SqlValue = string | Buffer | null;

export interface SqlDatabase<Client extends object, Transaction = TransactionOf<Client>> {
  /**
   * `mysql` is MySQL 8, and MariaDB from 10.6 on. Before MariaDB 11.4.2 leave `innodb_snapshot_isolation` off. `sqlite` is SQLite
   * 3.42 or newer; `sqliteDatabase()` makes these options for its synchronous drivers.
   */
  readonly dialect: SqlDialect;
  /** What runs a statement outside of a transaction, such as a pool or an ORM. The store neither opens nor ends it. */
  readonly client: Client;
  /**
   * Runs one statement and returns its rows, an array of objects, or a promise of them. Whatever else a statement without rows
   * returns is ignored. Postgres has the placeholders `$1`, `$2` …, MySQL and SQLite have `?`; each occurs once, in the order of
   * `values`, which are text, `null` or bytes (in SQLite never bytes). No statement has a question mark that is not a placeholder.
   */
  query(client: NoInfer<Client | Transaction>, sql: string, values: SqlValue[]): unknown;
  /**
   * Runs `work` inside a transaction for `once(work)`: commits when it resolves, rolls back when it rejects. It may retry the
   * whole transaction. If omitted, handlers begin transactions themselves, for `once(tx, work)`; in SQLite they get no `once`.
   * @example (work) => prisma.$transaction(work)
   */
  readonly transaction?: RunTransaction<Transaction> | undefined;
}

export type RunTransaction<Transaction> = (
  work: (transaction: Transaction) => Promise<void>,
) => PromiseLike<unknown>;

/** The options above, or what `sqliteDatabase()` makes. */
interface Given extends Omit<SqlDatabase<object, unknown>, 'transaction'> {
  readonly transaction: SyncConnections['transaction'] | undefined;
  readonly inTransaction: SyncConnections['inTransaction'] | undefined;
}

/** `AnyConnections` checks them together. */
export const DATABASE_RULES = {
  dialect: anything<SqlDialect>(),
  client: anything<object>(),
  query: anything<Given['query']>(),
  transaction: anything<Given['transaction']>(),
  inTransaction: anything<Given['inTransaction']>(),
} satisfies Record<keyof Given, OptionRule<unknown>>;

const AUTOCOMMIT = new Statement('SELECT CAST(@@SESSION.autocommit AS CHAR) AS autocommit', {
  prepared: false,
});
const SQLITE_CLOCK = new Statement("SELECT typeof(strftime('%s', 'now', 'subsec')) AS clock", {
  prepared: false,
});

/** Tells, while a transaction is open, whether `client` is inside because both have one connection. */
const ASK_INSIDE: Readonly<Record<SqlDialect, string>> = {
  // What the transaction has set for as long as it lasts.
  postgres: "SELECT current_setting('payment_webhooks.once', true) AS once",
  // Its savepoint, which is of no other connection.
  mysql: 'ROLLBACK TO payment_webhooks_once',
  // Fails inside. Outside it sets what every claim needs.
  sqlite: 'PRAGMA synchronous = FULL',
};
/** For how long it is waited for: a client that lets its transactions end first answers later. */
const ASK_MS = 100;
const ONE_CONNECTION =
  'client uses the connection of open transactions, whose rollback would undo claims of other events. Give the store ' +
  'a client with a connection of its own, such as a pool, or a second DataSource or PrismaClient.';

/**
 * For how long a statement waits for a lock of SQLite: less than `storeTimeout`, so that the log names the lock. Of all that wait,
 * one tries: with a synchronous driver a try blocks.
 */
const MAX_BUSY_MS = 1_500;
const BUSY_PAUSE_MS = 50;

export class AnyConnections implements Connections {
  readonly dialect: SqlDialect;
  readonly transaction: Connections['transaction'];
  readonly once: Connections['once'];
  readonly #given: Given;
  readonly #portable = new WeakMap<Statement, Portable>();
  /** Whether a statement works here at all. Of Postgres there is nothing to ask. */
  #checked: boolean;

  /** The latest refusal by a lock, and until when nobody tries. */
  #busy: { readonly error: unknown; readonly until: number } | undefined;

  /** Whether client and transactions have separate connections, as far as is known. */
  #separate: boolean | undefined;
  #answersOutside: true | undefined;

  /** @throws {ConfigurationError} if an option is not a dialect, client or function */
  constructor(given: Given) {
    refuseWrong(given);
    const { dialect, client, transaction, inTransaction } = given;
    this.#given = given;
    this.dialect = dialect;
    this.#checked = dialect === 'postgres';
    if (inTransaction && transaction)
      this.once = { client, inTransaction, transaction, run: (...call) => this.#queryAtOnce(...call) };
    else this.once = transaction || dialect !== 'sqlite' ? 'async' : undefined;
    this.transaction =
      given.transaction && ((work) => runOnce(given.transaction as RunTransaction<unknown>, work));
  }

  readonly run: RunSql = async (statement, parameters) => {
    const { dialect, client } = this.#given;
    if (this.#separate === false) throw new StoreError(ONE_CONNECTION);
    const query = () => this.#query(client, statement, parameters);
    if (dialect === 'sqlite') return this.#whenFree(query);
    if (!this.#checked) await this.#checkAutocommit();
    return withRetry(query);
  };

  /** Before the first statement: without autocommit it would stay open, with its locks, on a connection of the pool. */
  async #checkAutocommit(): Promise<void> {
    const [row] = (await this.#query(this.#given.client, AUTOCOMMIT, [])).rows;
    refuseWithoutAutocommit(row);
    this.#checked = true;
  }

  /** On a connection with an open transaction of the user, a statement would be rolled back with it. */
  async #whenFree<Value>(work: () => Value | Promise<Value>): Promise<Value> {
    const { client, inTransaction } = this.#given;
    const end = performance.now() + MAX_BUSY_MS;
    for (;;) {
      const isOpen = inTransaction?.(client) === true;
      try {
        if (this.#busy && performance.now() < this.#busy.until) throw this.#busy.error;
        if (isOpen)
          throw new StoreError(
            'A transaction is open on the connection of SQLite. End it before the next await, or give the store its own connection.',
          );
        if (!this.#checked) await this.#checkVersion();
        else return await work();
      } catch (error) {
        if (performance.now() > end || !(isOpen || isBusy(error))) throw error;
        this.#waitAfter(error);
        await pause(BUSY_PAUSE_MS + Math.random() * BUSY_PAUSE_MS);
      }
    }
  }

  /** An older SQLite answers with null, also as the time of a claim. */
  async #checkVersion(): Promise<void> {
    const [row] = (await this.#query(this.#given.client, SQLITE_CLOCK, [])).rows;
    if (row?.clock !== 'text')
      throw new StoreError('This SQLite is older than 3.42, which the store needs. Update its driver.');
    this.#checked = true;
  }

  confirmSeparate(transaction: unknown): void {
    if (transaction === this.#given.client) this.#separate = false;
    if (this.#separate === false) throw new ConfigurationError(ONE_CONNECTION);
    // Of a transaction whose row is written: outside of one, the answer of the client says nothing.
    this.#separate = this.#answersOutside;
  }

  within(transaction: unknown): RunSql {
    const run: RunSql = (statement, parameters) => this.#query(transaction, statement, parameters);
    if (this.#separate) return run;
    return async (statement, parameters) => {
      // Before anything is written in the transaction, the client must be outside of it.
      if (this.#separate !== false && INSERTS.test(statement.text)) await this.#askClient();
      if (this.#separate === false) throw new ConfigurationError(ONE_CONNECTION);
      return run(statement, parameters);
    };
  }

  /** Many clients of SQLite, such as TypeORM, have one connection for everything, and so has what is connected without a pool. */
  async #askClient(): Promise<void> {
    const { dialect, client } = this.#given;
    const asking = this.#query(client, new Statement(ASK_INSIDE[dialect], { prepared: false }), []);
    const asked = asking.then(
      ({ rows }) => this.#note(dialect === 'mysql' || Boolean(rows[0]?.once)),
      (error) => {
        const isInside = saysInside(error, 'inside a transaction');
        if (isInside || hasCode(error, NO_SAVEPOINT)) this.#note(isInside);
      },
    );
    await Promise.race([asked, pause(ASK_MS, undefined, { ref: false })]);
  }

  #note(isInside: boolean): void {
    if (isInside) this.#separate = false;
    else this.#answersOutside = true;
  }

  async migrate(statements: string): Promise<void> {
    const { dialect, client } = this.#given;
    if (dialect === 'sqlite')
      await this.#migrateOneByOne(
        statements.split(/;\n/).map((text) => new Statement(text, { prepared: false })),
      );
    else await this.#send(client, dialect === 'postgres' ? asOneStatement(statements) : statements);
  }

  /** In a transaction if there is one: a process that is killed must not leave a table without an index, which nobody would miss. */
  async #migrateOneByOne(statements: readonly Statement[]): Promise<void> {
    const { once, transaction } = this;
    if (typeof once === 'object')
      await this.#whenFree(() =>
        once.transaction((db) => {
          for (const statement of statements) once.run(db, statement, []);
        }),
      );
    else if (transaction)
      await this.#whenFree(() =>
        transaction(async (tx) => {
          for (const statement of statements) await this.#query(tx, statement, []);
        }, ''),
      );
    // None of them fails if its table or index exists.
    else for (const statement of statements) await this.run(statement, []);
  }

  /** Whatever the client answers. */
  #send(client: unknown, text: string, values: SqlValue[] = []): unknown {
    return this.#given.query(client as object, text, values);
  }

  ping(check: (run: RunSql) => Promise<void>): Promise<void> {
    return check(this.run);
  }

  async #query(client: unknown, statement: Statement, parameters: readonly unknown[]): Promise<Reply> {
    const portable = this.#portableOf(statement);
    let sent: unknown;
    try {
      sent = this.#send(client, portable.text, portable.values(parameters));
    } catch (error) {
      // A synchronous driver has blocked the event loop. Those that try in the same turn must know before they do.
      this.#waitAfter(error);
      throw error;
    }
    return portable.read(await sent);
  }

  #waitAfter(error: unknown): void {
    if (isBusy(error) && error !== this.#busy?.error)
      this.#busy = { error, until: performance.now() + BUSY_PAUSE_MS };
  }

  #queryAtOnce(client: unknown, statement: Statement, parameters: readonly unknown[]): Reply {
    const portable = this.#portableOf(statement);
    const rows = this.#send(client, portable.text, portable.values(parameters));
    if (isThenable(rows)) {
      // What it rejects with later must not end the process.
      Promise.resolve(rows).catch(() => {});
      throw new ConfigurationError(
        'query returned a promise, but the transaction of this database is synchronous. Return the rows themselves.',
      );
    }
    return portable.read(rows);
  }

  #portableOf(statement: Statement): Portable {
    const portable = this.#portable.get(statement) ?? new Portable(this.#given.dialect, statement);
    this.#portable.set(statement, portable);
    return portable;
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

/** Many clients send one statement at a time, and some take a dollar sign for a placeholder. */
function asOneStatement(statements: string): string {
  const body = statements.replaceAll('SELECT pg_advisory', 'PERFORM pg_advisory').replaceAll("'", "''");
  return `DO 'BEGIN${body}\nEND'`;
}

/** A statement for any client: each placeholder occurs once, in the order of the values, and is text. */
class Portable {
  readonly text: string;
  readonly #dialect: SqlDialect;
  readonly #returnsRows: boolean;
  readonly #order: number[] = [];

  constructor(dialect: SqlDialect, statement: Statement) {
    this.#dialect = dialect;
    // Not every client reports how many rows a statement changed.
    const isCounted =
      !statement.returnsRows &&
      (dialect === 'postgres' || (dialect === 'sqlite' && WRITES.test(statement.text)));
    this.#returnsRows = statement.returnsRows || isCounted;
    const counted = isCounted ? `${statement.text} RETURNING 'yes' AS written` : statement.text;
    this.text = counted.replace(/\$(\d+)(::\w+)?/g, (_, parameter: string, cast = '') => {
      const place = this.#order.push(Number(parameter) - 1);
      if (dialect === 'sqlite' && cast === '::bytea') return 'unhex(?)';
      if (dialect !== 'postgres') return '?';
      return cast === '::bytea' || cast === '::text' ? `$${place}${cast}` : `$${place}::text${cast}`;
    });
  }

  /** @param parameters `$1` first. @returns a value for each placeholder */
  values(parameters: readonly unknown[]): SqlValue[] {
    return this.#order.map((index) => asValue(this.#dialect, parameters[index]));
  }

  /** @param rows what the client has answered */
  read(rows: unknown): Reply {
    if (!this.#returnsRows) return { rows: [], count: 0 };
    if (Array.isArray(rows) && rows.every((row) => typeof row === 'object' && row && !Array.isArray(row)))
      return { rows: rows as Row[], count: rows.length };
    throw new StoreError(
      `query resolved with ${kindOf(rows)}, not with an array of rows. Return only the rows of the client's result.`,
    );
  }
}

const INSERTS = /INSERT/;
const WRITES = /^\s*(?:INSERT|UPDATE|DELETE)\b/;

function asValue(dialect: SqlDialect, value: unknown): SqlValue {
  if (value === undefined || value === null) return null;
  if (!ArrayBuffer.isView(value)) return String(value);
  const bytes = Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  // Drivers of SQLite return bytes in five different types, so none are sent.
  return dialect === 'sqlite' ? bytes.toString('hex') : bytes;
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
  if (dialect !== 'postgres' && dialect !== 'mysql' && dialect !== 'sqlite')
    throw new ConfigurationError(`dialect is ${show(dialect)}. Pass "postgres", "mysql" or "sqlite".`);
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
