// Station 4: event -> claimed, handled and completed; or kept as a dead letter and released.

import type { GrantedClaim } from '../claims/claim-answer.js';
import { Lease } from '../claims/lease.js';
import { StoreCalls } from '../claims/store-calls.js';
import { StoreFailure } from '../claims/timed-calls.js';
import { type IdempotencyStore, keyOf } from '../contracts/idempotency-store.js';
import type { Delivery, Result } from '../deliveries/delivery.js';
import { verdictOf } from '../deliveries/verdict.js';
import { handlersFailed, Rejection, storeUnavailable } from '../errors.js';
import type { Decoded } from '../events/envelope.js';
import { HandlerRun } from '../handlers/handler-run.js';
import type { MatchedHandlers } from '../handlers/handlers.js';
import { SerialLocks, type SerialValues, serialValuesOf } from '../handlers/serial-locks.js';
import type { DeadLetterReason } from '../observer.js';
import type { Configuration } from '../options/options.js';

type Rules = Pick<
  Configuration,
  'handlers' | 'store' | 'namespace' | 'observer' | 'timeout' | 'lease' | 'maxHandlerTime' | 'storeTimeout'
>;

/** A decoded event, and the delivery that brought it. */
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

/** What to do under the claim. */
interface ClaimedWork extends Pick<DecodedDelivery, 'delivery' | 'letter' | 'queued'> {
  readonly store: IdempotencyStore<object>;
  readonly matched: MatchedHandlers;
  readonly serialValues?: SerialValues | undefined;
  /** Milliseconds that the handlers may take before the sender is answered. */
  readonly timeout: number;
  /** Set if no handler can run: the event is kept under its claim. */
  readonly unhandled?: Ending | undefined;
}

/** The claim that this delivery holds, and what it takes to end it. */
interface HeldClaim {
  readonly claim: GrantedClaim;
  readonly lease: Lease;
  readonly store: StoreCalls;
  readonly letter: DeliveryLetter | undefined;
}

/** How an attempt that did not process the event ends. */
interface Ending extends Unprocessed {
  /** The answer, once the event is kept. */
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
      // No handler runs, so unless the event is kept, only the sender has it.
      return letter
        ? await runClaimed({ ...work, unhandled: failed(serialValues) }, c, answerEarly)
        : serialValues;
    }
    // Handlers get the rest of `timeout`. It is read before the claim, because a slow claim is not their fault.
    const timeLeft = Math.max(Math.ceil(deadline - performance.now()), 1);
    return await runClaimed({ ...work, serialValues, timeout: timeLeft }, c, (early) => {
      locks.endTurnsAfter(c.maxHandlerTime);
      answerEarly(early);
    });
  } finally {
    // Locks are released after the claim, so every return above needs its `await`.
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
  const held: HeldClaim = { claim, lease, store, letter };
  if (unhandled) return keepAndRelease(held, unhandled);
  const refusal = letter && (await prepare(letter, held));
  if (refusal) return refusal;

  const { observer } = c;
  const run = new HandlerRun(matched, { delivery, attempt: claim, lease, serialValues, observer });
  try {
    const timedOut = await runHandlers(run, timeout, lease);
    if (timedOut) {
      answerEarly(await keep(letter, failed(timedOut), claim.attempt));
      await run.settled;
    }
  } finally {
    // After an unexpected error the claim is left to lapse: handlers may have succeeded.
    lease.stop();
  }
  if (lease.lost) return keepAndRelease(held, failed(new Rejection('CLAIM_LOST')), run.finished);
  const ending = run.failures.length > 0 ? endingOf(run, work) : undefined;
  // An event that its handlers refuse and that is kept nowhere is completed: a retry cannot help it.
  if (ending && ending.result !== 'ignored') return keepAndRelease(held, ending, run.finished);

  // A handler found its writes committed by an attempt with other bytes. Its letter stays, for a person to compare them.
  const { conflict } = delivery;
  const unkept = conflict && (await letter?.keep({ reason: 'conflict', attempt: claim.attempt }));
  if (unkept) return keepAndRelease(held, failed(storeUnavailable(unkept)), run.finished);

  const completed = await store.complete(
    claim,
    lease,
    () => conflict || letter?.removeCompleted(fingerprint.text),
  );
  if (completed === false) return keepUnclaimed(held, failed(new Rejection('CLAIM_LOST')));
  if (typeof completed === 'object' && 'uncommitted' in completed) {
    run.failUncommitted(completed.uncommitted);
    return keepAndRelease(held, endingOf(run, work), run.finished);
  }
  // Nobody knows whether the writes of once() are committed, and a retry does not repeat them. Without once(), a 503 makes the
  // service send the event again for certain; after a 200 it runs again only if the service retries anyway.
  if (completed instanceof StoreFailure && run.wrote)
    return keepUnclaimed(held, failed(storeUnavailable(completed)));
  if (letter && !conflict) await letter.removeAfter(claim);
  return ending?.result ?? matched.outcome;
}

