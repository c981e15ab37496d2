// Which share of the latest deliveries had a wrong signature, from two numbers that only grow.

/** How many snapshots a window is divided by: the share is of the window, give or take this part of it. */
const PARTS = 60;

export interface Counted {
  readonly authentic: number;
  readonly refused: number;
}

interface Snapshot extends Counted {
  /** Milliseconds by the monotonic clock. */
  readonly at: number;
}

export class RefusedShare {
  readonly #window: number;
  /** Oldest first. The first is as old as the window, or the oldest there is. */
  #snapshots: Snapshot[];

  /** @param window milliseconds */
  constructor(window: number, startedAt: number) {
    this.#window = window;
    this.#snapshots = [{ at: startedAt, authentic: 0, refused: 0 }];
  }

  /** Since a window ago, or since the last time that somebody asked if that is longer ago. */
  since({ authentic, refused }: Counted, now: number): Counted {
    const outside = this.#snapshots.findLastIndex(({ at }) => now - at >= this.#window);
    this.#snapshots = this.#snapshots.slice(Math.max(outside, 0));
    const first = this.#snapshots[0];
    const last = this.#snapshots.at(-1);
    if (!last || now - last.at >= this.#window / PARTS) this.#snapshots.push({ at: now, authentic, refused });
    return { authentic: authentic - (first?.authentic ?? 0), refused: refused - (first?.refused ?? 0) };
  }
}
