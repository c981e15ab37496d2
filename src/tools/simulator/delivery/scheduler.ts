// Schedules the next attempts: by the real clock, or by a manual one for tests.
import { ConfigurationError } from '../../../errors.js';
import { MAX_TIMER_MS, parseDuration } from '../../../options/duration.js';
import { after, cancel, now, type Timer } from '../real-time.js';
import type { SimulatedDelivery } from './simulated-delivery.js';

export class Scheduler {
  /** Makes the attempt of a delivery that is due; resolves when it is settled. */
  onDue: (delivery: SimulatedDelivery) => Promise<void> = () => Promise.resolve();
  /** The scheduled deliveries, with their timers if the clock is real. */
  protected readonly waiting = new Map<SimulatedDelivery, Timer | undefined>();

  /** Milliseconds since 1970, by this clock. */
  now(): number {
    return now();
  }

  /** Advances a manual clock; resolves when every attempt that is due by then is settled. */
  async advance(_ms: number): Promise<void> {
    throw new ConfigurationError(
      'clock is "real" and advances by itself. To use advance(), set clock: "manual".',
    );
  }

  /** Schedules the next attempt after the pause; without a pause it is due at once. */
  schedule(delivery: SimulatedDelivery, pause: number): void {
    delivery.nextAttemptAt = this.now() + pause;
    if (pause > 0) this.wait(delivery);
    else void this.onDue(delivery);
  }

  /** Schedules deliveries from a state file at their saved times. */
  resume(deliveries: readonly SimulatedDelivery[]): void {
    // Several may be overdue: the earliest goes first.
    for (const delivery of [...deliveries].sort((a, b) => dueAt(a) - dueAt(b))) this.wait(delivery);
  }

  remove(delivery: SimulatedDelivery): void {
    cancel(this.waiting.get(delivery));
    this.waiting.delete(delivery);
  }

  clear(): void {
    for (const delivery of this.waiting.keys()) this.remove(delivery);
  }

  protected wait(delivery: SimulatedDelivery): void {
    this.remove(delivery);
    const ms = Math.min(Math.max(0, dueAt(delivery) - now()), MAX_TIMER_MS);
    const timer = after(ms, () => {
      // A timer may fire a moment early, and cannot run longer than MAX_TIMER_MS.
      if (dueAt(delivery) > now()) return this.wait(delivery);
      this.waiting.delete(delivery);
      void this.onDue(delivery);
    });
    this.waiting.set(delivery, timer);
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

  /** Calls run one after the other, so that the times of concurrent calls add up. */
  override advance(ms: number): Promise<void> {
    this.#advancing = this.#advancing.then(() => this.#advanceTo(this.#now + ms));
    return this.#advancing;
  }

  protected override wait(delivery: SimulatedDelivery): void {
    this.waiting.set(delivery, undefined);
  }

  async #advanceTo(target: number): Promise<void> {
    for (let next = this.#earliest(); next <= target; next = this.#earliest()) {
      this.#now = Math.max(this.#now, next);
      const due = [...this.waiting.keys()].filter((delivery) => dueAt(delivery) <= this.#now);
      for (const delivery of due) this.waiting.delete(delivery);
      await Promise.all(due.map(this.onDue));
    }
    this.#now = target;
  }

  #earliest(): number {
    let earliest = Infinity;
    for (const delivery of this.waiting.keys()) earliest = Math.min(earliest, dueAt(delivery));
    return earliest;
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
