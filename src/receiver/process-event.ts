// Station 4: event -> claimed, handled and completed; or kept as a dead letter and released.

import type { GrantedClaim } from '../claims/claim-answer.js';
import type { DeliveryLetter, Unprocessed } from '../claims/dead-letter-store.js';
import { type IdempotencyStore, keyOf } from '../claims/idempotency-store.js';
import { Lease } from '../claims/lease.js';
import { StoreCalls } from '../claims/store-calls.js';
import { StoreFailure } from '../claims/timed-calls.js';
import { handlersFailed, Rejection, storeUnavailable } from '../errors.js';
import type { Decoded } from '../events/envelope.js';
import type { Delivery, Result } from '../handlers/delivery.js';
import { HandlerRun } from '../handlers/handler-run.js';
import type { MatchedHandlers } from '../handlers/handlers.js';
import { SerialLocks, type SerialValues, serialValuesOf } from '../handlers/serial-locks.js';
import { verdictOf } from '../handlers/verdict.js';
import type { Configuration } from '../options/options.js';

type Rules = Pick<
  Configuration,
  'handlers' | 'store' | 'namespace' | 'observer' | 'timeout' | 'lease' | 'maxHandlerTime' | 'storeTimeout'
>;

/** An event as it was decoded, and what it came with. */
export interface DecodedDelivery {
  readonly delivery: Delivery;
  readonly decoded: Decoded;
  /** Undefined without dead letters. */
  readonly letter: DeliveryLetter | undefined;
  /** A job, which its queue keeps when it fails: what its handlers refuse is not lost. */
  readonly queued?: boolean | undefined;
}

/** Answers the sender while the handlers go on. */
export type AnswerEarly = (result: Result) => void;

/** What is done under the claim. */
interface ClaimedWork extends Pick<DecodedDelivery, 'delivery' | 'letter' | 'queued'> {
  readonly store: IdempotencyStore<object>;
  readonly matched: MatchedHandlers;
  readonly serialValues?: SerialValues | undefined;
  /** Milliseconds that the handlers may take before the sender is answered. */
  readonly timeout: number;
  /** Set if no handler can run: the event is kept under its claim. */
  readonly unhandled?: Ending | undefined;
  /** Second pass for an event that its handlers refused: their writes are rolled back, and the claim is only completed. */
  readonly refused?: boolean | undefined;
}

/** How an attempt that did not process the event ends. */
interface Ending extends Unprocessed {
  /** Once the event is kept. */
  readonly result: Result;
}

/**
 * Runs the handlers of an event, if this delivery is the one to do it.
 *
 * @param answerEarly called at most once, if the handlers outlast `timeout`
 * @returns the result when the claim has ended, however long the handlers took
 */
export async function processEvent(
  given: DecodedDelivery,
  c: Rules,
  answerEarly: AnswerEarly,
): Promise<Result> {
  const { delivery, decoded, letter, queued } = given;
  const { store, timeout } = c;
  const matched = c.handlers.match(decoded);
  const unhandled = matched.handlers.length === 0 ? withoutHandler(decoded) : undefined;
  if (matched.handlers.length === 0 && !(letter && unhandled)) return decoded.rejection ?? 'ignored';
  if (!store) return runUnclaimed(given, matched, c, answerEarly);

  const work: ClaimedWork = { delivery, letter, queued, store, matched, timeout, unhandled };
  const values = serialValuesOf(matched, delivery);
  if (!values) return runClaimed(work, c, answerEarly);

  const deadline = performance.now() + timeout;
  const locks = new SerialLocks(store, delivery, c);
  try {
    const serialValues = values instanceof Rejection ? values : await locks.acquire(values, deadline);
    if (serialValues instanceof Rejection) {
      // Only the sender has the event then, unless it is kept.
      return letter
        ? await runClaimed({ ...work, unhandled: failed(serialValues) }, c, answerEarly)
        : serialValues;
    }
    // Handlers get what waiting for the locks has left. It is read before the claim, which may wait for the store.
    const timeLeft = Math.max(Math.ceil(deadline - performance.now()), 1);
    return await runClaimed({ ...work, serialValues, timeout: timeLeft }, c, (early) => {
      locks.leaveQueuesAfter(c.maxHandlerTime);
      answerEarly(early);
    });
  } finally {
    // After the claim has ended, so every return above needs its await.
    await locks.release();
  }
}

