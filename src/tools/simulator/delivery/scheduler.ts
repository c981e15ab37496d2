// Schedules the next attempts: by the real clock, or by a manual one for tests.
import { ConfigurationError } from '../../../errors.js';
import { MAX_TIMER_MS, parseDuration } from '../../../options/duration.js';
import { after, cancel, now, type Timer } from '../real-time.js';
import { LinkedList } from './linked-list.js';
import type { SimulatedDelivery } from './simulated-delivery.js';

export class Scheduler {
  /** Makes the attempt of a delivery that is due; resolves when it is settled. */
  onDue: (delivery: SimulatedDelivery) => Promise<void> = () => Promise.resolve();
  // Deliveries with the same pause are due in the order they came. So each pause has a delivery queue of its own,
  // which is always sorted: adding and removing takes constant time.
  readonly #queues = new Map<number, LinkedList<SimulatedDelivery>>();
  #timer: Timer | undefined;
  #timerDueAt = Infinity;
  #stopped = false;

  /** Milliseconds since 1970, by this clock. */
  now(): number {
    return now();
  }

  /** Moves a manual clock; resolves when every attempt that became due is settled. */
  async advance(_ms: number): Promise<void> {
    throw new ConfigurationError(
      'clock is "real" and advances by itself. To use advance(), set clock: "manual".',
    );
  }

  /** Stops for good. */
  stop(): void {
    this.#stopped = true;
    cancel(this.#timer);
  }

  /** Schedules the next attempt after the pause; without a pause it is due at once. */
  schedule(delivery: SimulatedDelivery, pause: number): void {
    delivery.nextAttemptAt = this.now() + pause;
    if (pause <= 0) {
      void this.onDue(delivery);
      return;
    }
    this.#queue(pause).append(delivery);
    this.setTimer();
  }

  /** Schedules deliveries from a state file for the times that they have. */
  resume(deliveries: readonly SimulatedDelivery[]): void {
    // A queue that no pause shares: these are sorted only among themselves.
    const queue = this.#queue(Number.NaN);
    for (const delivery of [...deliveries].sort((a, b) => dueAt(a) - dueAt(b))) queue.append(delivery);
    this.setTimer();
  }

  protected first(): SimulatedDelivery | undefined {
    let first: SimulatedDelivery | undefined;
    for (const [pause, queue] of this.#queues) {
      const candidate = queue.first;
      if (!candidate) this.#queues.delete(pause);
      else if (!first || dueAt(candidate) < dueAt(first)) first = candidate;
    }
    return first;
  }

  /** Removes and returns the deliveries due by then, earliest first. */
  protected takeDue(time: number): SimulatedDelivery[] {
    const due: SimulatedDelivery[] = [];
    for (let next = this.first(); next && dueAt(next) <= time; next = this.first()) {
      next.list?.remove(next);
      due.push(next);
    }
    return due;
  }

  protected setTimer(): void {
    const next = this.first();
    if (this.#stopped || !next || dueAt(next) >= this.#timerDueAt) return;
    cancel(this.#timer);
    this.#timerDueAt = dueAt(next);
    const wait = Math.min(Math.max(0, this.#timerDueAt - now()), MAX_TIMER_MS);
    this.#timer = after(wait, () => {
      this.#timerDueAt = Infinity;
      for (const delivery of this.takeDue(now())) void this.onDue(delivery);
      this.setTimer();
    });
  }

  #queue(pause: number): LinkedList<SimulatedDelivery> {
    const queue = this.#queues.get(pause) ?? new LinkedList<SimulatedDelivery>();
    this.#queues.set(pause, queue);
    return queue;
  }
}

/** Its clock stands still until `advance()` moves it. */
export class ManualScheduler extends Scheduler {
  #now: number;
  #advancing: Promise<void> = Promise.resolve();

  constructor(start: number) {
    super();
    this.#now = start;
  }

  override now(): number {
    return this.#now;
  }

  /** One call after the other, so that two callers move the clock twice. */
  override advance(ms: number): Promise<void> {
    this.#advancing = this.#advancing.then(() => this.#advanceTo(this.#now + ms));
    return this.#advancing;
  }

  protected override setTimer(): void {}

  async #advanceTo(target: number): Promise<void> {
    for (let next = this.first(); next && dueAt(next) <= target; next = this.first()) {
      this.#now = Math.max(this.#now, dueAt(next));
      await Promise.all(this.takeDue(this.#now).map(this.onDue));
    }
    this.#now = target;
  }
}

function dueAt({ nextAttemptAt }: SimulatedDelivery): number {
  return nextAttemptAt ?? 0;
}

/** Reads the argument of `advance()`: milliseconds or text such as `"5m"`. */
export function advanceDuration(duration: number | string): number {
  const ms = parseDuration(duration);
  if (ms !== undefined) return ms;
  throw new ConfigurationError(
    `advance() got ${JSON.stringify(duration)}. Give milliseconds, or text such as "5m".`,
  );
}
