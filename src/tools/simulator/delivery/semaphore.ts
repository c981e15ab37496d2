// Limits how many run at once; the others wait their turn in order.
import { soon } from '../real-time.js';

export class Semaphore {
  readonly #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get idle(): boolean {
    return this.#running === 0;
  }

  /** Resolves when it is the caller's turn, which ends with {@link release}. */
  async acquire(): Promise<void> {
    if (this.#running < this.#limit) {
      this.#running += 1;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    // Requests that start in one turn of the event loop are sent together: an idle endpoint wakes up once.
    if (next) soon(next);
    else this.#running -= 1;
  }
}