/** From the claim to its end: completed if every handler succeeded, else kept and released. */
async function runClaimed(work: ClaimedWork, c: Rules, answerEarly: AnswerEarly): Promise<Result> {
  const { delivery, letter, matched, serialValues, timeout, unhandled } = work;
  const { fingerprint } = delivery;
  const store = new StoreCalls(work.store, delivery, c);
  delivery.store = store;

  const claim = await store.claim(keyOf(c.namespace, delivery.event), fingerprint.text);
  if (claim instanceof StoreFailure) return storeUnavailable(claim);
  if (claim.status === 'in_progress') {
    return new Rejection('IN_PROGRESS', { retryAfterMs: claim.retryAfterMs });
  }
  if (claim.status === 'completed') {
    delivery.conflict = !fingerprint.matches(claim.fingerprint);
    if (delivery.conflict) return keep(letter, { reason: 'conflict', result: 'duplicate' });
    // A crash or a late call may have left a letter of an event that was completed since.
    await letter?.removeCompleted(claim.fingerprint);
    return 'duplicate';
  }

  delivery.attempt = claim.attempt;
  const lease = new Lease(store, claim);
  if (work.refused) return completeRefused(claim, lease, store);
  if (unhandled) return keepAndRelease(claim, unhandled, store, letter);
  const refused = letter && (await enter(letter, claim, lease, store));
  if (refused) return refused;

  const run = new HandlerRun(matched, {
    delivery,
    attempt: claim,
    lease,
    serialValues,
    observer: c.observer,
  });
  try {
    await runHandlers(run, timeout, lease, async (timedOut) =>
      answerEarly(await keep(letter, failed(timedOut), claim.attempt)),
    );
  } finally {
    // After an unexpected error the claim is not released: handlers may have succeeded.
    lease.stop();
  }
  if (lease.lost || run.failures.length > 0) {
    const ending = lease.lost ? failed(new Rejection('CLAIM_LOST')) : endingOf(run, { ...work, claim });
    if (ending.reason !== 'rejected' || letter || work.queued)
      return keepAndRelease({ ...claim, finished: run.finished }, ending, store, letter);
    if (!claim.transactional) return completeRefused(claim, lease, store);
    // The rollback that undoes what the handlers wrote also ends the claim, so it takes another to complete the event.
    await store.release(claim, claim.finished);
    return runClaimed({ ...work, refused: true }, c, answerEarly);
  }

  const unremoved = await letter?.removeInCommit(claim);
  if (unremoved) return keepAndRelease(claim, failed(storeUnavailable(unremoved)), store, letter);
  const completed = await store.complete(claim, lease, () => letter?.removeCompleted(fingerprint.text));
  if (completed === false) return keepUnclaimed(claim, failed(new Rejection('CLAIM_LOST')), store, letter);
  // In lease mode 503 would guarantee a second run, and 200 only risks one. A transaction that may not have been
  // committed holds the handlers' own writes.
  if (claim.transactional && completed instanceof StoreFailure)
    return keepUnclaimed(claim, failed(storeUnavailable(completed)), store, letter);
  await letter?.removeAfter(claim);
  return matched.outcome;
}

/** With `store: false` nothing is claimed or remembered. */
async function runUnclaimed(
  given: DecodedDelivery,
  matched: MatchedHandlers,
  c: Rules,
  answerEarly: AnswerEarly,
): Promise<Result> {
  const { delivery } = given;
  const attempt = { attempt: delivery.attempt ?? 1, finished: [] };
  const run = new HandlerRun(matched, { delivery, attempt, observer: c.observer });
  await runHandlers(run, c.timeout, undefined, async (timedOut) => answerEarly(timedOut));
  return run.failures.length > 0 ? endingOf(run, given).result : matched.outcome;
}

/** Resolves when every handler has settled. */
async function runHandlers(
  run: HandlerRun,
  timeout: number,
  lease: Lease | undefined,
  onTimeout: (rejection: Rejection) => Promise<void>,
): Promise<void> {
  const { delivery } = run.input;
  delivery.calls = run.calls;
  run.start();
  // Handlers that wait for nothing have settled one microtask later. They need neither a timer nor a renewal.
  await undefined;
  if (run.hasSettled) return;
  lease?.start();
  if (await run.settlesWithin(timeout)) return;
  delivery.abort('HANDLER_TIMEOUT');
  const hint = `Not finished after ${timeout} ms: ${run.unsettled.join(', ')}.`;
  await onTimeout(new Rejection('HANDLER_TIMEOUT', { hint }));
  await run.settled;
}

