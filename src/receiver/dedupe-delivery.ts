// Station 4: event -> first time? A bracket around the work: claim; then complete, or release when it fails.
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Deadlines } from '../deadlines.js';
import type { Delivery, Result } from '../delivery.js';
import { Fault } from '../errors.js';
import type { Envelope } from '../events/envelope.js';
import { Lease } from '../lease.js';
import { describeError, writeLog } from '../logger.js';
import type { Configuration } from '../options.js';
import { ask, Unanswered } from '../stores/ask.js';
import type { Claim, ClaimResult, IdempotencyStore } from '../stores/store.js';

type Bracket = Pick<Configuration, 'store' | 'namespace' | 'lease' | 'maxHandlerTime' | 'deadlines'>;
type AnyClaim = Claim<object>;

/** What an attempt is when nothing is remembered. */
const UNREMEMBERED = { attempt: 1, finished: [] } as const;
const RETRY_AFTER_MS = 5_000;
const TRIES = 3;
const PAUSE_MS = 100;

/**
 * Does the work if this delivery is the one to do it.
 *
 * @param work rejects when the delivery must be made again; only then is the claim released
 */
export async function dedupeDelivery(
  delivery: Delivery,
  c: Bracket,
  work: (attempt: Pick<AnyClaim, 'attempt' | 'finished' | 'context'>) => Promise<void>,
): Promise<Result> {
  if (!c.store) return work(UNREMEMBERED).then(() => 'processed' as const, failed);
  const claim = await claimEvent(delivery, c, c.store);
  if (typeof claim === 'string' || claim instanceof Fault) return claim;
  delivery.attempt = claim.attempt;
  delivery.finished.push(...claim.finished);
  const lease = new Lease(delivery, claim, c);
  try {
    await work(claim);
  } catch (cause) {
    lease.stop();
    await release(claim, delivery, c.deadlines.store);
    return lease.lost ? lost() : failed(cause);
  }
  lease.stop();
  if (!lease.lost) return complete(claim, lease, { delivery, deadlines: c.deadlines });
  await release(claim, delivery, c.deadlines.store);
  return lost();
}

/** The claim, or the result of a delivery that is not to be worked on now. */
async function claimEvent(
  delivery: Delivery,
  c: Bracket,
  store: IdempotencyStore<object>,
): Promise<AnyClaim | Result> {
  const fingerprint = hash('sha256', delivery.rawBody, 'hex');
  const request = { leaseMs: c.lease, fingerprint };
  const askedAt = performance.now();
  const answer = await ask(
    c.deadlines.store,
    () => store.claim(keyOf(c.namespace, delivery.event), request),
    releaseLate,
  );
  delivery.storeMs = performance.now() - askedAt;
  if (isClaimed(answer)) return answer.claim;
  if (answer instanceof Unanswered) return unavailable(delivery, answer);
  if (answer?.status === 'in_progress')
    return new Fault('IN_PROGRESS', { retryAfterMs: answer.retryAfterMs });
  if (answer?.status !== 'completed')
    return unavailable(delivery, new Unanswered('The answer of the store to a claim is none.'));
  if (answer.fingerprint !== fingerprint) {
    delivery.conflict = true;
    writeLog(
      delivery.log,
      'error',
      {},
      'an event that was completed came again with other bytes; it was not run again',
    );
  }
  return 'duplicate';
}

/** Namespace and mode have no colon in them, so no two of these tuples make one key. */
function keyOf(namespace: string, event: Envelope | undefined): string {
  return `${namespace}:${event?.sandbox ? 'sandbox' : 'live'}:${event?.id}`;
}

function isClaimed(
  answer: ClaimResult<object> | Unanswered,
): answer is Extract<ClaimResult<object>, { claim: unknown }> {
  if (answer instanceof Unanswered || answer?.status !== 'claimed') return false;
  const { claim } = answer;
  return (
    Array.isArray(claim?.finished) &&
    Number.isSafeInteger(claim.attempt) &&
    [claim.renew, claim.complete, claim.release].every((verb) => typeof verb === 'function')
  );
}

/** Nobody works under a claim that was granted too late, so the next delivery need not wait for its lease. */
async function releaseLate(answer: ClaimResult<object>): Promise<void> {
  try {
    if (isClaimed(answer)) await answer.claim.release(answer.claim.finished);
  } catch {
    // Its lease will lapse.
  }
}

/** If the store cannot be asked the lease lapses by itself. */
async function release(claim: AnyClaim, delivery: Delivery, deadlines: Deadlines): Promise<void> {
  const answer = await ask(deadlines, () => claim.release(delivery.finished));
  if (!(answer instanceof Unanswered)) return;
  writeLog(
    delivery.log,
    'error',
    { error: describeError(answer.cause) },
    `claim not released: ${answer.message} Its lease will lapse.`,
  );
}

/**
 * The handlers have succeeded. In lease mode a store that cannot be told so is no reason to refuse: a 503 would
 * guarantee a second run, a 200 only risks one. In transactional mode the handlers' writes are in this commit.
 */
async function complete(
  claim: AnyClaim,
  lease: Lease,
  { delivery, deadlines }: { delivery: Delivery; deadlines: Configuration['deadlines'] },
): Promise<Result> {
  const tries = claim.transactional ? 1 : TRIES;
  const patience = claim.transactional ? deadlines.store : deadlines.complete;
  for (let attempt = 1; ; attempt += 1) {
    const askedAt = performance.now();
    const answer = await ask(patience, () => claim.complete());
    delivery.storeMs = (delivery.storeMs ?? 0) + performance.now() - askedAt;
    if (answer === true) return 'processed';
    if (answer === false) return lost();
    const unanswered =
      answer instanceof Unanswered ? answer : new Unanswered('The answer of the store to complete is none.');
    if (attempt < tries && !lease.lapsed) {
      await pause(PAUSE_MS);
      continue;
    }
    if (claim.transactional) return unavailable(delivery, unanswered);
    writeLog(
      delivery.log,
      'error',
      { error: describeError(unanswered.cause) },
      `processed, but not remembered: ${unanswered.message}`,
    );
    return 'processed';
  }
}

function failed(cause: unknown): Fault {
  return cause instanceof Fault ? cause : new Fault('HANDLER_FAILED', { cause });
}

function lost(): Fault {
  return new Fault('CLAIM_LOST', { retryAfterMs: RETRY_AFTER_MS });
}

function unavailable(delivery: Delivery, { message, cause }: Unanswered): Fault {
  writeLog(delivery.log, 'error', { error: describeError(cause) }, `the store did not answer: ${message}`);
  return new Fault('STORE_UNAVAILABLE', { hint: message, retryAfterMs: RETRY_AFTER_MS, cause });
}
