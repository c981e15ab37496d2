// The lock of a store that keeps locks like events: a claim that is forgotten when it is released.
import type { Claim, ClaimRequest, ClaimResult, Lock } from './idempotency-store.js';

/** In place of what stands for the bytes of an event. */
const FINGERPRINT = 'serial';

/** An answer to a claim whose owner can also forget the event. */
export type ForgettableResult<Kept extends Claim & Forgettable> =
  | { readonly status: 'claimed'; readonly claim: Kept }
  | Exclude<ClaimResult, { readonly status: 'claimed' }>;

interface Forgettable {
  forget(): Promise<boolean>;
}

/** @param claim asks for the key like for that of an event, so processes of versions before locks are excluded too */
export async function lockOf(
  claim: (request: ClaimRequest) => Promise<ForgettableResult<Claim & Forgettable>>,
  leaseMs: number,
): Promise<Lock | undefined> {
  const result = await claim({ leaseMs, fingerprint: FINGERPRINT });
  if (result.status !== 'claimed') return undefined;
  const kept = result.claim;
  return { renew: (ms) => kept.renew(ms), release: () => kept.forget() };
}
