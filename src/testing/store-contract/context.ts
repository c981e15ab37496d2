// The context of a case of the store contract: a store, unique keys, and assertions.
import { createHash, randomUUID } from 'node:crypto';
import type { Claim, ClaimResult, IdempotencyStore } from '../../contracts/idempotency-store.js';
import { assertionsOf } from '../contract-cases.js';

/** Longer than any case, so such a lease does not lapse. */
export const ALIVE_MS = 60_000;
/** A lease that lapses during {@link ContractContext.lapse}. */
export const BRIEF_MS = 10;
const LAPSE_MS = 40;

const { violation, ...assertions } = assertionsOf('The store');
export const { assert, assertSame } = assertions;

/** Each promise of the store, with its check. */
export type ContractCases = Readonly<Record<string, (context: ContractContext) => Promise<void>>>;

interface ClaimRequest {
  readonly leaseMs?: number | undefined;
  /** The fingerprint is made of them. */
  readonly bytes?: string;
}

export class ContractContext {
  readonly store: IdempotencyStore<object>;
  readonly sleep: (ms: number) => Promise<void>;

  constructor(store: IdempotencyStore<object>, sleep: (ms: number) => Promise<void>) {
    this.store = store;
    this.sleep = sleep;
  }

  /** A key that no other case uses. */
  key(): string {
    return `contract:live:${randomUUID()}`;
  }

  /** Async, because a store may throw synchronously. */
  async claim(
    key: string,
    { leaseMs = ALIVE_MS, bytes = '' }: ClaimRequest = {},
  ): Promise<ClaimResult<object>> {
    return this.store.claim(key, { leaseMs, fingerprint: fingerprint(bytes) });
  }

  /** Claims the key, and fails unless the store grants it. */
  async granted(key: string, request: ClaimRequest = {}): Promise<Claim<object>> {
    const result = await this.claim(key, request);
    if (result.status === 'claimed') return result.claim;
    throw violation('a free key is granted to the first caller', result);
  }

  /** A granted claim whose lease has lapsed. */
  async lapsed(key: string, bytes = ''): Promise<Claim<object>> {
    const claim = await this.granted(key, { leaseMs: BRIEF_MS, bytes });
    await this.lapse();
    return claim;
  }

  async inProgress(key: string, bytes = ''): Promise<void> {
    const result = await this.claim(key, { bytes });
    const left = result.status === 'in_progress' ? result.retryAfterMs : 0;
    assert(left > 0 && left <= ALIVE_MS, 'a key is in progress until its lease ends', result);
  }

  /** @param bytes of the run that completed the key */
  async completed(key: string, bytes = ''): Promise<void> {
    const result = await this.claim(key, { bytes: 'a duplicate with other bytes' });
    const expected = { status: 'completed', fingerprint: fingerprint(bytes) };
    assertSame(result, expected, 'a completed key keeps the fingerprint of the run that completed it');
  }

  lapse(): Promise<void> {
    return this.sleep(LAPSE_MS);
  }
}

export function fingerprint(bytes: string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
