// What is true of the events of one run, whatever the code knows, and the properties that docs/project/model.md asks of it.

/** A handler that runs. */
export interface Run {
  readonly process: { readonly alive: boolean };
  readonly event: string;
  /** Of the attempt. */
  readonly lease: string;
}

export interface Answered {
  readonly status: number;
  readonly outcome?: string;
  readonly code?: string;
}

const DEADLINE_CODES: ReadonlySet<unknown> = new Set(['HANDLER_FAILED', 'HANDLER_TIMEOUT', 'RETRY_LATER']);

export class Properties {
  readonly violations: string[] = [];
  /** Events whose work is done, for good. */
  readonly handled = new Set<string>();
  /** Events that somebody relies on the receiver for: they were answered 2xx, or kept. */
  readonly owed = new Set<string>();
  readonly completed = new Set<string>();
  /** When the lease of each attempt ends, as long as its claim is neither lapsed nor taken over. */
  readonly #leases = new Map<string, number>();
  readonly #runs = new Set<Run>();
  readonly #clock: { readonly now: number };
  readonly #note: (line: string) => unknown;

  /** @param clock of the store */
  constructor(clock: { readonly now: number }, note: (line: string) => unknown) {
    this.#clock = clock;
    this.#note = note;
  }

  violated(what: string): void {
    this.violations.push(what);
    this.#note(`VIOLATED: ${what}`);
  }

  /** A lease begins now, or is renewed. */
  lease(lease: string, ms: number): void {
    this.#leases.set(lease, this.#clock.now + ms);
  }

  begin(run: Run): void {
    if (this.completed.has(run.event)) this.violated(`P4: ${run.event} runs again after it was completed`);
    if (this.#runsInLease(run.event)) this.violated(`P4: two runs of ${run.event} in one lease`);
    this.#runs.add(run);
  }

  end(run: Run): void {
    this.#runs.delete(run);
  }

  /** @param lease of the attempt that completes the event */
  complete(event: string, lease: string): void {
    if (this.#runsInLease(event, lease))
      this.violated(`P4: ${event} is completed while another attempt runs in its lease`);
    this.completed.add(event);
  }

  /** @param letter whether the event is kept; undefined without dead letters */
  answer(event: string, { status, outcome, code }: Answered, letter: boolean | undefined): void {
    const safe = this.handled.has(event) || letter === true;
    if (status < 300 && outcome !== 'ignored') {
      this.owed.add(event);
      if (!safe) this.violated(`P1: ${event} is answered ${status} ${outcome}, neither handled nor kept`);
    }
    if (letter !== undefined && DEADLINE_CODES.has(code) && !safe)
      this.violated(`KEPT: ${event} is answered ${code} before it is kept`);
  }

  /** After the cause of all failures is fixed. @param lines how often it was written */
  atEnd(event: string, { letter, lines }: { readonly letter: boolean; readonly lines: number }): void {
    if (this.owed.has(event) && !this.handled.has(event)) this.violated(`END: ${event} is lost`);
    if (letter) this.violated(`END: a letter of ${event} is left`);
    if (lines > 1) this.violated(`ONCE: ${event} is written twice`);
  }

  /** @param except the lease of the caller */
  #runsInLease(event: string, except?: string): boolean {
    return [...this.#runs].some(
      (run) =>
        run.event === event &&
        run.lease !== except &&
        run.process.alive &&
        (this.#leases.get(run.lease) ?? 0) > this.#clock.now,
    );
  }
}
