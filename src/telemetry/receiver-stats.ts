// The counters of one receiver that health checks read, and whether its store answers.

import { PingCalls, type Reachable } from '../claims/ping-store.js';
import { defaultLogger } from '../options/default-logger.js';
import type { Configuration } from '../options/options.js';
import type { InFlightLimiter } from './in-flight-limiter.js';

/** Where a receiver has them. `health()` may be of another copy of this package: it is in another door. */
export const RECEIVER_STATS = Symbol.for('payment-webhooks.vitals');

type Rules = Pick<Configuration, 'store' | 'logger' | 'storeTimeout'>;

/** Of this process alone. */
export class ReceiverStats {
  /** Milliseconds by the monotonic clock, like `authenticAt`. */
  readonly startedAt = performance.now();
  /** When the latest authentic delivery arrived; before the first one, when the receiver was made. */
  authenticAt = this.startedAt;
  /** Deliveries whose signature was right, and those that were answered 401, or 503 because keys may be outdated. */
  authentic = 0;
  refused = 0;
  readonly #limiter: InFlightLimiter;
  readonly #rules: Rules;

  constructor(limiter: InFlightLimiter, rules: Rules) {
    this.#limiter = limiter;
    this.#rules = rules;
  }

  /** @param at when the delivery arrived: known by then, so that this reads no clock */
  recordAuthentic(at: number): void {
    this.authenticAt = at;
    this.authentic += 1;
  }

  get closing(): boolean {
    return this.#limiter.closing;
  }

  /** Never rejects. */
  reachStore(): Promise<Reachable> {
    const { store, logger = defaultLogger(), storeTimeout } = this.#rules;
    return new PingCalls({ log: logger }).reach(store, storeTimeout);
  }
}
