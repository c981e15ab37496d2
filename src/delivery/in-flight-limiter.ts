// How many deliveries are in flight, whether one more may enter, and when the last one has left.
import { withDeadline } from './deadline.js';
import { Rejection } from './rejection.js';

/** Of one delivery. Until then, by the monotonic clock, it counts. */
interface Place {
  readonly until: number;
}

export class InFlightLimiter {
  readonly #most: number;
  /** Of deliveries that go on after their answer. */
  readonly #late = new Set<Place>();
  #inFlight = 0;
  /** How many of them are replays. */
  #replays = 0;
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
    if (this.#inFlight >= this.#most) this.#freeOverdue();
    // Jitter, so that those turned away do not all come back at once.
    if (this.#inFlight >= this.#most)
      return new Rejection('OVERLOADED', { retryAfterMs: 1_000 + Math.random() * 4_000 });
    this.#inFlight += 1;
    return undefined;
  }

  /** As {@link enter}; all replays together leave half of the room to deliveries. */
  enterReplay(): Rejection | undefined {
    const most = Math.max(Math.floor(this.#most / 2), 1);
    if (!this.#closing && this.#replays >= most) return new Rejection('OVERLOADED');
    const refused = this.enter();
    if (!refused) this.#replays += 1;
    return refused;
  }

  leaveReplay(): void {
    this.#replays -= 1;
    this.leave();
  }

  leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#empty?.resolve();
  }

  /** @param late what goes on after the answer, for at most so many milliseconds */
  leaveAfter(late: Promise<unknown> | undefined, ms: number): void {
    if (!late) {
      this.leave();
      return;
    }
    const place = { until: performance.now() + ms };
    this.#late.add(place);
    withDeadline<unknown>(late, ms, () => {}).then(() => this.#free(place));
  }

  #free(place: Place): void {
    if (this.#late.delete(place)) this.leave();
  }

  /** On Workers a timer ends with the request that set it, so a place may never have been freed. */
  #freeOverdue(): void {
    const now = performance.now();
    for (const place of this.#late) if (place.until < now) this.#free(place);
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
