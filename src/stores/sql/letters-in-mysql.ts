// Dead letters in MySQL and MariaDB through any client. Writes are read back to confirm them.
import type { DeadLetterQuery, Discarded, ProcessedEvent } from '../../claims/dead-letter-store.js';
import { newToken } from '../../claims/token.js';
import type {
  FullRow,
  GroupRow,
  LetterRow,
  LetterRows,
  NewRow,
  RowChange,
} from '../../dead-letters/stored-letters.js';
import { StoreError } from '../../errors.js';
import { BASE64, readGroup, readRow } from './letter-answers.js';
import { type MysqlLetterSql, type MysqlQuestion, mysqlLetterSqlFor, PRUNE_BATCH } from './letter-mysql.js';
import { releaseSavepoint, setSavepoint } from './mysql.js';
import type { Connections, Row, RunSql } from './session.js';
import type { Statement } from './statement.js';

/** Others may remove a letter before its id is read, and a letter may have run out. */
const TRIES = 4;

export class LettersInMysql implements LetterRows {
  readonly table: string;
  readonly retentionMs: number;
  readonly database: object;
  readonly #db: Connections;
  readonly #sql: MysqlLetterSql;

  constructor(db: Connections, table: string, retentionMs: number) {
    this.#db = db;
    this.#sql = mysqlLetterSqlFor(table);
    this.table = this.#sql.table;
    this.retentionMs = retentionMs;
    this.database = db.client;
  }

  async keep(row: NewRow): Promise<string> {
    const [, key, fingerprint] = row;
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      await this.#run(this.#sql.keep, row);
      const [kept] = await this.#rows(this.#sql.kept, [key, fingerprint]);
      if (kept) return idOf(kept);
      await this.#run(this.#sql.forget, [key, fingerprint]);
    }
    throw new StoreError(
      'MySQL has no row of a dead letter that it was given. Check that client commits each statement by itself.',
    );
  }

  async find(id: string, transaction?: unknown): Promise<FullRow | undefined> {
    const run = transaction === undefined ? this.#db.run : this.#db.within(transaction);
    const [row] = (await run(this.#sql.find, this.#parameters([id]))).rows;
    return row && readRow(row, BASE64);
  }

  /** A letter that is there afterwards was there before: once it is gone, its id never comes back. */
  async update(id: string, { reason, code, issues, attempts }: RowChange): Promise<boolean> {
    await this.#run(this.#sql.update, [id, reason, code, issues, attempts]);
    return (await this.#rows(this.#sql.isAlive, [id])).length > 0;
  }

  async list(
    query: DeadLetterQuery,
    page: { readonly limit: number; readonly after: string },
  ): Promise<readonly LetterRow[]> {
    const rows = await this.#ask(this.#sql.list(query, this.retentionMs, page));
    return rows.map((row) => readRow(row, BASE64));
  }

  async count(query: DeadLetterQuery): Promise<number> {
    const [counted] = await this.#ask(this.#sql.count(query, this.retentionMs));
    return Number(counted?.letters ?? 0);
  }

  async countGroups(query: DeadLetterQuery, names: number): Promise<readonly GroupRow[]> {
    const rows = await this.#ask(this.#sql.countGroups(query, this.retentionMs, names));
    return rows.map((row) => readGroup(row, BASE64));
  }

  async remove({ key, fingerprint }: ProcessedEvent, transaction: unknown): Promise<number> {
    if (transaction !== undefined) return this.#removeWithin(transaction, [key, fingerprint]);
    const { length } = await this.#rows(this.#sql.removable, [key, fingerprint]);
    if (length > 0) await this.#run(this.#sql.remove, [key, fingerprint]);
    return length;
  }

  async #removeWithin(transaction: unknown, event: readonly unknown[]): Promise<number> {
    const { remove, removed } = this.#sql;
    const run = this.#db.within(transaction);
    if (!(await isOpen(run))) return 0;
    await run(remove, this.#parameters(event));
    const [row] = (await run(removed, [])).rows;
    return Math.max(Number(row?.removed ?? 0), 0);
  }

  async discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    const token = newToken('hex');
    await this.#run(this.#sql.discard, [id, by, because, token]);
    return (await this.#db.run(this.#sql.isDiscarded, [id, token].map(asSent))).rows.length > 0;
  }

  migrate(): Promise<void> {
    return this.#db.migrate(this.#sql.migrate);
  }

  /** Two processes that prune at once may count the same rows. */
  async prune(): Promise<number> {
    for (let pruned = 0; ; ) {
      const { length } = await this.#rows(this.#sql.due, []);
      if (length > 0) await this.#run(this.#sql.prune, []);
      pruned += length;
      if (length < PRUNE_BATCH) return pruned;
    }
  }

  async #run(statement: Statement, parameters: readonly unknown[]): Promise<void> {
    await this.#rows(statement, parameters);
  }

  async #rows(statement: Statement, parameters: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#db.run(statement, this.#parameters(parameters))).rows;
  }

  async #ask({ statement, parameters }: MysqlQuestion): Promise<readonly Row[]> {
    return (await this.#db.run(statement, parameters.map(asSent))).rows;
  }

  #parameters(parameters: readonly unknown[]): unknown[] {
    return [this.retentionMs, ...parameters].map(asSent);
  }
}

/**
 * Whether a handler has left the transaction open. Otherwise a delete would commit by itself, and the letter would be gone
 * although its event is not processed. MySQL keeps no savepoint outside of a transaction.
 */
async function isOpen(run: RunSql): Promise<boolean> {
  if ((await setSavepoint(run, 'letters')) === undefined) return true;
  return (await releaseSavepoint(run, 'letters')) !== false;
}

/** A statement that another one has to commit would be lost with its connection. */
function idOf({ id, autocommit }: Row): string {
  if (Number(autocommit) === 1) return BASE64.text(id);
  throw new StoreError('client does not commit each statement by itself. Leave autocommit of MySQL at 1.');
}

/** As the statements read it: text and bytes as base64, numbers as they are. */
function asSent(value: unknown): unknown {
  if (value instanceof Uint8Array || typeof value === 'string') return Buffer.from(value).toString('base64');
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' ? Math.round(value) : value;
}
