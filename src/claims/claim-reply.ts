// Checks what a store answers to a claim or a lock: it may be the user's own code.
import type { Claim, ForgetResult, Lock } from '../contracts/idempotency-store.js';
import { StoreFailure } from './timed-calls.js';

/** A granted claim, with what it was asked for. The values of the store's own claim are read once. */
export interface GrantedClaim extends Pick<Claim<object>, 'attempt' | 'finished'> {
  readonly status: 'claimed';
  readonly key: string;
  readonly fingerprint: string;
  /** When the store was called, by the monotonic clock. Its lease may run since then, however long the reply took. */
  readonly calledAt: number;
  readonly claim: Claim<object>;
  /** Undefined for a store that adds nothing to handlers. */
  readonly forHandler: Claim<object>['forHandler'];
}

export type ClaimReply =
  | GrantedClaim
  | { readonly status: 'in_progress'; readonly retryAfterMs: number | undefined }
  | { readonly status: 'completed'; readonly fingerprint: string };

/** A granted lock. It is held like a claim, but never completed. */
export interface GrantedLock extends Pick<GrantedClaim, 'calledAt'> {
  readonly claim: Lock;
}

type Asked = Pick<GrantedClaim, 'key' | 'fingerprint' | 'calledAt'>;

/** Reads each value once, because a getter may throw, or return something else the next time. */
export function readClaimReply(answer: unknown, asked: Asked): ClaimReply | StoreFailure {
  try {
    const given = answer as Partial<Record<string, unknown>> | null | undefined;
    switch (given?.status) {
      case 'claimed':
        return readClaim(given.claim as Claim<object> | undefined, asked);
      case 'completed':
        return { status: 'completed', fingerprint: given.fingerprint as string };
      case 'in_progress': {
        const { retryAfterMs } = given;
        const known = typeof retryAfterMs === 'number' && Number.isFinite(retryAfterMs);
        return { status: 'in_progress', retryAfterMs: known ? retryAfterMs : undefined };
      }
      default:
        return new StoreFailure('Its answer to claim() has an unknown status.');
    }
  } catch (cause) {
    return new StoreFailure('Its answer to claim() threw when it was read.', cause);
  }
}

/** Undefined while another caller has the lock. */
export function readLockReply(answer: unknown, calledAt: number): GrantedLock | undefined | StoreFailure {
  if (answer === undefined) return undefined;
  try {
    const { renew, release } = (answer ?? {}) as Partial<Lock>;
    if (typeof renew === 'function' && typeof release === 'function')
      return { claim: answer as Lock, calledAt };
    return new StoreFailure(
      'Its lock() returned neither undefined nor a lock: it lacks renew() or release().',
    );
  } catch (cause) {
    return new StoreFailure('Its answer to lock() threw when it was read.', cause);
  }
}

export function readForgetResult(answer: unknown): ForgetResult | StoreFailure {
  try {
    const { status, handlers, retryAfterMs } = (answer ?? {}) as Partial<Record<string, unknown>>;
    if (status === 'unknown') return { status };
    if (status === 'forgotten' && Array.isArray(handlers)) return { status, handlers: handlers.map(String) };
    if (status === 'in_progress') return { status, retryAfterMs: Number(retryAfterMs) || 1 };
    return new StoreFailure('Its answer to forget() has an unknown status.');
  } catch (cause) {
    return new StoreFailure('Its answer to forget() threw when it was read.', cause);
  }
}

function readClaim(
  claim: Claim<object> | undefined,
  { key, fingerprint, calledAt }: Asked,
): GrantedClaim | StoreFailure {
  const { attempt, finished, forHandler } = claim ?? {};
  const hasMethods =
    typeof claim?.renew === 'function' &&
    typeof claim.complete === 'function' &&
    typeof claim.release === 'function';
  if (!hasMethods || !Array.isArray(finished) || !Number.isSafeInteger(attempt))
    return new StoreFailure('Its claim lacks attempt, finished, renew(), complete() or release().');
  return {
    status: 'claimed',
    key,
    fingerprint,
    calledAt,
    claim,
    attempt: attempt as number,
    finished,
    forHandler: forHandler && ((name, beforeCommit) => forHandler.call(claim, name, beforeCommit)),
  };
}
