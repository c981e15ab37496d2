// Station 4: event -> claimed, handled and completed; or kept as a dead letter and released.

import type { GrantedClaim } from '../claims/claim-reply.js';
import { Lease } from '../claims/lease.js';
import { StoreCalls } from '../claims/store-calls.js';
import { StoreFailure } from '../claims/timed-calls.js';
import { type IdempotencyStore, keyOf } from '../contracts/idempotency-store.js';
import type { Delivery, DeliveryLetter, Result, Unprocessed } from '../deliveries/delivery.js';
import { type Verdict, verdictOf } from '../deliveries/verdict.js';
import { handlersFailed, Rejection, storeUnavailable } from '../errors.js';
import type { Decoded } from '../events/envelope.js';
import { HandlerRun } from '../handlers/handler-run.js';
import type { MatchedHandlers, SerialValues } from '../handlers/handlers.js';
import { SerialLocks, serialValuesOf } from '../handlers/serial-locks.js';
import { causeOf, causeText } from '../logger.js';
import type { DeadLetterReason } from '../observer.js';
import type { Configuration } from '../options/options.js';

type Rules = Pick<
  Configuration,
  'handlers' | 'store' | 'namespace' | 'observer' | 'timeout' | 'lease' | 'maxHandlerTime' | 'storeTimeout'
>;

type RulesWithStore = Rules & { readonly store: IdempotencyStore<object> };

/** Answers the sender while the handlers go on. */
export type AnswerEarly = (result: Result) => void;

/** The claim that a delivery holds, and what it takes to end it. */
interface HeldClaim {
  readonly delivery: Delivery;
  readonly claim: GrantedClaim;
  readonly lease: Lease;
  readonly store: StoreCalls;
}

/** How an attempt that did not process the event ends. */
interface Ending extends Unprocessed {
  /** The answer, once the event is kept. */
  readonly result: Result;
}

/**
 * Runs the handlers of an event, if this delivery is the one to do it.
 *
 * @param delivery is decoded
 * @param answerEarly called at most once, if the handlers outlast `timeout`
 * @returns the result when the claim has ended, however long the handlers took
 */
export function processEvent(delivery: Delivery, config: Rules, answerEarly: AnswerEarly): Promise<Result> {
  const { decoded } = delivery;
  // Must not look like an event without handlers, which is answered 200.
  if (!decoded) throw new TypeError('The delivery is not decoded.');
  const matched = config.handlers.match(decoded);
  if (matched.handlers.length === 0)
    return keepWithoutRunning(delivery, config, withoutHandler(decoded), decoded.rejection ?? 'ignored');
  if (!hasStore(config)) return runWithoutStore(delivery, config, matched, answerEarly);
  const values = serialValuesOf(matched, delivery);
  if (values && 'rejection' in values)
    return keepWithoutRunning(delivery, config, { ...values, result: values.rejection }, values.rejection);
  if (values) return underLocks(delivery, config, { ...matched, serialValues: values }, answerEarly);
  return underClaim(delivery, config, (held) => runHandlers(held, matched, config, answerEarly));
}

function hasStore(config: Rules): config is RulesWithStore {
  return config.store !== undefined;
}

/** No handler can run, so the event is kept under its claim. Where nothing is kept, `otherwise` is the answer. */
async function keepWithoutRunning(
  delivery: Delivery,
  config: Rules,
  ending: Ending | undefined,
  otherwise: Result,
): Promise<Result> {
  if (!ending || !delivery.letter || !hasStore(config)) return otherwise;
  return underClaim(delivery, config, (held) => keepAndRelease(held, ending));
}

/** With `store: false` nothing is claimed or remembered. */
async function runWithoutStore(
  delivery: Delivery,
  { observer, timeout }: Rules,
  matched: MatchedHandlers,
  answerEarly: AnswerEarly,
): Promise<Result> {
  const claim = { attempt: delivery.attempt ?? 1, finished: [], forHandler: undefined };
  const run = new HandlerRun(matched, { delivery, claim, observer });
  await runToEnd(run, timeout, answerEarly);
  return run.errors.length > 0 ? endingOf(run).result : matched.outcome;
}

