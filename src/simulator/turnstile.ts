// Lets only so many through at once, first come, first served.
import { soon } from './real-time.js';

export class Turnstile {
  readonly #most: number;
  #inside = 0;
  // A list that is read from a moving head: shifting a long array would move all of it each time.
  #queue: (() => void)[] = [];
  #head = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get idle(): boolean {
    return this.#inside === 0;
  }

  /** Resolves when it is the caller's turn, which lasts until {@link leave}. */
  async enter(): Promise<void> {
    if (this.#inside < this.#most) {
      this.#inside += 1;
      return;
    }
    await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  /** Gives the turn to the next in the queue. */
  leave(): void {
    const next = this.#queue[this.#head];
    if (!next) {
      this.#inside -= 1;
      return;
    }
    this.#head += 1;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    // Whoever was let in during one turn of the event loop sends together: an endpoint that has to wake up does so once.
    soon(next);
  }
}
