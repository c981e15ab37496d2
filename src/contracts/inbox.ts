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