/** With `store: false` nothing is claimed or remembered. */
async function runUnclaimed(
  given: DecodedDelivery,
  matched: MatchedHandlers,
  c: Rules,
  answerEarly: AnswerEarly,
): Promise<Result> {
  const { delivery } = given;
  const attempt = { attempt: delivery.attempt ?? 1, finished: [], forHandler: undefined };
  const run = new HandlerRun(matched, { delivery, attempt, observer: c.observer });
  const timedOut = await runHandlers(run, c.timeout);
  if (timedOut) {
    answerEarly(timedOut);
    await run.settled;
  }
  return run.failures.length > 0 ? endingOf(run, given).result : matched.outcome;
}

/** Starts the handlers. @returns a rejection if they outlast `timeout`: they go on, and their signal aborts */
async function runHandlers(run: HandlerRun, timeout: number, lease?: Lease): Promise<Rejection | undefined> {
  const { delivery } = run.input;
  delivery.calls = run.calls;
  run.start();
  // Handlers that wait for nothing have settled one microtask later. They need neither a timer nor a renewal.
  await undefined;
  if (run.hasSettled) return undefined;
  lease?.start();
  if (await run.settlesWithin(timeout)) return undefined;
  delivery.abort('HANDLER_TIMEOUT');
  const hint = `Not finished after ${timeout} ms: ${run.unsettled.join(', ')}.`;
  return new Rejection('HANDLER_TIMEOUT', { hint });
}

/** Prepares the letter before any handler runs. @returns the result if none may run: then the claim is released */
async function prepare(letter: DeliveryLetter, held: HeldClaim): Promise<Result | undefined> {
  const { claim, lease, store } = held;
  const failure = await letter.prepare(claim);
  if (!failure && !letter.gone && !lease.expired) return undefined;
  if (!(await store.release(claim, claim.finished))) await removeIfCompleted(held);
  if (failure) return storeUnavailable(failure);
  return letter.gone ? 'ignored' : new Rejection('CLAIM_LOST');
}

/** How an attempt ends when a handler did not succeed. */
function endingOf(
  { failures, input: { delivery } }: HandlerRun,
  { letter, queued }: Pick<DecodedDelivery, 'letter' | 'queued'>,
): Ending {
  const verdict = verdictOf(failures);
  delivery.verdict = verdict;
  switch (verdict.verdict) {
    case 'later':
      return failed(new Rejection('RETRY_LATER', { retryAfterMs: verdict.delayMs }));
    case 'never':
      // `jobVerdict()` fails such a job permanently.
      if (queued) return { reason: 'rejected', result: handlersFailed(verdict.error) };
      return { reason: 'rejected', result: letter ? 'kept' : 'ignored' };
    case 'failed':
      return failed(handlersFailed(verdict.error));
  }
}

/** Ends an attempt that did not process the event. Its claim may just have been lost. */
async function keepAndRelease(
  held: HeldClaim,
  ending: Ending,
  finished = held.claim.finished,
): Promise<Result> {
  const { claim, store, letter } = held;
  const result = await keep(letter, ending, claim.attempt);
  if (!(await store.release(claim, finished))) await removeIfCompleted(held);
  return result;
}

/** Keeps an event whose claim this delivery no longer has. */
async function keepUnclaimed(held: HeldClaim, ending: Ending): Promise<Result> {
  const result = await keep(held.letter, ending, held.claim.attempt);
  await removeIfCompleted(held);
  return result;
}

/**
 * Another delivery may have completed the event before it was kept, and found no letter to remove. One that completes it from
 * now on finds the letter.
 */
async function removeIfCompleted({ store, letter }: HeldClaim): Promise<void> {
  if (letter?.reason === undefined) return;
  const completed = await store.completedWith();
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

/** Why an attempt did not process the event. */
export interface Unprocessed {
  readonly reason: DeadLetterReason;
  readonly rejection?: Rejection | undefined;
  /** The number of the claim; undefined if the event was not claimed. */
  readonly attempt?: number | undefined;
}

/** The dead letter of one delivery, while its event is being processed. No method rejects. */
export interface DeliveryLetter {
  /** Why the event is kept; undefined if it is not, as far as this delivery knows. */
  readonly reason: DeadLetterReason | undefined;
  /** The letter was processed or discarded while it was being replayed. */
  readonly gone: boolean;
  /** Called under the claim before any handler runs: the journal keeps the event, and a replay checks whether its letter is gone. */
  prepare(claim: GrantedClaim): Promise<StoreFailure | undefined>;
  /** @returns a failure if the event is not kept, so that only its sender has it */
  keep(unprocessed: Unprocessed): Promise<StoreFailure | undefined>;
  /** Called when the event is processed. */
  removeAfter(claim: GrantedClaim): Promise<void>;
  /** Called when another delivery has processed the event. @param completed the fingerprint of the bytes it processed */
  removeCompleted(completed: string): Promise<void>;
}
