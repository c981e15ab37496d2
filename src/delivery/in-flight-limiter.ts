// How many deliveries are in flight, whether one more may enter, and when the last one has left.
import { Rejection } from './rejection.js';

export class InFlightLimiter {
  readonly #most: number;
  #inFlight = 0;
  #closing = false;
  #empty: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  get closing(): boolean {
    return this.#closing;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Undefined when the delivery is in; it must {@link leave} then. Otherwise why it is not. */
  enter(): Rejection | undefined {
    if (this.#closing) return new Rejection('CLOSING', { retryAfterMs: 5_000 });
    // Jitter, so that those turned away do not all come back at once.
    if (this.#inFlight >= this.#most)
      return new Rejection('OVERLOADED', { retryAfterMs: 1_000 + Math.random() * 4_000 });
    this.#inFlight += 1;
    return undefined;
  }

  leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#empty?.resolve();
  }

  /** Refuses every delivery from now on, and resolves when the last one has left. */
  close(): Promise<void> {
    this.#closing = true;
    if (!this.#empty) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#empty = { promise, resolve };
      if (this.#inFlight === 0) resolve();
    }
    return this.#empty.promise;
  }
}
