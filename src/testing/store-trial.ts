// What each case of the store contract works with: a store, keys of its own, and the words for a broken promise.
import { createHash, randomUUID } from 'node:crypto';
import type { Claim, ClaimResult, IdempotencyStore } from '../stores/store.js';

/** No case takes this long, so a lease of this length is alive. */
export const ALIVE_MS = 60_000;
/** A lease that has lapsed once {@link Trial.lapse} has slept. */
export const BRIEF_MS = 10;
const LAPSE_MS = 40;

export interface StoreContractOptions {
  /**
   * Makes the store that one case tests; called once for each case. Keys differ from case to case and from run to run,
   * so the stores may share a server.
   *
   * @param options.retention milliseconds for which the store must remember; undefined: its default, at least an hour
   */
  readonly create: (options: {
    readonly retention: number | undefined;
  }) => IdempotencyStore<object> | Promise<IdempotencyStore<object>>;
  /** Lets milliseconds pass by the clock of the store. @default a timer */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
}

/** A case of the contract, in the making. */
export interface StorePromise {
  /** What the store promises, as a sentence. */
  readonly name: string;
  readonly retention?: number;
  readonly check: (trial: Trial) => Promise<void>;
}

export class Trial {
  readonly store: IdempotencyStore<object>;
  readonly sleep: (ms: number) => Promise<void>;

  constructor(store: IdempotencyStore<object>, sleep: (ms: number) => Promise<void>) {
    this.store = store;
    this.sleep = sleep;
  }

  /** A key that nobody has used before. */
  key(): string {
    return `contract:live:${randomUUID()}`;
  }

  claim(key: string, { leaseMs = ALIVE_MS, bytes = '' } = {}): Promise<ClaimResult<object>> {
    return this.store.claim(key, { leaseMs, fingerprint: fingerprint(bytes) });
  }

  /** A claim that must be granted. */
  async granted(key: string, request: { leaseMs?: number; bytes?: string } = {}): Promise<Claim<object>> {
    const result = await this.claim(key, request);
    if (result.status === 'claimed') return result.claim;
    throw broken('a key that nobody holds is granted to whoever claims it', result);
  }

  /** Granted, and lapsed by now. */
  async lapsed(key: string, bytes = ''): Promise<Claim<object>> {
    const claim = await this.granted(key, { leaseMs: BRIEF_MS, bytes });
    await this.lapse();
    return claim;
  }

  async inProgress(key: string, bytes = ''): Promise<void> {
    const result = await this.claim(key, { bytes });
    const left = result.status === 'in_progress' ? result.retryAfterMs : 0;
    demand(left > 0 && left <= ALIVE_MS, 'a key whose lease runs is in progress for the rest of it', result);
  }

  /** @param bytes of the run that completed it */
  async completed(key: string, bytes = ''): Promise<void> {
    const result = await this.claim(key, { bytes: 'a duplicate with other bytes' });
    const expected = { status: 'completed', fingerprint: fingerprint(bytes) };
    same(result, expected, 'a completed key stays so, with the fingerprint of the run that completed it');
  }

  lapse(): Promise<void> {
    return this.sleep(LAPSE_MS);
  }
}

export function fingerprint(bytes: string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** @param got what the store did instead */
export function demand(kept: boolean, promise: string, got: unknown): void {
  if (!kept) throw broken(promise, got);
}

export function same(got: unknown, expected: unknown, promise: string): void {
  const [is, should] = [JSON.stringify(got), JSON.stringify(expected)];
  if (is !== should) throw new Error(`A promise was broken: ${promise}. Got ${is} instead of ${should}.`);
}

export function broken(promise: string, got: unknown): Error {
  return new Error(`A promise was broken: ${promise}. Got ${JSON.stringify(got)}.`);
}