/** Prepares the letter before any handler runs. @returns why none may run, once the claim is released */
async function enter(
  letter: DeliveryLetter,
  claim: GrantedClaim,
  lease: Lease,
  store: StoreCalls,
): Promise<Result | undefined> {
  const unready = await letter.enter(claim);
  if (!unready && !letter.gone && !lease.expired) return undefined;
  if (!(await store.release(claim, claim.finished))) await removeIfCompleted(claim, store, letter);
  if (unready) return storeUnavailable(unready);
  return letter.gone ? 'ignored' : new Rejection('CLAIM_LOST');
}

/** How an attempt ends when a handler did not succeed. */
function endingOf(
  run: HandlerRun,
  { letter, queued, claim }: Pick<DecodedDelivery, 'letter' | 'queued'> & { claim?: GrantedClaim },
): Ending {
  const verdict = verdictOf(run.failures);
  run.input.delivery.verdict = verdict;
  switch (verdict.verdict) {
    case 'later':
      return failed(new Rejection('RETRY_LATER', { retryAfterMs: verdict.delayMs }));
    case 'never':
      // `jobVerdict` makes of it a job that is not retried.
      if (queued) return { reason: 'rejected', result: handlersFailed(verdict.error) };
      if (letter) return { reason: 'rejected', result: 'kept' };
      // The rollback takes what the other handlers wrote too, so the event cannot count as done.
      if (!claim?.transactional || !run.calls.some(({ status }) => status === 'fulfilled'))
        return { reason: 'rejected', result: 'ignored' };
      run.input.delivery.verdict = { verdict: 'failed', error: verdict.error };
      return failed(handlersFailed(verdict.error));
    case 'failed':
      return failed(handlersFailed(verdict.error));
  }
}

/** Completes an event that its handlers refused and that is kept nowhere: a retry cannot help it. */
async function completeRefused(claim: GrantedClaim, lease: Lease, store: StoreCalls): Promise<Result> {
  const completed = await store.complete(claim, lease);
  return completed === false ? new Rejection('CLAIM_LOST') : 'ignored';
}

/** Ends an attempt that did not process the event, and still has its claim. */
async function keepAndRelease(
  claim: GrantedClaim,
  ending: Ending,
  store: StoreCalls,
  letter: DeliveryLetter | undefined,
): Promise<Result> {
  if (claim.transactional) {
    // It holds a connection, and the letter may need one of the same pool.
    await store.release(claim, claim.finished);
    return keepUnclaimed(claim, ending, store, letter);
  }
  const result = await keep(letter, ending, claim.attempt);
  if (!(await store.release(claim, claim.finished))) await removeIfCompleted(claim, store, letter);
  return result;
}

/** Keeps an event whose claim this delivery no longer has. */
async function keepUnclaimed(
  claim: GrantedClaim,
  ending: Ending,
  store: StoreCalls,
  letter: DeliveryLetter | undefined,
): Promise<Result> {
  const result = await keep(letter, ending, claim.attempt);
  await removeIfCompleted(claim, store, letter);
  return result;
}

/**
 * Another delivery may have completed the event before it was kept, and found no letter to remove. One that completes it from
 * now on finds the letter.
 */
async function removeIfCompleted(
  claim: GrantedClaim,
  store: StoreCalls,
  letter: DeliveryLetter | undefined,
): Promise<void> {
  if (letter?.reason === undefined) return;
  const completed = await store.completedWith(claim);
  if (completed !== undefined) await letter.removeCompleted(completed);
}

/** Keeps the event before its delivery is answered: if that fails, only the sender has it. */
async function keep(letter: DeliveryLetter | undefined, ending: Ending, attempt?: number): Promise<Result> {
  const unkept = await letter?.keep({ ...ending, attempt });
  return unkept ? storeUnavailable(unkept) : ending.result;
}

function failed(rejection: Rejection): Ending {
  return { reason: 'failed', rejection, result: rejection };
}

/** How an event without a handler ends once it is kept; undefined if it is not kept. */
function withoutHandler({ status, rejection }: Decoded): Ending | undefined {
  switch (status) {
    case 'unknown':
      return { reason: 'unknown', result: 'kept' };
    case 'invalid':
    case 'drifted':
      return { reason: 'invalid', rejection, result: 'kept' };
    case 'undecided':
      return rejection && { reason: 'failed', rejection, result: rejection };
    default:
      return undefined;
  }
}
