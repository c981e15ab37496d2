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
  /** A job of a queue: if it fails, the queue still has it, so an event that handlers refuse is not lost. */
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
  /** Second pass for an event that its handlers refused: the first was rolled back, and this one only completes the claim. */
  readonly refused?: boolean | undefined;
}

/** How an attempt that did not process the event ends. */
interface Ending extends Unprocessed {
  /** What is answered once the event is kept. */
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
  if (matched.handlers.length === 0) {
    const unhandled = letter && withoutHandler(decoded);
    if (!unhandled || !store) return decoded.rejection ?? 'ignored';
    return runClaimed({ delivery, letter, store, matched, timeout, unhandled }, c, answerEarly);
  }
  if (!store) return runUnclaimed(given, matched, c, answerEarly);

  const work: ClaimedWork = { delivery, letter, queued, store, matched, timeout };
  const values = serialValuesOf(matched, delivery);
  if (!values) return runClaimed(work, c, answerEarly);

  const deadline = performance.now() + timeout;
  const locks = new SerialLocks(store, delivery, c);
  try {
    const serialValues = values instanceof Rejection ? values : await locks.acquire(values, deadline);
    if (serialValues instanceof Rejection) {
      // No handler runs. Only the sender has the event then, unless it is kept.
      return letter
        ? await runClaimed({ ...work, unhandled: failed(serialValues) }, c, answerEarly)
        : serialValues;
    }
    // Handlers get what the locks have left of `timeout`. It is read before the claim, since a slow claim is not their fault.
    const timeLeft = Math.max(Math.ceil(deadline - performance.now()), 1);
    return await runClaimed({ ...work, serialValues, timeout: timeLeft }, c, (early) => {
      locks.leaveQueuesAfter(c.maxHandlerTime);
      answerEarly(early);
    });
  } finally {
    // The locks go after the claim, so keep the `await` in every return above.
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
    // A crash, or a call that reached the store late, may have left a letter behind.
    await letter?.removeCompleted(claim.fingerprint);
    return 'duplicate';
  }

  delivery.attempt = claim.attempt;
  const lease = new Lease(store, claim.claim);
  if (work.refused) return completeRefused(claim, lease, store);
  if (unhandled) return keepAndRelease(claim, unhandled, store, letter);
  const barred = letter && (await enter(letter, claim, lease, store));
  if (barred) return barred;

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
    // After an unexpected error the claim is left to lapse: handlers may have succeeded.
    lease.stop();
  }
  if (lease.lost || run.failures.length > 0) {
    const ending = lease.lost ? failed(new Rejection('CLAIM_LOST')) : endingOf(run, { ...work, claim });
    if (ending.result !== 'ignored')
      return keepAndRelease({ ...claim, finished: run.finished }, ending, store, letter);
    if (!claim.transactional) return completeRefused(claim, lease, store);
    // The rollback undoes the claim too, so the event is claimed again, only to complete it.
    await store.release(claim, claim.finished);
    return runClaimed({ ...work, refused: true }, c, answerEarly);
  }

  const unremoved = await letter?.removeInCommit(claim);
  if (unremoved) return keepAndRelease(claim, failed(storeUnavailable(unremoved)), store, letter);
  const completed = await store.complete(claim, lease, () => letter?.removeCompleted(fingerprint.text));
  if (completed === false) return keepUnclaimed(claim, failed(new Rejection('CLAIM_LOST')), store, letter);
  // Without a transaction 503 would surely run the event again, and 200 only may. With one, what the handlers wrote may
  // not be committed.
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

/** Prepares the letter before any handler runs. @returns the answer if none may run: the claim is released by then */
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
      // `jobVerdict()` fails such a job for good.
      if (queued) return { reason: 'rejected', result: handlersFailed(verdict.error) };
      if (letter) return { reason: 'rejected', result: 'kept' };
      // The rollback would also undo the handlers that succeeded, so this is a failure.
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

/** Ends an attempt that did not process the event. Its claim may just have been lost. */
async function keepAndRelease(
  claim: GrantedClaim,
  ending: Ending,
  store: StoreCalls,
  letter: DeliveryLetter | undefined,
): Promise<Result> {
  if (claim.transactional) {
    // First, because the transaction holds a connection, and keeping the letter may need another of the same pool.
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
