// Holds a callback-style transaction open until the claim ends, and waits for the commit.
import { StoreError } from '../../errors.js';
import { MAX_TIMER_MS } from '../../options/duration.js';
import type { RunTransaction } from './database.js';

/** How `transaction()` itself ended. */
type Outcome = { readonly resolved: true } | { readonly resolved: false; readonly error: unknown };

export class HeldTransaction<Transaction> {
  /** Resolves when the work is called, and rejects if it never is. */
  readonly begun: Promise<Transaction>;
  readonly #outcome: Promise<Outcome>;
  #begin: (transaction: Transaction) => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #work: { resolve(): void; reject(error: unknown): void } | undefined;
  /** Why it is not open any more, unless it was asked to end. */
  #broken: StoreError | undefined;
  #asked = false;
  #expiry: NodeJS.Timeout | undefined;

  /** @param leaseMs after which it is rolled back, unless the lease is extended */
  constructor(run: RunTransaction<Transaction>, leaseMs: number) {
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#refuse = reject;
    });
    this.extend(leaseMs);
    const ended = new Promise<unknown>((resolve) => resolve(run((transaction) => this.#call(transaction))));
    this.#outcome = ended.then(
      () => this.#settle({ resolved: true }),
      (error: unknown) => this.#settle({ resolved: false, error }),
    );
  }

  get open(): boolean {
    return this.#work !== undefined && !this.#asked && this.#broken === undefined;
  }

  extend(leaseMs: number): void {
    clearTimeout(this.#expiry);
    const expire = () => this.break(new StoreError('The lease expired, so its transaction was rolled back.'));
    this.#expiry = setTimeout(expire, Math.min(leaseMs, MAX_TIMER_MS)).unref();
  }

  /** Rolls back without being waited for: nothing that happens from now on can make it a success. */
  break(reason: StoreError): void {
    this.#broken ??= reason;
    clearTimeout(this.#expiry);
    this.#refuse(reason);
    this.#work?.reject(reason);
  }

  /** @throws unless `transaction()` has called its work once and resolved after it */
  async commit(): Promise<void> {
    this.#throwIfBroken();
    this.#asked = true;
    clearTimeout(this.#expiry);
    this.#work?.resolve();
    const outcome = await this.#outcome;
    this.#throwIfBroken();
    if (!outcome.resolved) throw outcome.error;
  }

  /** @throws unless `transaction()` rejects with what its work was rejected with */
  async rollBack(): Promise<void> {
    this.#throwIfBroken();
    this.#asked = true;
    clearTimeout(this.#expiry);
    const reason = new StoreError('The delivery failed, so its transaction is rolled back.');
    this.#work?.reject(reason);
    const outcome = await this.#outcome;
    this.#throwIfBroken();
    if (outcome.resolved)
      throw new StoreError('transaction resolved although its work was rejected, so it may have committed.');
    if (!isOrWraps(outcome.error, reason)) throw outcome.error;
  }

  #call(transaction: Transaction): Promise<void> {
    if (this.#work)
      this.break(
        new StoreError(
          'transaction called its work twice. Turn its retries off: the delivery is retried as a whole.',
        ),
      );
    if (this.#broken) return rejectedWith(this.#broken);
    const work = new Promise<void>((resolve, reject) => {
      this.#work = { resolve, reject };
    });
    // Whether or not `transaction()` waits for its work.
    work.catch(() => {});
    this.#begin(transaction);
    return work;
  }

  #settle(outcome: Outcome): Outcome {
    clearTimeout(this.#expiry);
    if (this.#asked) return outcome;
    if (!this.#work)
      this.#refuse(
        outcome.resolved
          ? new StoreError('transaction resolved without having called its work.')
          : outcome.error,
      );
    this.#broken ??= new StoreError(
      outcome.resolved
        ? 'transaction resolved before its work did. It must wait for the work.'
        : 'The transaction ended before its handlers did.',
      outcome.resolved ? undefined : { cause: outcome.error },
    );
    return outcome;
  }

  #throwIfBroken(): void {
    if (this.#broken) throw this.#broken;
  }
}

function rejectedWith(error: Error): Promise<never> {
  const rejected = Promise.reject(error);
  rejected.catch(() => {});
  return rejected;
}

function isOrWraps(error: unknown, reason: Error): boolean {
  return error === reason || (error as { cause?: unknown } | null)?.cause === reason;
}
