// The contract of a store: it remembers event ids, so that each event is processed once.

import type { EventNames } from '../events/envelope.js';

/** What a delivery claims, and for how long. */
export interface ClaimRequest {
  /** Milliseconds after which another caller may take over the claim, unless it was renewed. */
  readonly leaseMs: number;
  /** Stands for the delivery's bytes: up to 64 characters, which the store keeps and never interprets. */
  readonly fingerprint: string;
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
 * - `forgotten`: with the names of the handlers whose writes inside `once` are no longer remembered.
 * - `in_progress`: nothing has changed; the lease ends after `retryAfterMs`.
 * - `unknown`: the store does not remember the event.
 */
export type ForgetResult =
  | { readonly status: 'forgotten'; readonly handlers: readonly string[] }
  | { readonly status: 'in_progress'; readonly retryAfterMs: number }
  | { readonly status: 'unknown' };

/**
 * Remembers event ids. Every method may return a value or a promise. `storeContract()` in
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
   * `serial` are refused. A lock is no event: events are claimed and completed while it is held. Nothing is remembered once
   * it is released.
   *
   * @throws when the store cannot answer
   */
  lock?(key: string, leaseMs: number): Lock | undefined | Promise<Lock | undefined>;
  /**
   * The fingerprint with which the event was completed; undefined if it is not completed. Reads the current state and changes
   * nothing. Without this method, a letter that is kept while another delivery completes the event stays until a replay finds
   * the event completed.
   */
  completedWith?(key: string): string | undefined | Promise<string | undefined>;
  /**
   * Forgets an event and what its handlers wrote inside `once`, unless it is in progress: its next delivery is processed like a
   * new one. Without this method `hooks.forget()` is refused.
   */
  forget?(key: string): ForgetResult | Promise<ForgetResult>;
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
  /**
   * Called for each handler with a name, right before the handler.
   *
   * @param beforeCommit called before its writes are committed: what this throws has to roll them back
   */
  forHandler?(name: string, beforeCommit?: () => void): HandlerClaim<Extra>;
  /** Sets the end of the lease to `leaseMs` milliseconds from now; it may shorten it. */
  renew(leaseMs: number): boolean | Promise<boolean>;
  /** Remembers the event as done. True again when the same owner completes it again. */
  complete(): Completion | Promise<Completion>;
  /** Ends the lease, keeps `attempt`, replaces `finished`: the next delivery may try at once. */
  release(finished: readonly string[]): boolean | Promise<boolean>;
}

/** False once another caller has claimed the key. Nothing has changed either if writes of handlers, by name, are not committed. */
export type Completion = boolean | { readonly uncommitted: readonly string[] };

/** What a claim adds to one handler. */
export interface HandlerClaim<Extra extends object = {}> {
  /** Merged into its context. */
  readonly context: Extra;
  /**
   * Called when the handler has settled.
   *
   * @param onLateCall called if the handler still uses its context for a write
   * @param threw whether the handler failed: then `complete()` need not find its writes
   */
  end(onLateCall: () => void, threw?: boolean): HandlerEnd;
}

export interface HandlerEnd {
  /** Why the handler has failed, although it may have resolved: one of its writes failed or was not awaited. */
  readonly failure?: unknown;
  /** Whether `complete()` looks for a write of this handler. */
  readonly wrote: boolean;
  /** The fingerprint of the bytes whose writes an earlier attempt had committed; undefined if there was none. */
  readonly skipped?: string | undefined;
}

/** What `once` is in the context of a handler. */
export interface Once<Transaction> {
  /**
   * Runs `work` in a transaction of its own, unless an earlier attempt at the event has committed it: then `work` does not run,
   * and this resolves with undefined. What `work` throws rolls its writes back; throw inside, not after it.
   *
   * @example await once((tx) => tx.query('UPDATE orders SET paid = true WHERE id = $1', [orderId]));
   */
  <Value>(work: (transaction: Transaction) => Value): Promise<Awaited<Value> | undefined>;
  /** The same, inside a transaction that the handler has begun, and that it commits. */
  <Value>(transaction: Transaction, work: () => Value): Promise<Awaited<Value> | undefined>;
}

/** What a store adds to the context of handlers if it is in the database of their writes. */
export interface WithOnce<Transaction> {
  /** Writes that are committed once, whatever happens to the delivery. Needs a handler with a name, and one call for each run. */
  readonly once: Once<Transaction>;
}

/** `once` of a store with a synchronous driver, such as better-sqlite3: what it returns is no promise. */
export interface OnceSync<Db> {
  /**
   * Runs `work` in a transaction of its own, unless an earlier attempt at the event has committed it: then `work` does not run,
   * and this returns undefined. What `work` throws rolls its writes back. Work that
   * returns a promise is refused.
   *
   * @example once((db) => db.prepare('UPDATE orders SET paid = 1 WHERE id = ?').run(orderId));
   */
  <Value>(work: (db: Db) => Value): Value | undefined;
  /** The same, inside a transaction that the handler has begun on this connection, and that it commits. */
  <Value>(db: Db, work: () => Value): Value | undefined;
}

/** What a store with a synchronous driver adds to the context of handlers. */
export interface WithOnceSync<Db> {
  /** Writes that are committed once, whatever happens to the delivery. Needs a handler with a name, and one call for each run. */
  readonly once: OnceSync<Db>;
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
