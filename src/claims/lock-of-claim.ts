// The lock of a store that keeps locks like events: a claim that is forgotten when it is released.
import type { Claim, ClaimRequest, ClaimResult, Lock } from './idempotency-store.js';

/** In place of the fingerprint of an event. */
const FINGERPRINT = 'serial';

/** An answer to a claim whose owner can also forget the event. */
export type ForgettableResult =
  | { readonly status: 'claimed'; readonly claim: Claim & { forget?(): Promise<boolean> } }
  | Exclude<ClaimResult, { readonly status: 'claimed' }>;

/**
 * @param claim asks for the key like for that of an event, so processes of versions before locks are excluded too. A claim
 *   that cannot be forgotten is released
 */
export async function lockOf(
  claim: (request: ClaimRequest) => ForgettableResult | Promise<ForgettableResult>,
  leaseMs: number,
): Promise<Lock | undefined> {
  const result = await claim({ leaseMs, fingerprint: FINGERPRINT });
  if (result.status !== 'claimed') return undefined;
  const kept = result.claim;
  return {
    renew: (ms) => kept.renew(ms),
    release: () => kept.forget?.() ?? kept.release(kept.finished),
  };
}
