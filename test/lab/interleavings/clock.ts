// Time that passes only when told: what the receiver is given in place of Node's timers and clocks.

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

const START = 1_000;

export class Clock {
  now = START;
  /** In the order of their start, which decides among those of one moment. */
  readonly #timers = new Set<Timer & { unref(): unknown }>();

  /** What runs at the end of this turn of the event loop, whatever time it is. */
  #turns = 0;

  /** The globals that a module reads, and `node:timers/promises`. */
  readonly globals = {
    setTimeout: (run: () => void, ms = 0) => this.#start(run, ms),
    clearTimeout: (timer: never) => void this.#timers.delete(timer),
    performance: { now: () => this.now },
    setImmediate: (run: () => void) => {
      this.#turns += 1;
      setImmediate(() => {
        this.#turns -= 1;
        run();
      });
    },
  };
  readonly timersPromises = {
    setTimeout: (ms: number) => new Promise<void>((resolve) => this.#start(resolve, ms)),
  };

  #start(run: () => void, ms: number) {
    const timer = { at: this.now + Math.max(ms, 1), run, unref: () => timer };
    this.#timers.add(timer);
    return timer;
  }

  /** For the next run, which begins at the same moment. */
  reset(): void {
    this.#timers.clear();
    this.now = START;
  }

  /** Whether something runs in this turn of the event loop. */
  get turns(): boolean {
    return this.#turns > 0;
  }

  get waits(): boolean {
    return this.#timers.size > 0;
  }

  /** Lets the next timer go off. */
  advance(): void {
    let next: (Timer & { unref(): unknown }) | undefined;
    for (const timer of this.#timers) if (!next || timer.at < next.at) next = timer;
    if (!next) return;
    this.#timers.delete(next);
    this.now = Math.max(this.now, next.at);
    next.run();
  }
}
