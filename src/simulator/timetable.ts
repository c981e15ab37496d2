// When waiting deliveries are due: by the real clock, or by one that stands still until a test advances it.
import { parseDuration } from '../duration.js';
import { ConfigurationError } from '../errors.js';
import { LinkedList } from '../linked-list.js';
import type { DeliveryEntry } from './delivery.js';
import { after, cancel, epoch, type Timer } from './real-time.js';

// The longest that a timer of Node can wait.
const LONGEST_TIMER = 2 ** 31 - 1;

/** Makes the attempt of a delivery whose time has come; resolves when it is settled. */
type Run = (delivery: DeliveryEntry) => Promise<void>;

export abstract class Timetable {
  abstract readonly kind: 'manual' | 'real';
  protected readonly run: Run;
  // Deliveries that wait equally long fall due in the order in which they came, so one list for each pause is
  // always sorted, and each of them is put in and taken out in constant time.
  readonly #lanes = new Map<number, LinkedList<DeliveryEntry>>();

  constructor(run: Run) {
    this.run = run;
  }

  /** Milliseconds since 1970, by this clock. */
  abstract now(): number;

  /** Moves the clock; resolves when every attempt that fell due is settled. */
  abstract advance(ms: number): Promise<void>;

  /** Stops all waiting, for good. */
  abstract stop(): void;

  /** The first one due may be another than before. */
  protected abstract reset(): void;

  /** Has the delivery wait for its next attempt; without a pause that is due at once, on either clock. */
  wait(delivery: DeliveryEntry, pause: number): void {
    delivery.nextAttemptAt = this.now() + pause;
    if (pause <= 0) {
      void this.run(delivery);
      return;
    }
    this.#lane(pause).append(delivery);
    this.reset();
  }

  /** Has deliveries from a snapshot wait on for the time they have. */
  resume(deliveries: readonly DeliveryEntry[]): void {
    // A lane of their own, which no pause shares: they are in order among themselves alone.
    const lane = this.#lane(Number.NaN);
    const due = (delivery: DeliveryEntry) => delivery.nextAttemptAt ?? 0;
    for (const delivery of [...deliveries].sort((a, b) => due(a) - due(b))) lane.append(delivery);
    this.reset();
  }

  protected first(): DeliveryEntry | undefined {
    let first: DeliveryEntry | undefined;
    for (const [pause, lane] of this.#lanes) {
      const candidate = lane.first;
      if (!candidate) this.#lanes.delete(pause);
      else if ((candidate.nextAttemptAt ?? 0) < (first?.nextAttemptAt ?? Infinity)) first = candidate;
    }
    return first;
  }

  /** Takes out the deliveries that are due at that time, earliest first. */
  protected takeDue(at: number): DeliveryEntry[] {
    const due: DeliveryEntry[] = [];
    for (let next = this.first(); next && (next.nextAttemptAt ?? 0) <= at; next = this.first()) {
      next.list?.remove(next);
      due.push(next);
    }
    return due;
  }

  #lane(pause: number): LinkedList<DeliveryEntry> {
    const lane = this.#lanes.get(pause) ?? new LinkedList<DeliveryEntry>();
    this.#lanes.set(pause, lane);
    return lane;
  }
}

export class ManualTimetable extends Timetable {
  readonly kind = 'manual';
  #now: number;
  #advancing: Promise<void> = Promise.resolve();

  constructor(run: Run, now: number) {
    super(run);
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** Calls one after the other, so that two callers move the clock twice. */
  advance(ms: number): Promise<void> {
    this.#advancing = this.#advancing.then(() => this.#advanceTo(this.#now + ms));
    return this.#advancing;
  }

  stop(): void {}

  protected reset(): void {}

  async #advanceTo(target: number): Promise<void> {
    for (let next = this.first(); next && (next.nextAttemptAt ?? 0) <= target; next = this.first()) {
      this.#now = Math.max(this.#now, next.nextAttemptAt ?? 0);
      await Promise.all(this.takeDue(this.#now).map(this.run));
    }
    this.#now = target;
  }
}

export class RealTimetable extends Timetable {
  readonly kind = 'real';
  #timer: Timer | undefined;
  #armedFor = Infinity;
  #stopped = false;

  now(): number {
    return epoch();
  }

  async advance(): Promise<void> {
    throw new ConfigurationError(`The clock is "real" and advances by itself. Start with clock: "manual".`);
  }

  stop(): void {
    this.#stopped = true;
    cancel(this.#timer);
  }

  protected reset(): void {
    const due = this.first()?.nextAttemptAt ?? Infinity;
    if (this.#stopped || due >= this.#armedFor) return;
    cancel(this.#timer);
    this.#armedFor = due;
    this.#timer = after(Math.min(Math.max(0, due - epoch()), LONGEST_TIMER), () => this.#wake());
  }

  #wake(): void {
    this.#armedFor = Infinity;
    for (const delivery of this.takeDue(epoch())) void this.run(delivery);
    this.reset();
  }
}

/** What {@link Timetable.advance} takes: milliseconds or text like `"5m"`. */
export function pauseOf(duration: number | string): number {
  const ms = parseDuration(duration);
  if (ms !== undefined) return ms;
  throw new ConfigurationError(
    `advance() got ${JSON.stringify(duration)}; give milliseconds, or text like "5m".`,
  );
}
