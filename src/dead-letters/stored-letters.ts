// Stores dead letters in a SQL table: seals them before they are written, opens them when read.

import {
  type DeadLetter,
  type DeadLetterChange,
  type DeadLetterContent,
  type DeadLetterGroup,
  type DeadLetterPage,
  type DeadLetterPageRequest,
  type DeadLetterQuery,
  type DeadLetterReason,
  type DeadLetterStore,
  type Discarded,
  FURTHER_NAMES,
  LETTER_TABLE,
  type NewDeadLetter,
  type ProcessedEvent,
} from '../claims/dead-letter-store.js';
import type { ErrorCode } from '../errors.js';
import type { LetterIdentity, LetterSeal, SealedParts } from './seal.js';

export interface LetterRow {
  /** In the order of arrival. */
  readonly place: string;
  readonly id: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly namespace: string;
  readonly event_name: string;
  readonly event_id: string;
  readonly sandbox: boolean;
  readonly reason: DeadLetterReason;
  readonly code: ErrorCode | null;
  readonly attempts: number;
  readonly issues: Buffer;
  /** Null for a tombstone. */
  readonly head: Buffer | null;
  readonly kept_ms: number;
  readonly discarded_ms: number | null;
  readonly discarded_by: string | null;
  readonly discarded_because: string | null;
}

/** What is written of a new letter, in the order of the columns. */
export type NewRow = readonly (string | number | boolean | Uint8Array | null)[];

/** With what only `read` gives out; null for a tombstone. */
export interface FullRow extends LetterRow {
  readonly body: Buffer | null;
}

/** The letters of one reason and one name. */
export interface GroupRow {
  readonly reason: DeadLetterReason;
  /** Null for the letters of all further names. */
  readonly event_name: string | null;
  readonly letters: number;
  readonly oldest_ms: number;
}

/** What an update writes into a row. */
export interface RowChange extends Pick<DeadLetterChange, 'reason' | 'code' | 'attempts'> {
  readonly issues: Buffer;
}

/** The table, as one client reaches it. No query returns an expired letter, and only a query for tombstones returns them. */
export interface LetterRows {
  /** As SQL has its name. */
  readonly table: string;
  readonly database: object;
  readonly retentionMs: number;
  /** @returns the id of the letter that there is now */
  keep(row: NewRow): Promise<string>;
  find(id: string, transaction?: unknown): Promise<FullRow | undefined>;
  update(id: string, change: RowChange): Promise<boolean>;
  list(query: DeadLetterQuery, page: { limit: number; after: string }): Promise<readonly LetterRow[]>;
  count(query: DeadLetterQuery): Promise<number>;
  countGroups(query: DeadLetterQuery, names: number): Promise<readonly GroupRow[]>;
  remove(event: ProcessedEvent, transaction: unknown): Promise<number>;
  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean>;
  migrate(): Promise<void>;
  prune(): Promise<number>;
}

/** A place that no page returned: an empty page, as in the memory store. */
const PLACE = /^\d{1,18}$/;

export class StoredLetters implements DeadLetterStore {
  readonly scope = 'shared';
  readonly retentionMs: number;
  readonly database: object;
  readonly [LETTER_TABLE]: string;
  readonly #rows: LetterRows;
  readonly #seal: LetterSeal;

  constructor(rows: LetterRows, seal: LetterSeal) {
    this.#rows = rows;
    this.#seal = seal;
    this.retentionMs = rows.retentionMs;
    this.database = rows.database;
    this[LETTER_TABLE] = rows.table;
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
    // One more than asked for, to know whether there is a next page.
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

  async read(
    id: string,
    { transaction }: { readonly transaction?: unknown } = {},
  ): Promise<DeadLetterContent> {
    const row = await this.#rows.find(id, transaction);
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

export function newRow(letter: NewDeadLetter, { issues, head, body }: SealedParts): NewRow {
  const { id, key, fingerprint, namespace, eventName, eventId, sandbox, reason, code, attempts } = letter;
  const identity = [id, key, fingerprint, namespace, eventName, eventId, sandbox];
  return [...identity, reason, code ?? null, attempts, issues, head, body];
}

export function groupOf({ reason, event_name, letters, oldest_ms }: GroupRow): DeadLetterGroup {
  return {
    reason,
    eventName: event_name ?? FURTHER_NAMES,
    count: letters,
    oldest: new Date(Math.round(oldest_ms)),
  };
}

export function identityOf(row: LetterRow): LetterIdentity {
  const { id, key, fingerprint, namespace, event_name: eventName, event_id: eventId, sandbox } = row;
  return { id, key, fingerprint, namespace, eventName, eventId, sandbox };
}

export function letterOf(row: LetterRow, sealed: Pick<DeadLetter, 'issues' | 'keyId'>): DeadLetter {
  const { id, reason, namespace, sandbox, attempts, discarded_ms: discardedMs } = row;
  return {
    ...{ id, reason, namespace, eventName: row.event_name, eventId: row.event_id, sandbox, attempts },
    // A database that multiplies seconds does so in binary fractions, which hold few of them exactly.
    keptAt: new Date(Math.round(row.kept_ms)),
    code: row.code ?? undefined,
    issues: sealed.issues,
    keyId: sealed.keyId,
    ...(discardedMs !== null && {
      discarded: {
        by: row.discarded_by ?? '',
        because: row.discarded_because ?? '',
        at: new Date(Math.round(discardedMs)),
      },
    }),
  };
}
