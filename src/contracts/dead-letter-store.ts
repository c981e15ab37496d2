// The contract of a dead-letter store, which keeps authentic events that were not processed.
import type { ErrorCode, Issue } from '../errors.js';
import type { DeadLetterReason } from '../observer.js';

export type { DeadLetterReason } from '../observer.js';

/** An authentic event that was not processed. Only {@link DeadLetterStore.read} returns its bytes and headers. */
export interface DeadLetter {
  readonly id: string;
  readonly reason: DeadLetterReason;
  readonly namespace: string;
  readonly eventName: string;
  readonly eventId: string;
  readonly sandbox: boolean;
  /** How often it has been delivered or replayed. */
  readonly attempts: number;
  /** When it was first kept, by the store's clock. */
  readonly keptAt: Date;
  /** The error code of the latest attempt. */
  readonly code: ErrorCode | undefined;
  /**
   * Why its handler failed on the latest attempt, in at most 200 characters without a word of a message, such as
   * `mark-paid: TypeError at orders.ts:10`. Undefined if none failed, or if an older version kept the letter.
   */
  readonly cause?: string | undefined;
  /** Where its payload does not match its schema, without values. */
  readonly issues: readonly Issue[];
  /** The first 12 hexadecimal digits of the SHA-256 of its private key; undefined for tombstones. */
  readonly keyId?: string | undefined;
  /** Who discarded it, why, and when. A discarded letter no longer has bytes or headers. */
  readonly discarded?: Discarded;
}

export interface Discarded {
  readonly by: string;
  readonly because: string;
  readonly at: Date;
}

/** A letter for a store to keep. The store owns it: nothing else refers to its bytes or headers. */
export interface NewDeadLetter extends Omit<DeadLetter, 'keptAt' | 'discarded'> {
  /** Random. If the store already has the letter, that one keeps its id. */
  readonly id: string;
  /** The key under which the event is claimed: its namespace, mode and id. */
  readonly key: string;
  /** SHA-256 of the bytes, as 64 hexadecimal digits. */
  readonly fingerprint: string;
  readonly rawBody: Buffer;
  /** Without credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Which of the configured keys signed it. */
  readonly keyIndex: number;
  /** The first digits of its signature: they recognize a completed delivery of the same bytes, and cannot be sent again. */
  readonly signaturePrefix?: string | undefined;
}

/** What an attempt changes in a letter. */
export interface DeadLetterChange extends Pick<DeadLetter, 'reason' | 'code' | 'cause' | 'issues'> {
  /** Unchanged if undefined. */
  readonly attempts?: number | undefined;
}

/** Selects the letters that match every given field. */
export interface DeadLetterQuery {
  readonly namespace: string;
  /** True for tombstones only, false for letters only. */
  readonly discarded: boolean;
  readonly id?: string | undefined;
  readonly reason?: DeadLetterReason | undefined;
  readonly eventId?: string | undefined;
  readonly eventName?: string | undefined;
  /** The beginning of the event name, such as `refund.`. No character is a wildcard. */
  readonly eventNamePrefix?: string | undefined;
  /** Kept at this time or later. */
  readonly since?: Date | undefined;
}

/**
 * At most `limit` letters: those after the page whose `next` is given as `after`, else the first ones. A store that takes long to
 * find them may return fewer, or none, with `next`.
 */
export interface DeadLetterPageRequest {
  readonly limit: number;
  readonly after?: string | undefined;
}

export interface DeadLetterPage {
  readonly letters: readonly DeadLetter[];
  /** Where the next page begins; undefined after the last one. */
  readonly next?: string | undefined;
}

/** The letters with one reason and one event name. */
export interface DeadLetterGroup {
  readonly reason: DeadLetterReason;
  /** A name, or `…` for all names beyond `names` together. */
  readonly eventName: string;
  readonly count: number;
  /** When the oldest one was first kept. */
  readonly oldest: Date;
}

/** The name for all further names. No event can have it, because event names are printable ASCII. */
export const FURTHER_NAMES = '…';

/**
 * - `found`: the bytes and headers are a copy of the caller's own.
 * - `gone`: there is no letter with this id, or it is discarded.
 * - `unreadable`: the stored bytes are not those that were kept. Reported, and never replayed.
 */
export type DeadLetterContent =
  | {
      readonly status: 'found';
      readonly letter: DeadLetter;
      readonly rawBody: Buffer;
      readonly headers: Readonly<Record<string, string>>;
      readonly keyIndex: number;
      readonly signaturePrefix?: string | undefined;
    }
  | { readonly status: 'gone' }
  | { readonly status: 'unreadable' };

/** An event that was processed, and the fingerprint of its bytes. */
export type ProcessedEvent = Pick<NewDeadLetter, 'key' | 'fingerprint'>;

/**
 * Keeps events that were not processed. Every method may return a value or a promise, and throws or rejects if the store
 * fails. A letter exists until it is removed, discarded, or older than the retention. After that no call finds it, even if
 * it is not yet deleted. `deadLetterContract()` in `payment-webhooks/testing` checks an implementation.
 */
export interface DeadLetterStore {
  /**
   * Keeps a letter before it answers. If the store has a letter with the same key and fingerprint, that letter gets the new
   * `reason`, `code`, `cause`, `issues`, `headers`, `keyIndex`, `keyId` and `signaturePrefix`. It keeps its id, its place and
   * `keptAt`. Its `attempts` rise by one, or to the given number if that is more.
   *
   * @returns the id that the letter has
   * @throws if the letter is not kept, for example because the store is full: no letter is evicted for another
   */
  keep(letter: NewDeadLetter): string | Promise<string>;
  /** Updates a letter in place. False, and nothing changed, if it is gone. */
  update(id: string, change: DeadLetterChange): boolean | Promise<boolean>;
  /** Letters in the order in which they were first kept, at most `limit` of them. */
  list(query: DeadLetterQuery, page: DeadLetterPageRequest): DeadLetterPage | Promise<DeadLetterPage>;
  /** How many letters match. Without this method, the letters are listed to count them. */
  count?(query: DeadLetterQuery): number | Promise<number>;
  /**
   * How many letters match, by reason and event name, in any order. For each reason at most `names` names: those whose
   * letters arrived first. The letters of further names are counted together under the name `…`. Without this method, the
   * letters are listed to count them.
   */
  countGroups?(
    query: DeadLetterQuery,
    most: { readonly names: number },
  ): readonly DeadLetterGroup[] | Promise<readonly DeadLetterGroup[]>;
  read(id: string): DeadLetterContent | Promise<DeadLetterContent>;
  /**
   * Deletes the letters of an event that was processed: the one with the same bytes, and those that waited for a retry
   * (`failed`, `unfinished`) with any. The others stay: with other bytes they may be another event.
   *
   * @returns how many were deleted
   */
  remove(event: ProcessedEvent): number | Promise<number>;
  /** Deletes bytes and headers, and leaves a tombstone; false when the letter is gone. The same event may be kept again. */
  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): boolean | Promise<boolean>;
  /** Milliseconds for which a letter is kept. */
  readonly retentionMs?: number | undefined;
  /** Whether other processes see these letters. The receiver warns about `'process'` in production. */
  readonly scope?: 'process' | 'shared';
  /** Frees what the store itself opened. The receiver never calls it: stores can be shared. */
  close?(): Promise<void>;
}

export const REASONS: ReadonlySet<string> = new Set<DeadLetterReason>([
  'unknown',
  'invalid',
  'failed',
  'conflict',
  'rejected',
  'unfinished',
]);
