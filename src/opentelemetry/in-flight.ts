// How many deliveries are being worked on, and since when the oldest of them.

/** One handler at work. */
export interface Run {
  readonly eventId: string;
  readonly startedAt: number;
  /** Its delivery was answered without it. */
  outlives: boolean;
}

export class InFlight {
  #unanswered = 0;
  readonly #runs = new Set<Run>();

  enter(): void {
    this.#unanswered += 1;
  }

  leave(): void {
    this.#unanswered -= 1;
  }

  begin(eventId: string): Run {
    const run = { eventId, startedAt: performance.now(), outlives: false };
    this.#runs.add(run);
    return run;
  }

  /** Milliseconds that it took. */
  end(run: Run): number {
    this.#runs.delete(run);
    return performance.now() - run.startedAt;
  }

  /** Past `timeout` a delivery is answered, and yet in flight until its handlers have settled. */
  answered(eventId: string): void {
    for (const run of this.#runs) if (run.eventId === eventId) run.outlives = true;
  }

  get count(): number {
    const outlived = [...this.#runs].filter(({ outlives }) => outlives).map(({ eventId }) => eventId);
    return this.#unanswered + new Set(outlived).size;
  }

  /** 0 when no handler runs. */
  get oldestMs(): number {
    const now = performance.now();
    let oldest = now;
    for (const { startedAt } of this.#runs) oldest = Math.min(oldest, startedAt);
    return now - oldest;
  }
}