/** Locks the serial values around the claim: deliveries with an equal value run one after another. */
async function underLocks(
  delivery: Delivery,
  config: RulesWithStore,
  matched: MatchedHandlers & { readonly serialValues: SerialValues },
  answerEarly: AnswerEarly,
): Promise<Result> {
  const deadline = performance.now() + config.timeout;
  const locks = new SerialLocks(config.store, delivery, config);
  try {
    const notLocked = await locks.acquire(matched.serialValues, deadline);
    if (notLocked) return await keepWithoutRunning(delivery, config, keptAs('failed', notLocked), notLocked);
    // Handlers get the rest of `timeout`. It is read before the claim, because a slow claim is not their fault.
    const timeout = Math.max(Math.ceil(deadline - performance.now()), 1);
    const answer = (early: Result) => {
      locks.endTurnsAfter(config.maxHandlerTime);
      answerEarly(early);
    };
    return await underClaim(delivery, config, (held) =>
      runHandlers(held, matched, { ...config, timeout }, answer),
    );
  } finally {
    // Locks are released after the claim, so every return above needs its `await`.
    await locks.release();
  }
}

/** Claims the event for the work, which ends the claim. A duplicate, an event in progress or a store that is down is answered here. */
async function underClaim(
  delivery: Delivery,
  config: RulesWithStore,
  work: (held: HeldClaim) => Promise<Result>,
): Promise<Result> {
  const { fingerprint } = delivery;
  const store = new StoreCalls(config.store, delivery, config);
  delivery.store = store;

  const claim = await store.claim(keyOf(config.namespace, delivery.event), fingerprint.text);
  if (claim instanceof StoreFailure) return storeUnavailable(claim);
  if (claim.status === 'in_progress') {
    return new Rejection('IN_PROGRESS', { retryAfterMs: claim.retryAfterMs });
  }
  if (claim.status === 'completed') {
    delivery.conflict = !fingerprint.matches(claim.fingerprint);
    if (delivery.conflict) return keep(delivery, keptAs('conflict', 'duplicate'));
    // A crash, or a call that reached the store late, may have left a letter behind.
    await delivery.letter?.removeCompleted(claim.fingerprint);
    return 'duplicate';
  }

  delivery.attempt = claim.attempt;
  return work({ delivery, claim, lease: new Lease(store, claim), store });
}

/** Runs the handlers. The event is completed if every one succeeded, else kept and released. */
async function runHandlers(
  held: HeldClaim,
  matched: MatchedHandlers,
  { observer, timeout }: Rules,
  answerEarly: AnswerEarly,
): Promise<Result> {
  const { delivery, claim, lease, store } = held;
  const { letter } = delivery;
  const notPrepared = letter && (await prepare(letter, held));
  if (notPrepared) return notPrepared;

  const run = new HandlerRun(matched, { delivery, claim, lease, observer });
  try {
    await runToEnd(run, timeout, answerEarly);
  } finally {
    // After an unexpected error the claim is left to lapse: handlers may have succeeded.
    lease.stop();
  }
  if (lease.lost)
    return keepAndRelease(held, keptAs('failed', new Rejection('CLAIM_LOST')), run.completedHandlers);
  const unprocessed = run.errors.length > 0 ? endingOf(run) : undefined;
  // An event that its handlers refuse and that is kept nowhere is completed: a retry cannot help it.
  if (unprocessed && unprocessed.result !== 'ignored')
    return keepAndRelease(held, unprocessed, run.completedHandlers);

  // Set by a handler whose writes an earlier attempt committed, for other bytes. The letter stays, for a person to compare them.
  const { conflict } = delivery;
  const notKept = conflict && (await letter?.keep({ reason: 'conflict' }));
  if (notKept)
    return keepAndRelease(held, keptAs('conflict', storeUnavailable(notKept)), run.completedHandlers);

  const completed = await store.complete(
    claim,
    lease,
    () => conflict || letter?.removeCompleted(claim.fingerprint),
  );
  if (completed === false) return keepWithoutRelease(held, keptAs('failed', new Rejection('CLAIM_LOST')));
  if (typeof completed === 'object' && 'uncommitted' in completed) {
    run.failUncommitted(completed.uncommitted);
    return keepAndRelease(held, endingOf(run), run.completedHandlers);
  }
  // The store did not confirm. Nobody knows whether the writes of once() are committed, but a retry does not repeat them. Without
  // once() a retry runs the handlers again: a 503 would ask for one, so the event counts as processed.
  if (completed instanceof StoreFailure && run.wrote)
    return keepWithoutRelease(held, keptAs('failed', storeUnavailable(completed)));
  if (letter && !conflict) await letter.removeProcessed();
  return unprocessed?.result ?? matched.outcome;
}

