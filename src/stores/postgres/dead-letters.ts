// Keeps dead letters in Postgres: one row for each, removed by the commit that processes its event.

import type {
  DeadLetterQuery,
  DeadLetterStore,
  Discarded,
  ProcessedEvent,
} from '../../claims/dead-letter-store.js';
import { LetterSeal, sealWith } from '../../dead-letters/seal.js';
import type { FullRow, GroupRow, LetterRow, NewRow } from '../../dead-letters/stored-letters.js';
import { type LetterRows, type RowChange, StoredLetters } from '../../dead-letters/stored-letters.js';
import { refuseUnknownOptions, StoreError } from '../../errors.js';
import { retentionMs } from '../../options/duration.js';
import { EventTable } from './event-table.js';
import { type LetterSql, letterSqlFor, type Question } from './letter-sql.js';
import {
  type PostgresPool,
  type PostgresReply,
  type Queryable,
  refuseOtherThanPool,
  survive,
} from './pool.js';
import type { Statement } from './sql.js';

export interface PostgresDeadLettersOptions {
  /** A pool of `pg`. The store neither opens nor ends it. That of a transactional `postgresStore` removes letters in its commits. */
  readonly pool: PostgresPool;
  /** `name` or `schema.name`. @default 'dead_letter' */
  readonly table?: string | undefined;
  /**
   * 32 random bytes each, as they are or as base64 text. The first encrypts bytes, headers and issues; all of them decrypt.
   * @default none: what is in the table can be read, and changed
   */
  readonly encryptionKeys?: readonly (Uint8Array | string)[] | undefined;
  /** How long a letter is kept: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

export interface PostgresDeadLetters extends DeadLetterStore {
  /** Creates the table and its indexes unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /** Deletes letters and tombstones whose retention is over, a thousand at a time, and resolves with their number. */
  prune(): Promise<number>;
}

/**
 * Dead letters that any number of processes share.
 *
 * @throws {ConfigurationError} if pool is not a pool, the name of the table needs quotes, a key does not have 32 bytes, or
 *   retention is not a duration
 * @example
 * const deadLetters = postgresDeadLetters({ pool, encryptionKeys: [process.env.LETTER_KEY ?? ''], retention: '90d' });
 * await deadLetters.migrate();
 * const hooks = receiver({ store: postgresStore({ pool, transactional: true, retention: '90d' }), deadLetters });
 */
export function postgresDeadLetters(options: PostgresDeadLettersOptions): PostgresDeadLetters {
  const { pool, table = 'dead_letter', encryptionKeys, retention } = options ?? {};
  refuseUnknownOptions(options ?? {}, ['pool', 'table', 'encryptionKeys', 'retention']);
  refuseOtherThanPool(pool);
  const seal = new LetterSeal(sealWith(encryptionKeys));
  const letters = new EventTable(pool, letterSqlFor(table), retentionMs(retention));
  survive(pool);
  return new StoredLetters(new PostgresRows(letters), seal);
}

class PostgresRows implements LetterRows {
  readonly retentionMs: number;
  readonly table: string;
  readonly database: PostgresPool;
  readonly #table: EventTable<LetterSql>;
  readonly #sql: LetterSql;

  constructor(table: EventTable<LetterSql>) {
    this.#table = table;
    this.#sql = table.sql;
    this.table = table.sql.table;
    this.retentionMs = table.retentionMs;
    this.database = table.pool;
  }

  async keep(row: NewRow): Promise<string> {
    const [kept] = rowsOf<{ id: string }>(await this.#run(this.#sql.keep, row));
    if (!kept)
      throw new StoreError(
        'Postgres kept a dead letter without a row. Check the table for rules and triggers.',
      );
    return kept.id;
  }

  async find(id: string, transaction?: unknown): Promise<FullRow | undefined> {
    return rowsOf<FullRow>(await this.#run(this.#sql.find, [id], transaction))[0];
  }

  async update(id: string, { reason, code, issues, attempts }: RowChange): Promise<boolean> {
    const values = [id, reason, code ?? null, issues, attempts ?? null];
    return changed(await this.#run(this.#sql.update, values)) === 1;
  }

  async list(
    query: DeadLetterQuery,
    page: { readonly limit: number; readonly after: string },
  ): Promise<readonly LetterRow[]> {
    return rowsOf(await this.#ask(this.#sql.list(query, this.retentionMs, page)));
  }

  async count(query: DeadLetterQuery): Promise<number> {
    const answer = await this.#ask(this.#sql.count(query, this.retentionMs));
    return rowsOf<{ letters: number }>(answer)[0]?.letters ?? 0;
  }

  async countGroups(query: DeadLetterQuery, names: number): Promise<readonly GroupRow[]> {
    return rowsOf(await this.#ask(this.#sql.countGroups(query, this.retentionMs, names)));
  }

  async remove({ key, fingerprint }: ProcessedEvent, transaction: unknown): Promise<number> {
    const statement = this.#sql[transaction === undefined ? 'remove' : 'removeWithin'];
    return changed(await this.#run(statement, [key, fingerprint], transaction));
  }

  async discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    return changed(await this.#run(this.#sql.discard, [id, by, because])) === 1;
  }

  async migrate(): Promise<void> {
    await this.database.query({ text: this.#sql.migrate });
  }

  prune(): Promise<number> {
    return this.#table.prune();
  }

  /** @param transaction undefined: on any client of the pool */
  #run(statement: Statement, given: readonly unknown[], transaction?: unknown): Promise<PostgresReply> {
    const values = [this.retentionMs, ...given];
    if (transaction === undefined) return this.#table.run(statement, values);
    return this.#table.query(transaction as Queryable, statement, values);
  }

  #ask({ text, values }: Question): Promise<PostgresReply> {
    return this.database.query({ text, values });
  }
}

function rowsOf<Row>({ rows }: PostgresReply): readonly Row[] {
  return rows as readonly Row[];
}

function changed({ rowCount }: PostgresReply): number {
  return rowCount ?? 0;
}
