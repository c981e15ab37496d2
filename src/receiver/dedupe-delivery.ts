// Station 4: event -> first time? A bracket around the work: claim; then complete, or release when it fails.
import type { Deduped, Dispatched, Result } from '../delivery/delivery.js';
import type { Fingerprint } from '../delivery/fingerprint.js';
import { Lease } from '../delivery/lease.js';
import { Rejection } from '../delivery/rejection.js';
import { isThenable } from '../delivery/thenable.js';
import { HandlerError } from '../errors.js';
import type { Envelope } from '../events/envelope.js';
import type { Attempt } from '../handlers/handler-context.js';
import type { Outcome } from '../observer.js';
import type { Configuration } from '../options/options.js';
import { type Claimant, StoreCalls, type StoreRules } from '../stores/call-store.js';
import type { GrantedClaim } from '../stores/claim-answer.js';
import { keyOf } from '../stores/store.js';
import { StoreFailure } from '../stores/timed-calls.js';

export interface Work {
  readonly fingerprint: Fingerprint;
  /** What it comes to when every handler succeeds. */
  readonly outcome: Outcome;
  /**
   * Never rejects.
   * @param onPending called when the handlers have not settled before the event loop turns
   */
  run(attempt: Attempt, onPending: () => void): Dispatched | Promise<Dispatched>;
}

/** What an attempt is when nothing is remembered. */
const UNREMEMBERED = { attempt: 1, finished: [] } as const;
const RETRY_AFTER_MS = 5_000;

/** Does the work if this delivery is the one to do it. */
export async function dedupeDelivery(
  delivery: Claimant & { readonly event: Envelope | undefined },
  c: Pick<Configuration, 'store' | 'namespace'> & StoreRules,
  work: Work,
): Promise<Deduped> {
  if (!c.store) {
    const dispatched = await work.run(UNREMEMBERED, () => {});
    return conclude({}, dispatched, (settled) => resultOf(settled, work.outcome));
  }
  const store = new StoreCalls(c.store, delivery, c);
  const claiming = store.claim(keyOf(c.namespace, delivery.event), work.fingerprint.text);
  const answer = isThenable(claiming) ? await claiming : claiming;
  if (answer instanceof StoreFailure) return { result: unavailable(answer), store };
  if (answer.status === 'completed')
    return { result: 'duplicate', store, conflict: !work.fingerprint.matches(answer.fingerprint) };
  if (answer.status === 'in_progress')
    return { result: new Rejection('IN_PROGRESS', { retryAfterMs: answer.retryAfterMs }), store };
  const lease = new Lease(store, answer);
  const dispatched = await work.run(answer, () => lease.start());
  return conclude({ attempt: answer.attempt, store }, dispatched, (settled) => {
    lease.stop();
    if (!lease.lost && settled.failures.length === 0) return complete(answer, lease, { store, work });
    const released = store.release(answer, settled.finished);
    return released.then(() => (lease.lost ? lost() : resultOf(settled, work.outcome)));
  });
}

/** Handlers that go on after the answer keep their claim until they settle. */
function conclude(
  { attempt, store }: Pick<Deduped, 'attempt' | 'store'>,
  dispatched: Dispatched,
  end: (settled: Dispatched) => Result | Promise<Result>,
): Deduped | Promise<Deduped> {
  const { unsettled } = dispatched;
  if (unsettled)
    return { result: unsettled.rejection, attempt, store, dispatched, late: unsettled.rest.then(end) };
  const deduped = (result: Result) => ({ result, attempt, store, dispatched });
  const ending = end(dispatched);
  return isThenable(ending) ? ending.then(deduped) : deduped(ending);
}

/**
 * In lease mode a store that cannot be told is no reason to refuse: a 503 would guarantee a second run, a 200 only
 * risks one. In transactional mode the handlers' writes are in this commit.
 */
function complete(
  claim: GrantedClaim,
  lease: Lease,
  { store, work }: { readonly store: StoreCalls; readonly work: Work },
): Result | Promise<Result> {
  const resultOf = (completed: boolean | StoreFailure) => {
    if (completed === false) return lost();
    return claim.transactional && completed instanceof StoreFailure ? unavailable(completed) : work.outcome;
  };
  const completing = store.complete(claim, lease);
  return isThenable(completing) ? completing.then(resultOf) : resultOf(completing);
}

function resultOf({ failures }: Dispatched, outcome: Outcome): Result {
  return failures.length === 0
    ? outcome
    : new Rejection('HANDLER_FAILED', { cause: new HandlerError(failures) });
}

function lost(): Rejection {
  return new Rejection('CLAIM_LOST', { retryAfterMs: RETRY_AFTER_MS });
}

function unavailable({ message, cause }: StoreFailure): Rejection {
  return new Rejection('STORE_UNAVAILABLE', { hint: message, retryAfterMs: RETRY_AFTER_MS, cause });
}
