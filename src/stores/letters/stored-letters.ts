// Keeps dead letters in a database: encrypts, pages and filters them. A back end stores rows.

import { setImmediate as nextTurn } from 'node:timers/promises';
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
} from '../../contracts/dead-letter-store.js';
import { anything, type OptionRule, RETENTION } from '../../options/define-options.js';
import { matchesQuery } from './count-letters.js';
import { type LetterIdentity, LetterSeal, type SealedParts, sealWith } from './seal.js';

/** The options that all databases of letters have. */
export interface LetterOptions {
  /**
   * 32 random bytes each, as they are or as a base64 string. The first encrypts bytes, headers and issues; all of them decrypt.
   * @default none: stored letters can be read and changed
   */
  readonly encryptionKeys?: readonly (Uint8Array | string)[] | undefined;
  /** How long a letter is kept: `ms`-style string or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

// The type is written out: TypeScript 5.4 does not know what the compiler makes of it.
export const LETTER_RULES: {
  readonly encryptionKeys: OptionRule<LetterOptions['encryptionKeys']>;
  readonly retention: OptionRule<number>;
} = { encryptionKeys: anything(), retention: RETENTION };

/** A letter or tombstone. Sealed parts are bytes. */
export interface LetterRow
  extends LetterIdentity,
    Pick<DeadLetter, 'reason' | 'code' | 'attempts' | 'discarded'> {
  /** In the order of arrival. */
  readonly place: string;
  /** Milliseconds since 1970. */
  readonly keptAt: number;
  readonly issues: Buffer;
  /** Undefined for a tombstone. */
  readonly head: Buffer | undefined;
}

export interface NewRow
  extends LetterIdentity,
    SealedParts,
    Pick<DeadLetter, 'reason' | 'code' | 'attempts'> {}

/** A row with its bytes, which only `read` returns; undefined for a tombstone. */
export interface FullRow extends LetterRow {
  readonly body: Buffer | undefined;
}

/** What an update writes into a row. */
export interface RowChange extends Pick<DeadLetterChange, 'reason' | 'code' | 'attempts'> {
  readonly issues: Buffer;
}

/** At most `limit` rows that arrived after the place `after`. */
export interface RowPage {
  readonly limit: number;
  readonly after: string;
}

/** The table of rows. No call finds an expired letter, and only a query for tombstones finds tombstones. */
export interface LetterRows {
  readonly retentionMs: number;
  /** @returns the id of the kept letter */
  keep(row: NewRow): Promise<string>;
  /** Nothing changes if the letter is gone. */
  replaceBody(id: string, body: Buffer): Promise<unknown>;
  find(id: string): Promise<FullRow | 'unreadable' | undefined>;
  update(id: string, change: RowChange): Promise<boolean>;
  /** Rows that include all that match. There may be more after the place `next`. */
  list(
    query: DeadLetterQuery,
    page: RowPage,
  ): Promise<{ readonly rows: readonly LetterRow[]; readonly next: string | undefined }>;
  /** A back end that would read every row to count them has neither. */
  count?(query: DeadLetterQuery): Promise<number>;
  countGroups?(query: DeadLetterQuery, names: number): Promise<readonly DeadLetterGroup[]>;
  remove(event: ProcessedEvent): Promise<number>;
  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean>;
  /** Deletes a batch. @returns how many rows, and whether there may be more */
  prune(): Promise<{ readonly pruned: number; readonly more: boolean }>;
}

/** For any other place the page is empty, as in the memory store. */
const PLACE = /^\d{1,18}$/;
/** How many batches a page may take: each call has a deadline, and few letters may match. */
const MAX_BATCHES = 5;

export class StoredLetters implements DeadLetterStore {
  readonly scope = 'shared';
  readonly retentionMs: number;
  readonly count?: (query: DeadLetterQuery) => Promise<number>;
  readonly countGroups?: NonNullable<DeadLetterStore['countGroups']>;
  readonly #rows: LetterRows;
  readonly #seal: LetterSeal;

