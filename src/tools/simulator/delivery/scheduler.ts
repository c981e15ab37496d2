// Schedules the next attempts: by the real clock, or by a manual one for tests.
import { ConfigurationError } from '../../../errors.js';
import { MAX_TIMER_MS } from '../../../time.js';
import { after, cancel, now, type Timer } from '../real-time.js';
import type { SimulatedDelivery } from './simulated-delivery.js';

export class Scheduler {
  /** Makes the attempt of a delivery that is due; resolves when it is settled. */
  onDue: (delivery: SimulatedDelivery) => Promise<void> = () => Promise.resolve();
  /** The scheduled deliveries, with their timers if the clock is real. */
  readonly #waiting = new Map<SimulatedDelivery, Timer | undefined>();
  /** The time of a manual clock, which stands still until `advance()` moves it. */
  #manual: number | undefined;
  #advancing: Promise<void> = Promise.resolve();

  /** @param start the time of a manual clock; without it the clock is real */
  constructor(start?: number) {
    this.#manual = start;
  }

  now(): number {
    return this.#manual ?? now();
  }

  /** Schedules the next attempt after the pause; without a pause it is due at once. */
  schedule(delivery: SimulatedDelivery, pause: number): void {
    delivery.nextAttemptAt = this.now() + pause;
    if (pause > 0) this.#wait(delivery);
    else void this.onDue(delivery);
  }

  /** Schedules deliveries from a state file at their saved times. */
  resume(deliveries: readonly SimulatedDelivery[]): void {
    // Several may be overdue: the earliest goes first.
    for (const delivery of deliveries.toSorted((a, b) => dueAt(a) - dueAt(b))) this.#wait(delivery);
  }

  remove(delivery: SimulatedDelivery): void {
    cancel(this.#waiting.get(delivery));
    this.#waiting.delete(delivery);
  }

  clear(): void {
    for (const delivery of this.#waiting.keys()) this.remove(delivery);
  }

  /** Advances a manual clock, one call after the other; resolves when every attempt due by then is settled. */
  async advance(ms: number): Promise<void> {
    if (this.#manual === undefined) {
      throw new ConfigurationError(
        'clock is "real" and advances by itself. To use advance(), set clock: "manual".',
      );
    }
    this.#advancing = this.#advancing.then(() => this.#advanceTo(this.now() + ms));
    await this.#advancing;
  }

  async #advanceTo(target: number): Promise<void> {
    for (let next = this.#earliest(); next <= target; next = this.#earliest()) {
      const time = Math.max(this.now(), next);
      this.#manual = time;
      const due = [...this.#waiting.keys()].filter((delivery) => dueAt(delivery) <= time);
      for (const delivery of due) this.#waiting.delete(delivery);
      await Promise.all(due.map(this.onDue));
    }
    this.#manual = target;
  }

  #earliest(): number {
    return [...this.#waiting.keys()].reduce((least, one) => Math.min(least, dueAt(one)), Infinity);
  }

  #wait(delivery: SimulatedDelivery): void {
    this.remove(delivery);
    this.#waiting.set(delivery, this.#manual === undefined ? this.#timer(delivery) : undefined);
  }

  #timer(delivery: SimulatedDelivery): Timer {
    const ms = Math.min(Math.max(0, dueAt(delivery) - now()), MAX_TIMER_MS);
    return after(ms, () => {
      // A timer may fire a moment early, and cannot run longer than MAX_TIMER_MS.
      if (dueAt(delivery) > now()) return this.#wait(delivery);
      this.#waiting.delete(delivery);
      void this.onDue(delivery);
    });
  }
}

function dueAt({ nextAttemptAt }: SimulatedDelivery): number {
  return nextAttemptAt ?? 0;
}
