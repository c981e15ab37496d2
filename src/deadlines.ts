// Deadlines of one length share one timer: they fall due in the order in which they were set.
import { Linked, LinkedList } from './linked-list.js';

/** A deadline that was set; give it back to {@link Deadlines.clear} when it is no longer needed. */
export class Deadline extends Linked<Deadline> {
  readonly due: number;
  readonly expire: () => void;

  constructor(due: number, expire: () => void) {
    super();
    this.due = due;
    this.expire = expire;
  }
}

export class Deadlines {
  /** Milliseconds from setting a deadline to its expiry. */
  readonly ms: number;
  readonly #waiting = new LinkedList<Deadline>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.ms = ms;
  }

  /** Calls `expire` once after `ms` milliseconds of the monotonic clock, unless cleared before. */
  set(expire: () => void): Deadline {
    const deadline = new Deadline(performance.now() + this.ms, expire);
    this.#waiting.append(deadline);
    if (!this.#timer) this.#arm(this.ms);
    else if (this.#waiting.size === 1) this.#timer.ref();
    return deadline;
  }

  /** Whether it had not expired, or been cleared, before. */
  clear(deadline: Deadline): boolean {
    const waiting = deadline.list === this.#waiting;
    this.#waiting.remove(deadline);
    // An idle timer may run out by itself, but must not keep the process alive until then.
    if (this.#waiting.size === 0) this.#timer?.unref();
    return waiting;
  }

  /** Settles like the promise, or with `late()` when the deadline passes first. */
  race<Value>(promise: Promise<Value>, late: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      const deadline = this.set(() => resolve(late()));
      promise.then(resolve, reject).finally(() => this.clear(deadline));
    });
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => this.#expire(), Math.ceil(ms));
  }

  #expire(): void {
    const now = performance.now();
    // The spent timer stays in its field meanwhile, so that a deadline set by a callback arms no second one.
    for (let next = this.#waiting.first; next && next.due <= now; next = this.#waiting.first) {
      this.#waiting.remove(next);
      next.expire();
    }
    this.#timer = undefined;
    if (this.#waiting.first) this.#arm(this.#waiting.first.due - now);
  }
}
