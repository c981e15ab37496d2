// The contract of a dead-letter store: it keeps authentic events that were not processed.
import type { ErrorCode, Issue, Rejection } from '../errors.js';
import type { DeadLetterReason } from '../observer.js';
import type { GrantedClaim } from './claim-answer.js';
import type { StoreFailure } from './timed-calls.js';

export type { DeadLetterReason } from '../observer.js';

/** An authentic event that was not processed. Its bytes and headers come from {@link DeadLetterStore.read} alone. */
export interface DeadLetter {
  readonly id: string;
  readonly reason: DeadLetterReason;
  readonly namespace: string;
  readonly eventName: string;
  readonly eventId: string;
  readonly sandbox: boolean;
  /** How often it was delivered or replayed. */
  readonly attempts: number;
  /** When it was first kept, by the clock of the store. */
  readonly keptAt: Date;
  /** Why the latest attempt was refused. */
  readonly code: ErrorCode | undefined;
  /** Where its payload does not fit; never a value of it. */
  readonly issues: readonly Issue[];
  /**
   * Which private key signed it: the first 12 hexadecimal digits of the SHA-256 of the key. Undefined for a tombstone, and
   * for a letter of a version that did not keep it.
   */
  readonly keyId?: string | undefined;
  /** Who discarded it, why, and when: of such a letter only this is left, without bytes and headers. */
  readonly discarded?: Discarded;
}

export interface Discarded {
  readonly by: string;
  readonly because: string;
  readonly at: Date;
}

/** What a store is given to keep. It belongs to the store from then on: nobody else has its bytes or headers. */
export interface NewDeadLetter extends Omit<DeadLetter, 'keptAt' | 'discarded'> {
  /** Random; of a letter that the store already has, its own id stays. */
  readonly id: string;
  /** What the event is claimed by: its namespace, mode and id. */
  readonly key: string;
  /** SHA-256 of the bytes, as 64 hexadecimal digits. */
  readonly fingerprint: string;
  readonly rawBody: Buffer;
  /** Without those that are credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Which of the configured keys had signed it. */
  readonly keyIndex: number;
  /** The first digits of its signature: they recognize a completed delivery of the same bytes, and cannot be sent again. */
  readonly signaturePrefix?: string | undefined;
}

/** What an attempt changes in a letter. */
export interface DeadLetterChange extends Pick<DeadLetter, 'reason' | 'code' | 'issues'> {
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
  /** How the name of the event begins, such as `refund.`. No character is a wildcard. */
  readonly eventNamePrefix?: string | undefined;
  /** Kept at this time or later. */
  readonly since?: Date | undefined;
}

/** At most `limit` letters, after the page whose `next` is given, or from the first letter on. */
export interface DeadLetterPageRequest {
  readonly limit: number;
  readonly after?: string | undefined;
}

export interface DeadLetterPage {
  readonly letters: readonly DeadLetter[];
  /** Where the next page begins; undefined after the last one. */
  readonly next?: string | undefined;
}

/** The letters of one reason and one name of event. */
export interface DeadLetterGroup {
  readonly reason: DeadLetterReason;
  /** A name, or `…` for all names beyond `names` together. */
  readonly eventName: string;
  readonly count: number;
  /** When the oldest of them was first kept. */
  readonly oldest: Date;
}

/** Stands for all further names. No event can have it: names are printable ASCII. */
export const FURTHER_NAMES = '…';

/**
 * - `found`: the bytes and headers are a copy of the caller's own.
 * - `gone`: there is no letter of this id, or it is discarded.
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

/** An event that was processed, with the bytes that it was processed with. */
export type ProcessedEvent = Pick<NewDeadLetter, 'key' | 'fingerprint'>;

/**
 * Keeps events that were not processed. Every method may return a value or a promise, and throws or rejects if the store
 * fails. A letter exists until it is removed, discarded, or older than the retention. After that no call finds it, even if
 * it is not yet deleted. `deadLetterContract()` in `payment-webhooks/testing` checks an implementation.
 */
