// A client on loan from the pool: it goes back once, clean or not at all, whatever happens to it meanwhile.
import { StoreError } from '../../errors.js';
import type { PostgresClient } from './pool.js';

const LONGEST_TIMER = 2_147_483_647;

export class Loan {
  readonly client: PostgresClient;
  readonly #release: (error?: Error) => void;
  #over = false;
  #lapse: NodeJS.Timeout | undefined;

  /** @param leaseMs after which a client that nobody asked for again is destroyed, and its transaction with it */
  constructor(client: PostgresClient, leaseMs: number) {
    this.client = client;
    // Taken now: the pool puts a new function into the same place when it lends the client again.
    this.#release = client.release.bind(client);
    client.on('error', this.#onError);
    this.extend(leaseMs);
  }

  /** The client has gone back: whatever was not committed by then is undone. */
  get over(): boolean {
    return this.#over;
  }

  extend(leaseMs: number): void {
    clearTimeout(this.#lapse);
    const lapse = () => this.end(new StoreError('The lease lapsed, so its transaction was rolled back.'));
    this.#lapse = setTimeout(lapse, Math.min(leaseMs, LONGEST_TIMER)).unref();
  }

  async rollBack(): Promise<void> {
    await this.client.query({ text: 'ROLLBACK' });
    this.end();
  }

  /** @param error the client is in an unknown state, and is destroyed */
  end(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#lapse);
    this.client.removeListener('error', this.#onError);
    this.#release(error);
  }

  // A client that the pool has lent has no other listener, and an `error` without one ends the process.
  readonly #onError = (error: Error): void => this.end(error);
}
