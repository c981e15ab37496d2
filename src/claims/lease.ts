// Renews a claim or a lock while handlers run, and notices its loss. Uses only the monotonic clock.

import { writeLog } from '../logger.js';
import type { GrantedClaim, GrantedLock } from './claim-reply.js';
import type { StoreCalls } from './store-calls.js';

export class Lease {
  /** Another delivery has the claim now. */
  lost = false;
  readonly #store: StoreCalls;
  readonly #claim: GrantedClaim | GrantedLock;
  readonly #startedAt: number;
  #endsAt: number;
  #renewal: NodeJS.Timeout | undefined;
  #lapse: NodeJS.Timeout | undefined;
  /** No renewal is pending, so if the lease has ended, the event loop was blocked. */
  #idle = true;
  #stopped = false;

  constructor(store: StoreCalls, claim: GrantedClaim | GrantedLock) {
    this.#store = store;
    this.#claim = claim;
    this.#startedAt = claim.calledAt;
    this.#endsAt = this.#startedAt + store.rules.lease;
  }

  /** By our own clock. Until another delivery claims the event, the store still lets this one renew and complete it. */
  get expired(): boolean {
    return performance.now() >= this.#endsAt;
  }

  /** For handlers that do not settle at once: renews the claim until {@link stop}. */
  start(): void {
    this.#schedule(performance.now() - this.#startedAt);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#lapse);
    clearTimeout(this.#renewal);
    if (this.#idle) this.#noteBlocking();
  }

  /** @param elapsed milliseconds since the lease began */
  #schedule(elapsed: number): void {
    this.#idle = true;
    const ms = Math.max(this.#store.rules.lease / 3 - elapsed, 0);
    this.#renewal = setTimeout(() => void this.#renew(), ms);
  }

  async #renew(): Promise<void> {
    this.#idle = false;
    const calledAt = performance.now();
    if (calledAt - this.#startedAt > this.#store.rules.maxHandlerTime) return this.#giveUp();
    this.#noteBlocking();
    // Without an answer, abort when the lease ends. If it has ended already, the event loop was blocked, and only the
    // answer tells whether another delivery took over.
    if (!this.expired) this.#abortOnLapse();
    const answer = await this.#store.renew(this.#claim);
    if (this.#stopped) return;
    if (answer === false) return this.#lose();
    if (answer === true) {
      this.#endsAt = calledAt + this.#store.rules.lease;
      clearTimeout(this.#lapse);
      this.#lapse = undefined;
    } else {
      this.#abortOnLapse();
    }
    this.#schedule(performance.now() - calledAt);
  }

  #lose(): void {
    this.lost = true;
    const { caller } = this.#store;
    caller.abort?.('CLAIM_LOST');
    writeLog(caller.log, 'error', {}, 'the claim was lost to another delivery while handlers ran');
  }

  /** Once the lease ends, another delivery can run the event, although the handler still hangs. */
  #giveUp(): void {
    const { caller } = this.#store;
    caller.abort?.('HANDLER_TIMEOUT');
    this.#abortOnLapse();
    const message = 'a handler has not settled within maxHandlerTime; its claim is no longer renewed';
    writeLog(caller.log, 'error', {}, message);
  }

  /** Another delivery can start when the lease ends. */
  #abortOnLapse(): void {
    const left = Math.max(this.#endsAt - performance.now(), 0);
    this.#lapse ??= setTimeout(() => this.#store.caller.abort?.('CLAIM_LOST'), left);
  }

  #noteBlocking(): void {
    if (!this.expired || this.#lapse) return;
    const overdueMs = Math.round(performance.now() - this.#endsAt);
    const message = 'the event loop was blocked for longer than the lease';
    writeLog(this.#store.caller.log, 'warn', { overdueMs }, message);
  }
}
