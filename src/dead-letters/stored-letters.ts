// Dead letters in a table of a SQL database: sealed before they are written, and opened when they are read.
import type {
  DeadLetter,
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
} from '../claims/dead-letter-store.js';
import {
  type FullRow,
  type GroupRow,
  groupOf,
  identityOf,
  type LetterRow,
  letterOf,
  type NewRow,
  newRow,
} from './letter-row.js';
import type { LetterSeal } from './sealed-letter.js';

/** After a place that no page gave there is nothing, as in the memory store. */
const PLACE = /^\d{1,18}$/;

/** What an update writes into a row. */
export interface RowChange extends Pick<DeadLetterChange, 'reason' | 'code' | 'attempts'> {
  readonly issues: Buffer;
}

/** The table as one client reaches it. Of tombstones and of letters whose retention is over it says nothing unless asked. */
export interface LetterRows {
  readonly database: object;
  readonly retentionMs: number;
  /** @returns the id of the letter that there is now */
  keep(row: NewRow): Promise<string>;
  find(id: string): Promise<FullRow | undefined>;
  update(id: string, change: RowChange): Promise<boolean>;
  list(query: DeadLetterQuery, page: { limit: number; after: string }): Promise<readonly LetterRow[]>;
  count(query: DeadLetterQuery): Promise<number>;
  countGroups(query: DeadLetterQuery, names: number): Promise<readonly GroupRow[]>;
  remove(event: ProcessedEvent, transaction: unknown): Promise<number>;
  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean>;
  migrate(): Promise<void>;
  prune(): Promise<number>;
}

export class StoredLetters implements DeadLetterStore {
  readonly scope = 'shared';
  readonly retentionMs: number;
  readonly database: object;
  readonly #rows: LetterRows;
  readonly #seal: LetterSeal;

  constructor(rows: LetterRows, seal: LetterSeal) {
    this.#rows = rows;
    this.#seal = seal;
    this.retentionMs = rows.retentionMs;
    this.database = rows.database;
  }

  async keep(letter: NewDeadLetter): Promise<string> {
    return this.#rows.keep(newRow(letter, this.#seal.close(letter)));
  }

  async update(id: string, { reason, code, issues, attempts }: DeadLetterChange): Promise<boolean> {
    // What issues are tied to never changes while the letter is there.
    const found = await this.#rows.find(id);
    if (!found) return false;
    return this.#rows.update(id, { reason, code, issues: this.#seal.closeIssues(issues, found), attempts });
  }

  async list(query: DeadLetterQuery, { limit, after = '0' }: DeadLetterPageRequest): Promise<DeadLetterPage> {
    if (!PLACE.test(after)) return { letters: [], next: undefined };
    // One more tells whether there is a page after this one.
    const rows = await this.#rows.list(query, { limit: limit + 1, after });
    const listed = rows.slice(0, limit);
    return {
      letters: listed.map((row) => this.#listed(row)),
      next: rows.length > limit ? listed.at(-1)?.place : undefined,
    };
  }

  count(query: DeadLetterQuery): Promise<number> {
    return this.#rows.count(query);
  }

  async countGroups(
    query: DeadLetterQuery,
    { names }: { readonly names: number },
  ): Promise<DeadLetterGroup[]> {
    return (await this.#rows.countGroups(query, names)).map(groupOf);
  }

  async read(id: string): Promise<DeadLetterContent> {
    const row = await this.#rows.find(id);
    if (!row) return { status: 'gone' };
    const { head, body, issues } = row;
    const opened = head && body ? this.#seal.open(identityOf(row), { head, body, issues }) : undefined;
    if (!opened) return { status: 'unreadable' };
    const { rawBody, headers, keyIndex, signaturePrefix } = opened;
    return { status: 'found', letter: letterOf(row, opened), rawBody, headers, keyIndex, signaturePrefix };
  }

  #listed(row: LetterRow): DeadLetter {
    const issues = this.#seal.openIssues(row.issues, row) ?? [];
    return letterOf(row, { issues, keyId: row.head ? this.#seal.openHead(row.head, row)?.keyId : undefined });
  }

  remove(event: ProcessedEvent, { transaction }: { readonly transaction?: unknown }): Promise<number> {
    return this.#rows.remove(event, transaction);
  }

  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    return this.#rows.discard(id, why);
  }

  migrate(): Promise<void> {
    return this.#rows.migrate();
  }

  prune(): Promise<number> {
    return this.#rows.prune();
  }
}
