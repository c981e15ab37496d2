// A checked-out client: returned to the pool exactly once, and only after its transaction.
import { StoreError } from '../../errors.js';
import { MAX_TIMER_MS } from '../../options/duration.js';
import type { PostgresClient } from './pool.js';

/** Where a commit waits for synchronous replicas: Postgres names the function in a warning about the wait. */
const REPLICATION = 'SyncRepWaitForLSN';

interface Warned {
  on(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
  removeListener(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
}

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
    this.#expiry = setTimeout(expire, Math.min(leaseMs, MAX_TIMER_MS)).unref();
  }

  async rollBack(): Promise<void> {
    await this.client.query({ text: 'ROLLBACK' });
    this.giveBack();
  }

  /** @throws {StoreError} unless Postgres has confirmed the commit, for its synchronous replicas too */
  async commit(): Promise<void> {
    const client = this.client as unknown as Warned;
    let unreplicated = false;
    const onNotice = ({ routine }: { readonly routine?: string }) => {
      unreplicated ||= routine === REPLICATION;
    };
    client.on('notice', onNotice);
    const { command } = await this.client
      .query({ text: 'COMMIT' })
      .finally(() => client.removeListener('notice', onNotice));
    if (command !== 'COMMIT') throw new StoreError(`Postgres answered COMMIT with ${command}.`);
    if (unreplicated)
      throw new StoreError(
        'The wait for a synchronous replica was cancelled, so a failover may undo the commit.',
      );
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

  // The transaction is gone with its connection: nobody may get the client again.
  readonly #onError = (error: Error): void => this.giveBack(error);
}