export interface DeadLetterStore {
  /**
   * Keeps a letter before it answers. If there is one of the same key and fingerprint, that one takes over `reason`,
   * `code`, `issues`, headers and all that is known of its key, and has one attempt more, or as many as given if that is more; it keeps
   * its id, its place and `keptAt`.
   *
   * @returns the id that the letter has
   * @throws if the letter is not kept, also because the store is full: no letter is evicted for another
   */
  keep(letter: NewDeadLetter): string | Promise<string>;
  /** Updates a letter in place. False, and nothing changed, if it is gone. */
  update(id: string, change: DeadLetterChange): boolean | Promise<boolean>;
  /** Letters in the order in which they were first kept, at most `limit` of them. */
  list(query: DeadLetterQuery, page: DeadLetterPageRequest): DeadLetterPage | Promise<DeadLetterPage>;
  /** How many letters match. */
  count(query: DeadLetterQuery): number | Promise<number>;
  /**
   * How many letters match, by reason and event name, in any order. For each reason at most `names` names: those whose
   * letters arrived first. The letters of its other names are counted together, under the name `…`. A store without this
   * method is asked for its pages.
   */
  countGroups?(
    query: DeadLetterQuery,
    most: { readonly names: number },
  ): readonly DeadLetterGroup[] | Promise<readonly DeadLetterGroup[]>;
  /** @param scope.transaction as for {@link remove}: a read in it needs no other connection. A store may ignore it */
  read(
    id: string,
    scope?: { readonly transaction?: unknown },
  ): DeadLetterContent | Promise<DeadLetterContent>;
  /**
   * Deletes the letters of an event that was processed: the one with the same bytes, and those that waited for a retry
   * (`failed`, `unfinished`) with any. The others stay: with other bytes they may be another event.
   *
   * @param scope.transaction what the handlers wrote in, where both stores have the same `database`: the letters go
   *   when it is committed, and stay when it is rolled back
   * @returns how many were deleted
   */
  remove(event: ProcessedEvent, scope: { readonly transaction?: unknown }): number | Promise<number>;
  /** Deletes bytes and headers, and leaves a tombstone; false when the letter is gone. The same event may be kept again. */
  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): boolean | Promise<boolean>;
  /** What transactions are begun on, such as a pool. A store of event ids that uses the same one can remove letters in its commits. */
  readonly database?: object | undefined;
  /** Milliseconds for which a letter is kept. */
  readonly retentionMs?: number | undefined;
  /** Whether other processes see these letters; `'process'` earns a warning in production. */
  readonly scope?: 'process' | 'shared';
  /** Frees what the store itself opened. The receiver never calls it: stores can be shared. */
  close?(): Promise<void>;
}

/** The SQL name of the table of a dead-letter store, in which a claim on the same `database` can look for a letter. */
export const LETTER_TABLE = Symbol.for('payment-webhooks.letterTable');

export const REASONS: ReadonlySet<string> = new Set<DeadLetterReason>([
  'unknown',
  'invalid',
  'failed',
  'conflict',
  'rejected',
  'unfinished',
]);

/** Why an attempt did not process the event. */
export interface Unprocessed {
  readonly reason: DeadLetterReason;
  readonly rejection?: Rejection | undefined;
  /** Of the claim; undefined where the event was not claimed. */
  readonly attempt?: number | undefined;
}

/** The letter of one delivery, as the processing of its event uses it. None of its promises rejects. */
export interface DeliveryLetter {
  /** Why there is a letter of this event now, as far as this delivery knows. */
  readonly reason: DeadLetterReason | undefined;
  /** The letter was processed or discarded while it was being replayed. */
  readonly gone: boolean;
  /** Under the claim, before any handler runs: the journal keeps the event, and a replay sees whether its letter is `gone`. */
  enter(claim: GrantedClaim): Promise<StoreFailure | undefined>;
  /** @returns a failure when the event is not in the store, so that only its sender has it */
  keep(unprocessed: Unprocessed): Promise<StoreFailure | undefined>;
  /** Before the claim is completed: in the same commit, if letters live in its database. */
  removeInCommit(claim: GrantedClaim): Promise<StoreFailure | undefined>;
  /** When the event is processed. */
  removeAfter(claim: GrantedClaim): Promise<void>;
  /** When another delivery has processed the event. @param completed the fingerprint of what was processed */
  removeCompleted(completed: string): Promise<void>;
}
