// The contract of a store: it remembers event ids, so that each event is processed once.

import type { EventNames } from '../events/envelope.js';

/** What a delivery claims, and for how long. */
export interface ClaimRequest {
  /** Milliseconds after which another caller may take over the claim, unless it was renewed. */
  readonly leaseMs: number;
  /** Stands for the delivery's bytes: up to 64 characters, which the store keeps and never interprets. */
  readonly fingerprint: string;
  /** The dead letters that {@link IdempotencyStore.joins} accepted: `kept` of the claim says whether they have this event. */
  readonly deadLetters?: JoinableLetters | undefined;
}

/** The part of a dead-letter store that an idempotency store uses. */
export interface JoinableLetters {
  readonly database?: object | undefined;
}

/**
 * - `claimed`: only this caller processes the event until its lease ends.
 * - `in_progress`: another caller does; its lease ends after `retryAfterMs`.
 * - `completed`: the event was processed; `fingerprint` is that of the bytes that were processed.
 */
export type ClaimResult<Extra extends object = {}> =
  | { readonly status: 'claimed'; readonly claim: Claim<Extra> }
  | { readonly status: 'in_progress'; readonly retryAfterMs: number }
  | { readonly status: 'completed'; readonly fingerprint: string };

/**
 * Remembers event ids. Every method except `joins()` may return a value or a promise. `storeContract()` in
 * `payment-webhooks/testing` checks an implementation.
 */
export interface IdempotencyStore<Extra extends object = {}> {
  /**
   * Requests the exclusive right to process `key`. Exactly one of any number of concurrent callers gets it. A key whose
   * retention has expired is new. Only the store's clock counts. A store with bounded memory may forget keys earlier, the
   * oldest first, but never one that is being processed.
   *
   * @throws when the store cannot answer: the delivery is then refused with 503 and no handler runs
   */
  claim(key: string, request: ClaimRequest): ClaimResult<Extra> | Promise<ClaimResult<Extra>>;
  /**
   * Requests a lock that one caller at a time can hold; undefined while another holds it. Without this method, handlers with
   * `serial` are refused. A lock is neither an event nor a transaction: events are claimed, completed and rolled back while
   * it is held. Nothing is remembered once it is released.
   *
   * @throws when the store cannot answer
   */
  lock?(key: string, leaseMs: number): Lock | undefined | Promise<Lock | undefined>;
  /**
   * Whether the transaction of a claim can delete letters of this store, so that `complete()` commits the deletion. Called once
   * for each receiver. Without this method, letters are removed after the commit.
   */
  joins?(deadLetters: JoinableLetters): boolean;
  /**
   * The fingerprint with which the event was completed; undefined if it is not completed. Reads the current state and changes
   * nothing. Without this method, a letter that is kept while another delivery completes the event stays until a replay finds
   * the event completed.
   */
  completedWith?(key: string): string | undefined | Promise<string | undefined>;
  /** Changes nothing, and rejects if a claim would fail now. `health()` calls it, so it must be cheap. */
  ping?(): unknown;
  /** Whether other processes share what this store remembers. The receiver warns about `'process'` in production. */
  readonly scope?: 'process' | 'shared';
  /** Milliseconds for which an id is remembered. If dead letters are kept longer, the receiver warns. */
  readonly retentionMs?: number | undefined;
  /** Frees what the store itself opened. The receiver never calls it: stores can be shared. */
  close?(): Promise<void>;
}

/**
 * The right to process one event. Every operation is an atomic compare-and-set on the token of this claim: it returns false,
 * and changes nothing, once another caller has claimed the key. An owner whose lease has expired may still renew, complete
 * or release, until another caller claims the key.
 */
export interface Claim<Extra extends object = {}> {
  /** 1 for the first claim of an event, and one more for every later one: a fencing token. */
  readonly attempt: number;
  /** Named handlers that succeeded on an earlier attempt. */
  readonly finished: readonly string[];
  /** Merged into the context of the handlers. */
  readonly context?: Extra;
  /** `complete()` commits the handlers' own writes: if it fails, so does the delivery. */
  readonly transactional?: boolean;
  /** Whether that transaction still accepts writes. @default true */
  readonly open?: boolean | undefined;
  /**
   * Whether the `deadLetters` of the request may have a letter of the event. It is read before and after `complete()`, since
   * a letter may be kept in between.
   * @default from the second attempt on, and with `transactional` always
   */
  readonly kept?: boolean | undefined;
  /** Sets the end of the lease to `leaseMs` milliseconds from now; it may shorten it. */
  renew(leaseMs: number): boolean | Promise<boolean>;
  /** Remembers the event as done. True again when the same owner completes it again. */
  complete(): boolean | Promise<boolean>;
  /** Ends the lease, keeps `attempt`, replaces `finished`: the next delivery may try at once. */
  release(finished: readonly string[]): boolean | Promise<boolean>;
}

/** A lock until its lease ends. Like a claim, it returns false, and changes nothing, once another caller has the lock. */
export interface Lock {
  /** Sets the end of the lease to `leaseMs` milliseconds from now; it may shorten it. */
  renew(leaseMs: number): boolean | Promise<boolean>;
  /** The next caller gets the lock at once. */
  release(): boolean | Promise<boolean>;
}

/** The key of an event. Namespace and mode have no colon in them, so different events have different keys. */
export function keyOf(namespace: string, event: EventNames | undefined): string {
  // Few parts: V8 keeps every part of a joined string, and stores keep many keys.
  return `${namespace}${event?.sandbox ? ':sandbox:' : ':live:'}${event?.id}`;
}
