// Keeps a claim alive while handlers run, and notices when it is lost. Only the monotonic clock counts.
import type { Deadline } from './deadlines.js';
import type { Delivery } from './delivery.js';
import { writeLog } from './logger.js';
import type { Configuration } from './options.js';
import { ask } from './stores/ask.js';
import type { Claim } from './stores/store.js';

export class Lease {
  /** Somebody else has the claim now. */
  lost = false;
  readonly #delivery: Delivery;
  readonly #claim: Claim<object>;
  readonly #c: Pick<Configuration, 'lease' | 'maxHandlerTime' | 'deadlines'>;
  readonly #startedAt: number;
  #endsAt: number;
  #renewal: Deadline | undefined;
  #lapse: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(
    delivery: Delivery,
    claim: Claim<object>,
    c: Pick<Configuration, 'lease' | 'maxHandlerTime' | 'deadlines'>,
  ) {
    this.#delivery = delivery;
    this.#claim = claim;
    this.#c = c;
    // The store may have started the lease as soon as it was asked, however long its reply took.
    this.#startedAt = performance.now() - (delivery.storeMs ?? 0);
    this.#endsAt = this.#startedAt + c.lease;
    this.#schedule();
  }

  /** By our own clock; the store may still keep the claim for us if nobody wanted it. */
  get lapsed(): boolean {
    return performance.now() >= this.#endsAt;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#lapse);
    if (!this.#renewal) return;
    this.#c.deadlines.renewal.clear(this.#renewal);
    this.#noteBlocking();
  }

  #schedule(): void {
    this.#renewal = this.#c.deadlines.renewal.set(() => void this.#renew());
  }

  async #renew(): Promise<void> {
    this.#renewal = undefined;
    const askedAt = performance.now();
    if (askedAt - this.#startedAt > this.#c.maxHandlerTime) return this.#giveUp();
    this.#noteBlocking();
    // Before the answer: a store may keep us waiting beyond the end. After a blocked event loop, only its answer
    // tells whether anything is lost.
    if (!this.lapsed) this.#abortOnLapse();
    const answer = await ask(this.#c.deadlines.store, () => this.#claim.renew(this.#c.lease));
    if (this.#stopped) return;
    if (answer === false) return this.#lose();
    if (answer === true) this.#extend(askedAt);
    else this.#abortOnLapse();
    this.#schedule();
  }

  #extend(from: number): void {
    this.#endsAt = from + this.#c.lease;
    clearTimeout(this.#lapse);
    this.#lapse = undefined;
  }

  #lose(): void {
    this.lost = true;
    this.#delivery.abort('CLAIM_LOST');
    writeLog(this.#delivery.log, 'error', {}, 'the claim was lost to another delivery while handlers ran');
  }

  /** From here on nothing keeps another delivery from running the event beside a handler that hangs. */
  #giveUp(): void {
    this.#delivery.abort('HANDLER_TIMEOUT');
    writeLog(
      this.#delivery.log,
      'error',
      {},
      'a handler has not settled within maxHandlerTime; its claim is no longer renewed',
    );
  }

  /** Handlers go on until the moment at which somebody else could start. */
  #abortOnLapse(): void {
    const left = Math.max(this.#endsAt - performance.now(), 0);
    this.#lapse ??= setTimeout(() => this.#delivery.abort('CLAIM_LOST'), left);
  }

  /** A lease that ended before its renewal was due was not ended by the store. */
  #noteBlocking(): void {
    if (!this.lapsed || this.#lapse) return;
    const overdueMs = Math.round(performance.now() - this.#endsAt);
    writeLog(
      this.#delivery.log,
      'warn',
      { overdueMs },
      'the event loop was blocked for longer than the lease',
    );
  }
}
