// Limits how many deliveries are in flight, and tells when the last one has left.
import { Rejection } from '../errors.js';

export class InFlightLimiter {
  readonly #max: number;
  /** Places of deliveries that go on after their answer. */
  readonly #late = new Set<Place>();
  #inFlight = 0;
  #replays = 0;
  #closing = false;
  #empty: Promise<void> | undefined;
  #onEmpty = () => {};

  constructor(max: number) {
    this.#max = max;
  }

  get closing(): boolean {
    return this.#closing;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** @returns a place, which the caller must leave, or why the delivery is refused */
  enter(): Place | Rejection {
    if (this.#closing) return new Rejection('CLOSING');
    if (this.#inFlight >= this.#max) this.#freeExpired();
    // Jitter, so that refused deliveries are not all retried at once.
    if (this.#inFlight >= this.#max)
      return new Rejection('OVERLOADED', { retryAfterMs: 1_000 + Math.random() * 4_000 });
    this.#inFlight += 1;
    return new Place(this.#late, () => this.#leave());
  }

  /** Like {@link enter}, but replays leave half of the places to deliveries. */
  enterReplay(): Place | Rejection {
    const max = Math.max(Math.floor(this.#max / 2), 1);
    if (!this.#closing && this.#replays >= max) return new Rejection('OVERLOADED');
    const entered = this.enter();
    if (entered instanceof Rejection) return entered;
    this.#replays += 1;
    return new Place(this.#late, () => {
      this.#replays -= 1;
      entered.leave();
    });
  }

  #leave(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#onEmpty();
  }

  /** On Workers a timer ends with the request that set it, so the timers of some places may never have fired. */
  #freeExpired(): void {
    for (const place of this.#late) if (place.expired) place.leave();
  }

  /** Refuses every delivery from now on, and resolves when the last one has left. */
  close(): Promise<void> {
    this.#closing = true;
    this.#empty ??= new Promise((resolve) => {
      this.#onEmpty = resolve;
    });
    if (this.#inFlight === 0) this.#onEmpty();
    return this.#empty;
  }
}

/** The place of one delivery. */
export class Place {
  readonly #late: Set<Place>;
  #onLeave: (() => void) | undefined;
  #endsAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(late: Set<Place>, onLeave: () => void) {
    this.#late = late;
    this.#onLeave = onLeave;
  }

  get expired(): boolean {
    return performance.now() > this.#endsAt;
  }

  /** A second call changes nothing. */
  leave(): void {
    clearTimeout(this.#timer);
    this.#late.delete(this);
    this.#onLeave?.();
    this.#onLeave = undefined;
  }

  /** For a delivery that goes on after its answer: its handlers may never settle. */
  leaveWithin(ms: number): void {
    this.#endsAt = performance.now() + ms;
    this.#late.add(this);
    this.#timer = setTimeout(() => this.leave(), ms);
  }
}
