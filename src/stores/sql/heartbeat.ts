// Confirms that the transaction of a claim is still open. Only an answer of the server counts.
import { setTimeout as pause } from 'node:timers/promises';
import { StoreError } from '../../errors.js';

/** How long a ping may take before the store asks on another connection: a handler's statement may delay it. */
const PATIENCE_MS = 250;
/** After this, an unanswered question on another connection is repeated. */
const REPEAT_AFTER_MS = 5_000;
const POLL_MS = 50;

/** The connection of a transaction. */
interface HeldConnection {
  /** Runs a statement, which also restarts the server's idle timeout. Never rejects: it closes the connection instead. */
  ping(leaseMs: number): Promise<void>;
  /** Whether the client knows that a handler's statement occupies the connection. */
  isBusy(): boolean;
  /** Asks on another connection whether the server executes a statement on this one. Idle sessions can be dropped. */
  isExecuting(): Promise<boolean>;
  hasEnded(): boolean;
}

export class Heartbeat {
  readonly #connection: HeldConnection;
  #ping: Promise<void> | undefined;
  #leaseMs = 0;
  /** When the latest renewal began, and when the latest question began that the server answered with yes. */
  #requestedAt = Number.NEGATIVE_INFINITY;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #askAgainAt = 0;

  constructor(connection: HeldConnection) {
    this.#connection = connection;
  }

  /**
   * True once the server has answered a question that began after this call, false when the transaction has ended.
   *
   * @throws {StoreError} after a lease without an answer
   */
  async confirm(leaseMs: number): Promise<boolean> {
    const began = performance.now();
    this.#leaseMs = leaseMs;
    this.#requestedAt = began;
    while (!this.#connection.hasEnded()) {
      const ping = this.pendingPing();
      const waited = performance.now() - began;
      if (waited >= leaseMs)
        throw new StoreError('The database has not confirmed within the lease that the transaction is open.');
      if (!ping || waited >= PATIENCE_MS) this.#askOnAnotherConnection();
      const paused = pause(POLL_MS, undefined, { ref: false });
      await (ping ? Promise.race([ping, paused]) : paused);
      if (this.#confirmedAt >= began) return true;
    }
    return false;
  }

  /** The ping in flight, which a handler's query waits for. Sends it first if one is due. */
  pendingPing(): Promise<void> | undefined {
    if (this.#confirmedAt < this.#requestedAt && !this.#connection.isBusy()) this.#ping ??= this.#send();
    return this.#ping;
  }

  /** Resolves when the ping in flight is answered. Undefined without one. */
  pingInFlight(): Promise<void> | undefined {
    return this.#ping;
  }

  async #send(): Promise<void> {
    const began = performance.now();
    await this.#connection.ping(this.#leaseMs);
    this.#ping = undefined;
    this.#confirm(began);
  }

  #askOnAnotherConnection(): void {
    const began = performance.now();
    if (began < this.#askAgainAt) return;
    this.#askAgainAt = began + REPEAT_AFTER_MS;
    this.#connection
      .isExecuting()
      .then((executing) => executing && this.#confirm(began))
      // Same as no answer: the pool has no connection left, or the network is down.
      .catch(() => {})
      .finally(() => {
        this.#askAgainAt = performance.now() + PATIENCE_MS;
      });
  }

  #confirm(began: number): void {
    this.#confirmedAt = Math.max(this.#confirmedAt, began);
  }
}
