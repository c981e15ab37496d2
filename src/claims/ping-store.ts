// Whether a store of event ids can be reached, without a claim.
import type { Logger } from '../logger.js';
import type { IdempotencyStore } from './idempotency-store.js';
import { StoreFailure, TimedCalls } from './timed-calls.js';

/** `unknown`: a store of somebody else's that has no `ping()`. `none`: the receiver has no store. */
export type Reachable = 'reachable' | 'unreachable' | 'unknown' | 'none';

export class PingCalls extends TimedCalls<{ readonly log: Logger }> {
  /** Never rejects. @param timeout milliseconds */
  async reach(store: IdempotencyStore<object> | undefined, timeout: number): Promise<Reachable> {
    if (!store) return 'none';
    if (!store.ping) return store.scope === 'process' ? 'reachable' : 'unknown';
    const answer = await this.call<unknown>(() => store.ping?.(), timeout);
    if (!(answer instanceof StoreFailure)) return 'reachable';
    this.logFailure('the store did not answer a health check', answer);
    return 'unreachable';
  }
}
