// What each case of the store contract works with: a store, keys of its own, and its assertions.
import { createHash, randomUUID } from 'node:crypto';
import type { Claim, ClaimResult, IdempotencyStore } from '../../claims/idempotency-store.js';

/** No case takes this long, so a lease of this length does not lapse. */
export const ALIVE_MS = 60_000;
/** A lease that has lapsed once {@link ContractContext.lapse} has slept. */
export const BRIEF_MS = 10;
const LAPSE_MS = 40;

/** What the store promises, as a sentence, and the check of it. */
export type ContractCases = Readonly<Record<string, (context: ContractContext) => Promise<void>>>;

/** What a case claims with; the bytes are what the fingerprint stands for. */
interface TrialRequest {
  readonly leaseMs?: number | undefined;
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

  /** Async, because a store may also throw at once. */
  async claim(
    key: string,
    { leaseMs = ALIVE_MS, bytes = '' }: TrialRequest = {},
  ): Promise<ClaimResult<object>> {
    return this.store.claim(key, { leaseMs, fingerprint: fingerprint(bytes) });
  }

  /** Claims the key, and fails unless the store grants it. */
  async granted(key: string, request: TrialRequest = {}): Promise<Claim<object>> {
    const result = await this.claim(key, request);
    if (result.status === 'claimed') return result.claim;
    throw violation('a key that nobody holds is granted to the first caller', result);
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
    assert(left > 0 && left <= ALIVE_MS, 'a key whose lease runs is in progress for the rest of it', result);
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

/** @param got what the store did instead */
export function assert(kept: boolean, promise: string, got: unknown): void {
  if (!kept) throw violation(promise, got);
}

export function assertSame(got: unknown, expected: unknown, promise: string): void {
  if (json(got) !== json(expected)) throw violation(promise, got, ` instead of ${json(expected)}`);
}

function violation(promise: string, got: unknown, instead = ''): Error {
  return new Error(`The store breaks its contract: ${promise}. Got ${json(got)}${instead}.`);
}

/** Of a claim only what the contract knows: a store may add fields, and they may refer to the claim itself. */
function json(value: unknown): string | undefined {
  return JSON.stringify(value, (_name, field) => {
    const { attempt, finished, complete } = (field ?? {}) as Partial<Claim<object>>;
    return typeof complete === 'function' ? { attempt, finished } : field;
  });
}
