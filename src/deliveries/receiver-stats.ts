// The counters of one receiver that health checks read, and whether its store answers.
import { StoreFailure, TimedCalls } from '../claims/timed-calls.js';
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import { defaultLogger } from '../default-logger.js';
import type { Logger } from '../logger.js';
import type { InFlightLimiter } from './in-flight-limiter.js';

/** The key of the stats on a receiver. `health()` may come from another copy of this package. */
export const RECEIVER_STATS = Symbol.for('payment-webhooks.vitals');

/** `unknown`: the store has no `ping()`. `none`: the receiver has no store. */
export type Reachable = 'reachable' | 'unreachable' | 'unknown' | 'none';

interface Rules {
  readonly store: IdempotencyStore<object> | undefined;
  readonly logger: Logger | undefined;
  /** Milliseconds. */
  readonly storeTimeout: number;
}

/** For this process alone. */
export class ReceiverStats {
  /** Milliseconds by the monotonic clock, like `authenticAt`. */
  readonly startedAt = performance.now();
  /** When the latest authentic delivery arrived; before the first one, when the receiver was created. */
  authenticAt = this.startedAt;
  /** How many deliveries had a valid signature, and how many were answered 401, or 503 because keys may be outdated. */
  authentic = 0;
  refused = 0;
  readonly #limiter: InFlightLimiter;
  readonly #rules: Rules;

  constructor(limiter: InFlightLimiter, rules: Rules) {
    this.#limiter = limiter;
    this.#rules = rules;
  }

  /** @param at when the delivery arrived: already known, so the clock is not read */
  recordAuthentic(at: number): void {
    this.authenticAt = at;
    this.authentic += 1;
  }

  get closing(): boolean {
    return this.#limiter.closing;
  }

  /** Never rejects. */
  async reachStore(): Promise<Reachable> {
    const { store, logger = defaultLogger(), storeTimeout } = this.#rules;
    if (!store) return 'none';
    if (!store.ping) return store.scope === 'process' ? 'reachable' : 'unknown';
    const calls = new TimedCalls({ log: logger }, storeTimeout);
    const answer = await calls.call<unknown>(() => store.ping?.());
    if (!(answer instanceof StoreFailure)) return 'reachable';
    calls.logFailure('the store did not answer a health check', answer);
    return 'unreachable';
  }
}
