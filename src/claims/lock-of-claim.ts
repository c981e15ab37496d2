// Makes a lock out of a claim, for stores that keep both alike: releasing it deletes the claim.
import type { Claim, ClaimRequest, ClaimResult, Lock } from '../contracts/idempotency-store.js';

/** An answer to a claim whose owner can also forget the event. */
export type ForgettableResult =
  | { readonly status: 'claimed'; readonly claim: Claim & { forget?(): Promise<boolean> } }
  | Exclude<ClaimResult, { readonly status: 'claimed' }>;

/**
 * @param claim claims the key like that of an event, which also excludes processes of versions without locks. A claim without
 *   `forget()` is released
 */
export async function lockOf(
  claim: (request: ClaimRequest) => ForgettableResult | Promise<ForgettableResult>,
  leaseMs: number,
): Promise<Lock | undefined> {
  const result = await claim({ leaseMs, fingerprint: 'serial' });
  if (result.status !== 'claimed') return undefined;
  const { claim: granted } = result;
  return {
    renew: (ms) => granted.renew(ms),
    release: () => granted.forget?.() ?? granted.release(granted.finished),
  };
}
