// A client that is checked out of the pool: it goes back exactly once, and only if its transaction has ended.
import { StoreError } from '../../errors.js';
import { LONGEST_TIMER } from '../../options/duration.js';
import type { PostgresClient } from './pool.js';

export class CheckedOutClient {
  readonly client: PostgresClient;
  readonly #release: (error?: Error) => void;
  #returned = false;
  #expiry: NodeJS.Timeout | undefined;

  /** @param leaseMs after which the client and its transaction are destroyed, unless the lease is extended */
  constructor(client: PostgresClient, leaseMs: number) {
    this.client = client;
    // Bound now: the pool sets a new function each time it hands the client out.
    this.#release = client.release.bind(client);
    client.on('error', this.#onError);
    this.extend(leaseMs);
  }

  /** The client is back in the pool, or destroyed: what was not committed by then is undone. */
  get returned(): boolean {
    return this.#returned;
  }

  extend(leaseMs: number): void {
    clearTimeout(this.#expiry);
    const expire = () =>
      this.giveBack(new StoreError('The lease expired, so its transaction was rolled back.'));
    this.#expiry = setTimeout(expire, Math.min(leaseMs, LONGEST_TIMER)).unref();
  }

  async rollBack(): Promise<void> {
    await this.client.query({ text: 'ROLLBACK' });
    this.giveBack();
  }

  /** @param error why the state of the client is unknown: the pool destroys it */
  giveBack(error?: Error): void {
    if (this.#returned) return;
    this.#returned = true;
    clearTimeout(this.#expiry);
    this.client.removeListener('error', this.#onError);
    this.#release(error);
  }

  // A client that is checked out has no other listener, and an `error` without one ends the process.
  readonly #onError = (error: Error): void => this.giveBack(error);
}
