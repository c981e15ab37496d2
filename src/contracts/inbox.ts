// An inbox: event ids and dead letters from one value, whose tables need no attention.
import type { DeadLetterStore } from './dead-letter-store.js';
import type { IdempotencyStore } from './idempotency-store.js';

/**
 * Where a receiver remembers event ids and keeps dead letters: `postgresInbox()` and others. It creates its tables when they are
 * missing, and deletes what has expired. Receivers and workers may share it.
 */
export interface Inbox<Extra extends object = {}> {
  readonly store: IdempotencyStore<Extra>;
  readonly deadLetters: DeadLetterStore;
  /** Rejects unless events can be claimed and letters be read. */
  ping(): Promise<void>;
}

/** The key of the pruner in an inbox, which may come from another copy of this package. */
export const PRUNER = Symbol.for('payment-webhooks.pruner');

/** One receiver or worker that uses an inbox. */
export interface InboxUser {
  /** Called for each delivery: the first call starts to prune. */
  start(): void;
  /** Pruning ends when all users have stopped. */
  stop(): void;
}

/** @param failed called with what a store threw while it was pruned */
export type Pruner = (failed: (error: unknown) => void) => InboxUser;