  /** @throws {ConfigurationError} if encryptionKeys is not an array of keys of 32 bytes */
  constructor(rows: LetterRows, encryptionKeys: unknown) {
    this.#seal = new LetterSeal(sealWith(encryptionKeys));
    this.#rows = rows;
    this.retentionMs = rows.retentionMs;
    const { count, countGroups } = rows;
    if (count) this.count = (query) => count.call(rows, query);
    if (countGroups) this.countGroups = (query, { names }) => countGroups.call(rows, query, names);
  }

  async keep(letter: NewDeadLetter): Promise<string> {
    const id = await this.#rows.keep({ ...letter, ...this.#seal.close(letter) });
    // The letter was there before. If its bytes were changed, or their key is gone, those of this delivery replace them.
    if (id !== letter.id && (await this.read(id)).status === 'unreadable')
      await this.#rows.replaceBody(id, this.#seal.closeBody({ ...letter, id }));
    return id;
  }

  async update(id: string, { issues, cause, ...change }: DeadLetterChange): Promise<boolean> {
    // What issues are bound to does not change as long as the letter exists.
    const found = await this.#rows.find(id);
    if (!found || found === 'unreadable') return false;
    return this.#rows.update(id, { ...change, issues: this.#seal.closeWhy({ issues, cause }, found) });
  }

  async list(query: DeadLetterQuery, { limit, after = '0' }: DeadLetterPageRequest): Promise<DeadLetterPage> {
    const found: LetterRow[] = [];
    let from: string | undefined = PLACE.test(after) ? after : undefined;
    for (let batch = 1; batch <= MAX_BATCHES && from !== undefined && found.length <= limit; batch += 1) {
      // One more than requested shows that there is a next page.
      const { rows, next } = await this.#rows.list(query, { limit: limit + 1, after: from });
      found.push(...rows.filter((row) => isFound(row, query)));
      from = next;
    }
    const letters = found.slice(0, limit).map((row) => this.#letterOf(row));
    return { letters, next: found.length > limit ? found[limit - 1]?.place : from };
  }

  async read(id: string): Promise<DeadLetterContent> {
    const row = await this.#rows.find(id);
    if (!row) return { status: 'gone' };
    if (row === 'unreadable') return { status: 'unreadable' };
    const { head, body, issues } = row;
    const opened = head && body && this.#seal.open(row, { head, body, issues });
    if (!opened) return { status: 'unreadable' };
    const { rawBody, headers, keyIndex, signaturePrefix } = opened;
    return { status: 'found', letter: letterOf(row, opened), rawBody, headers, keyIndex, signaturePrefix };
  }

  remove(event: ProcessedEvent): Promise<number> {
    return this.#rows.remove(event);
  }

  discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    return this.#rows.discard(id, { by, because });
  }

  async prune(): Promise<number> {
    for (let sum = 0; ; ) {
      const { pruned, more } = await this.#rows.prune();
      sum += pruned;
      if (!more) return sum;
      // A synchronous client of SQLite would block the event loop until the last batch.
      await nextTurn();
    }
  }

  #letterOf(row: LetterRow): DeadLetter {
    const why = this.#seal.openWhy(row.issues, row) ?? { issues: [] };
    return letterOf(row, { ...why, keyId: row.head && this.#seal.openHead(row.head, row)?.keyId });
  }
}

function isFound(row: LetterRow, query: DeadLetterQuery): boolean {
  return (row.discarded !== undefined) === query.discarded && matchesQuery(row, query);
}

type Opened = Pick<DeadLetter, 'issues' | 'cause' | 'keyId'>;

function letterOf(row: LetterRow, { issues, cause, keyId }: Opened): DeadLetter {
  const { id, reason, namespace, eventName, eventId, sandbox, attempts, code, discarded } = row;
  return {
    ...{ id, reason, namespace, eventName, eventId, sandbox, attempts, code, cause, issues, keyId },
    keptAt: new Date(row.keptAt),
    ...(discarded && { discarded }),
  };
}
