// How an attempt ends under its claim: its event is completed, or put aside and the claim released.
import type { Letter, Unprocessed } from '../dead-letters/letter.js';
import type { Outcome } from '../observer.js';
import type { StoreCalls } from '../stores/call-store.js';
import type { GrantedClaim } from '../stores/claim-answer.js';
import { StoreFailure } from '../stores/timed-calls.js';
import type { Result } from './delivery.js';
import type { Lease } from './lease.js';
import { claimLost, type Rejection, storeUnavailable } from './rejection.js';
import { andThen } from './thenable.js';

/** How an attempt ends that has not processed the event. */
export interface Ending extends Unprocessed {
  /** Once the event is kept. */
  readonly result: Result;
}

/** What stays the same from the claim to its end. */
export interface Bracket {
  readonly store: StoreCalls;
  /** Undefined without dead letters. */
  readonly letter: Letter | undefined;
  /** What it comes to when every handler succeeds. */
  readonly outcome: Outcome;
}

export type KeepingBracket = Bracket & { readonly letter: Letter };

/** Ends an attempt that has processed the event: at once, where the store answers at once. */
export function complete(claim: GrantedClaim, lease: Lease, bracket: Bracket): Result | Promise<Result> {
  const { store, letter, outcome } = bracket;
  if (letter) return completeAndRemove(claim, lease, { store, letter, outcome });
  return andThen(store.complete(claim, lease), (completed) => refusal(claim, completed) ?? outcome);
}

/** An event that is processed is no dead letter any more. */
async function completeAndRemove(
  claim: GrantedClaim,
  lease: Lease,
  { store, letter, outcome }: KeepingBracket,
): Promise<Result> {
  const unremoved = await letter.removeInCommit(claim);
  if (unremoved) return putAside(claim, failure(storeUnavailable(unremoved)), { store, letter, outcome });
  const refused = refusal(claim, await store.complete(claim, lease));
  if (refused) return keep(letter, failure(refused), claim.attempt);
  await letter.removeAfter(claim);
  return outcome;
}

/**
 * In lease mode a store that cannot be told is no reason to refuse: a 503 would guarantee a second run, a 200 only
 * risks one. In transactional mode the handlers' writes are in this commit.
 */
function refusal(claim: GrantedClaim, completed: boolean | StoreFailure): Rejection | undefined {
  if (completed === false) return claimLost();
  return claim.transactional && completed instanceof StoreFailure ? storeUnavailable(completed) : undefined;
}

/** Ends an attempt that has not processed the event. */
export async function putAside(
  claim: GrantedClaim,
  ending: Ending,
  { store, letter }: Bracket,
): Promise<Result> {
  // A transaction holds a connection, and the letter may need one of the same pool.
  if (claim.transactional) await store.release(claim, claim.finished);
  const result = await keep(letter, ending, claim.attempt);
  if (!claim.transactional) await store.release(claim, claim.finished);
  return result;
}

/** Keeps the event before its delivery is answered: when that fails, only the sender still has it. */
export async function keep(letter: Letter | undefined, ending: Ending, attempt?: number): Promise<Result> {
  const unkept = await letter?.keep({ ...ending, attempt });
  return unkept ? storeUnavailable(unkept) : ending.result;
}

export function failure(rejection: Rejection): Ending {
  return { reason: 'failed', rejection, result: rejection };
}
