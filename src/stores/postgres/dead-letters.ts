// Keeps dead letters in Postgres: one row for each, removed by the commit that processes its event.
import type {
  DeadLetterChange,
  DeadLetterContent,
  DeadLetterGroup,
  DeadLetterPage,
  DeadLetterPageRequest,
  DeadLetterQuery,
  DeadLetterStore,
  Discarded,
  NewDeadLetter,
  ProcessedEvent,
} from '../../dead-letters/dead-letter-store.js';
import { sealWith } from '../../dead-letters/seal.js';
import { LetterSeal } from '../../dead-letters/sealed-letter.js';
import { StoreError } from '../../errors.js';
import { refuseUnknownOptions } from '../../options/unknown-option.js';
import { retentionMs } from '../store.js';
import { EventTable } from './event-table.js';
import { type FullRow, type GroupRow, groupOf, identityOf, type LetterRow, letterOf } from './letter-row.js';
import { type LetterSql, letterSqlFor, type Question } from './letter-sql.js';
import { noteLetterTable } from './letter-tables.js';
import {
  type PostgresPool,
  type PostgresReply,
  type Queryable,
  refuseOtherThanPool,
  survive,
} from './pool.js';

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
  noteLetterTable(pool, letters.sql.table);
  return new StoredLetters(letters, seal);
}

/** After a place that no page gave there is nothing, as in the memory store. */
const PLACE = /^\d{1,18}$/;

class StoredLetters implements PostgresDeadLetters {
  readonly scope = 'shared';
  readonly retentionMs: number;
  readonly database: PostgresPool;
  readonly #table: EventTable<LetterSql>;
  readonly #seal: LetterSeal;

  constructor(table: EventTable<LetterSql>, seal: LetterSeal) {
    this.#table = table;
    this.#seal = seal;
    this.retentionMs = table.retentionMs;
    this.database = table.pool;
  }

  async keep(letter: NewDeadLetter): Promise<string> {
    const { id, key, fingerprint, namespace, eventName, eventId, sandbox, reason, code, attempts } = letter;
    const { issues, head, body } = this.#seal.close(letter);
    const values = [id, key, fingerprint, namespace, eventName, eventId, sandbox];
    const why = [reason, code ?? null, attempts, issues, head, body];
    const [kept] = rowsOf<{ id: string }>(await this.#run('keep', [...values, ...why]));
    if (!kept)
      throw new StoreError(
        'Postgres kept a dead letter without a row. Check the table for rules and triggers.',
      );
    return kept.id;
  }

  async update(id: string, { reason, code, issues, attempts }: DeadLetterChange): Promise<boolean> {
    // What issues are tied to never changes while the letter is there.
    const found = await this.#find(id);
    if (!found) return false;
    const sealed = this.#seal.closeIssues(issues, found);
    return changed(await this.#run('update', [id, reason, code ?? null, sealed, attempts ?? null])) === 1;
  }

  async list(query: DeadLetterQuery, { limit, after = '0' }: DeadLetterPageRequest): Promise<DeadLetterPage> {
    if (!PLACE.test(after)) return { letters: [], next: undefined };
    const { sql, retentionMs } = this.#table;
    // One more tells whether there is a page after this one.
    const page = { limit: limit + 1, after };
    const rows = rowsOf<LetterRow>(await this.#ask(sql.list(query, retentionMs, page)));
    const listed = rows.slice(0, limit);
    return {
      letters: listed.map((row) => letterOf(row, this.#seal.openIssues(row.issues, row) ?? [])),
      next: rows.length > limit ? listed.at(-1)?.place : undefined,
    };
  }

  async count(query: DeadLetterQuery): Promise<number> {
    const { sql, retentionMs } = this.#table;
    const [counted] = rowsOf<{ letters: number }>(await this.#ask(sql.count(query, retentionMs)));
    return counted?.letters ?? 0;
  }

  async countGroups(
    query: DeadLetterQuery,
    { names }: { readonly names: number },
  ): Promise<DeadLetterGroup[]> {
    const { sql, retentionMs } = this.#table;
    return rowsOf<GroupRow>(await this.#ask(sql.countGroups(query, retentionMs, names))).map(groupOf);
  }

  async read(id: string): Promise<DeadLetterContent> {
    const row = await this.#find(id);
    if (!row) return { status: 'gone' };
    const { head, body, issues } = row;
    const opened = head && body ? this.#seal.open(identityOf(row), { head, body, issues }) : undefined;
    if (!opened) return { status: 'unreadable' };
    const { rawBody, headers, keyIndex } = opened;
    return { status: 'found', letter: letterOf(row, opened.issues), rawBody, headers, keyIndex };
  }

  async remove(
    { key, fingerprint }: ProcessedEvent,
    { transaction }: { readonly transaction?: unknown },
  ): Promise<number> {
    const values = [this.retentionMs, key, fingerprint];
    const { sql } = this.#table;
    return changed(
      transaction === undefined
        ? await this.#table.run(sql.remove, values)
        : await this.#table.query(transaction as Queryable, sql.remove, values),
    );
  }

  async discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    return changed(await this.#run('discard', [id, by, because])) === 1;
  }

  async migrate(): Promise<void> {
    await this.database.query({ text: this.#table.sql.migrate });
  }

  prune(): Promise<number> {
    return this.#table.prune();
  }

  async #find(id: string): Promise<FullRow | undefined> {
    return rowsOf<FullRow>(await this.#run('find', [id]))[0];
  }

  #run(
    statement: 'keep' | 'find' | 'update' | 'discard',
    values: readonly unknown[],
  ): Promise<PostgresReply> {
    return this.#table.run(this.#table.sql[statement], [this.retentionMs, ...values]);
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