/** Ends when every handler has settled. If they outlast `timeout`, the sender is answered and their signal aborts, but they go on. */
async function runToEnd(run: HandlerRun, timeout: number, answerEarly: AnswerEarly): Promise<void> {
  const { delivery, lease } = run.input;
  delivery.calls = run.calls;
  run.start();
  // Handlers that wait for nothing have settled one microtask later. They need neither a timer nor a renewal.
  await undefined;
  if (run.hasSettled) return;
  lease?.start();
  if (await run.settlesWithin(timeout)) return;
  delivery.abort('HANDLER_TIMEOUT');
  const hint = `Not finished after ${timeout} ms: ${run.unsettled.join(', ')}.`;
  const cause = causeText(run.unsettled[0] ?? '', 'HANDLER_TIMEOUT');
  answerEarly(
    await keep(delivery, { ...keptAs('failed', new Rejection('HANDLER_TIMEOUT', { hint })), cause }),
  );
  await run.settled;
}

/** Prepares the letter before any handler runs. @returns the result if none may run: then the claim is released */
async function prepare(letter: DeliveryLetter, held: HeldClaim): Promise<Result | undefined> {
  const { claim, lease, store } = held;
  const failure = await letter.prepare();
  if (!failure && !letter.gone && !lease.expired) return undefined;
  if (!(await store.release(claim, claim.finished))) await removeIfCompleted(held);
  if (failure) return storeUnavailable(failure);
  return letter.gone ? 'ignored' : new Rejection('CLAIM_LOST');
}

/** Ends an attempt that did not process the event. Another delivery may have taken its claim just before. */
async function keepAndRelease(
  held: HeldClaim,
  ending: Ending,
  completedHandlers = held.claim.finished,
): Promise<Result> {
  const { delivery, claim, store } = held;
  const result = await keep(delivery, ending);
  if (!(await store.release(claim, completedHandlers))) await removeIfCompleted(held);
  return result;
}

/** Keeps an event whose claim is lost, or may be completed: releasing it could run the handlers again. */
async function keepWithoutRelease(held: HeldClaim, ending: Ending): Promise<Result> {
  const result = await keep(held.delivery, ending);
  await removeIfCompleted(held);
  return result;
}

/**
 * Removes the letter if another delivery has completed the event. It found no letter to remove if it
 * ended before this one kept the event. One that completes the event from now on finds the letter.
 */
async function removeIfCompleted({ delivery: { letter }, claim, store }: HeldClaim): Promise<void> {
  if (letter?.reason === undefined) return;
  const completed = await store.completedWith(claim);
  if (completed !== undefined) await letter.removeCompleted(completed);
}

/** Keeps the event before its delivery is answered: if that fails, only the sender has it. */
async function keep({ letter }: Delivery, ending: Ending): Promise<Result> {
  const notKept = await letter?.keep(ending);
  return notKept ? storeUnavailable(notKept) : ending.result;
}

/** @param rejection what the letter records, if it is not the answer */
function keptAs(
  reason: DeadLetterReason,
  result: Result,
  rejection = result instanceof Rejection ? result : undefined,
): Ending {
  return { reason, rejection, result };
}

/** How an attempt ends when a handler did not succeed. */
function endingOf({ input: { delivery }, errors, calls }: HandlerRun): Ending {
  const verdict = verdictOf(errors);
  delivery.verdict = verdict;
  // Of the first handler, not of the one that failed first: two that fail together always have the same cause.
  const cause = calls.find(({ objection }) => objection === verdict.verdict)?.cause;
  return { ...endingBy(verdict, delivery), cause };
}

function endingBy(verdict: Verdict, { letter, queued }: Delivery): Ending {
  switch (verdict.verdict) {
    case 'later':
      return keptAs('failed', new Rejection('RETRY_LATER', { retryAfterMs: verdict.delayMs }));
    case 'never':
      // `jobVerdict()` fails such a job permanently.
      return keptAs('rejected', queued ? handlersFailed(verdict.error) : letter ? 'kept' : 'ignored');
    case 'failed':
      return keptAs('failed', handlersFailed(verdict.error));
  }
}

function schemaCause({ code, cause }: Rejection): string {
  return cause === undefined ? causeText('schema', code) : causeOf('schema', cause);
}

/** How an event without a handler ends once it is kept; undefined if it is not kept. */
function withoutHandler({ status, rejection }: Decoded): Ending | undefined {
  switch (status) {
    case 'unknown':
      return keptAs('unknown', 'kept');
    case 'invalid':
    case 'drifted':
      return keptAs('invalid', 'kept', rejection);
    case 'undecided':
      return rejection && { ...keptAs('failed', rejection), cause: schemaCause(rejection) };
    default:
      return undefined;
  }
}
