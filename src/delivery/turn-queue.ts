// The queue of those who wait for their turn in this process, in the order of arrival.
import type { IdempotencyStore } from '../stores/store.js';
import { withDeadline } from './deadline.js';

/** Who waits for whom in this process, in the order of arrival. So each process asks the store for a value only once at a time. */
class TurnQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** @returns how to end the turn; undefined when it did not come in time */
  async turn(key: string, ms: number): Promise<(() => void) | undefined> {
    const before = this.#tails.get(key);
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const tail = before ? before.then(() => ended) : ended;
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    if (!before) return end;
    const came = before.then(() => true);
    if (await withDeadline(came, Math.max(ms, 0), () => false)) return end;
    end();
    return undefined;
  }
}

/** One for each store, which receivers may share. */
const queues = new WeakMap<IdempotencyStore<object>, TurnQueue>();

export function queueOf(store: IdempotencyStore<object>): TurnQueue {
  const queue = queues.get(store) ?? new TurnQueue();
  queues.set(store, queue);
  return queue;
}
