// Station 4: event -> first time? A bracket around the work: claim; then complete, or release when it fails.
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Deadlines } from '../deadlines.js';
import type { Delivery, Result } from '../delivery.js';
import { Fault } from '../errors.js';
import type { Envelope } from '../events/envelope.js';
import type { Attempt } from '../handler-context.js';
import { Lease } from '../lease.js';
import { describeError, writeLog } from '../logger.js';
import type { Outcome } from '../observer.js';
import type { Configuration } from '../options.js';
import { ask, Unanswered } from '../stores/ask.js';
import type { Claim, ClaimResult, IdempotencyStore } from '../stores/store.js';

type Bracket = Pick<Configuration, 'store' | 'namespace' | 'lease' | 'maxHandlerTime' | 'deadlines'>;
type AnyClaim = Claim<object>;

interface Work {
  /** Rejects when the delivery must be made again; only then is the claim released. */
  readonly run: (attempt: Attempt) => Promise<void>;
  /** What it comes to when it resolves. */
  readonly outcome: Outcome;
}

/** What an attempt is when nothing is remembered. */
const UNREMEMBERED = { attempt: 1, finished: [] } as const;
const RETRY_AFTER_MS = 5_000;
const TRIES = 3;
const PAUSE_MS = 100;

/** Does the work if this delivery is the one to do it. */
export async function dedupeDelivery(delivery: Delivery, c: Bracket, work: Work): Promise<Result> {
  if (!c.store) return work.run(UNREMEMBERED).then(() => work.outcome, failed);
  const claim = await claimEvent(delivery, c, c.store);
  if (typeof claim === 'string' || claim instanceof Fault) return claim;
  delivery.attempt = claim.attempt;
  delivery.finished.push(...claim.finished);
  const lease = new Lease(delivery, claim, c);
  try {
    await work.run(claim);
  } catch (cause) {
    lease.stop();
    await release(claim, delivery, c.deadlines.store);
    return lease.lost ? lost() : failed(cause);
  }
  lease.stop();
  if (!lease.lost)
    return (await complete(claim, lease, { delivery, deadlines: c.deadlines })) ?? work.outcome;
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
  const key = keyOf(c.namespace, delivery.event);
  const question = () => store.claim(key, { leaseMs: c.lease, fingerprint });
  // Nobody works under a claim that was granted too late, so the next delivery need not wait for its lease.
  const releaseLate = (late: ClaimResult<object>) => {
    const understood = understand(late);
    if ('claim' in understood)
      void ask(c.deadlines.store, () => understood.claim.release(understood.claim.finished));
  };
  const askedAt = performance.now();
  const answer = understand(await ask(c.deadlines.store, question, releaseLate));
  delivery.waitedForStore(askedAt);
  if (answer instanceof Unanswered) return unavailable(delivery, answer);
  if (answer.status === 'claimed') return answer.claim;
  if (answer.status === 'in_progress') return new Fault('IN_PROGRESS', { retryAfterMs: answer.retryAfterMs });
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

/** A store is somebody else's code: what it says is checked like what a sender says. */
function understand(answer: ClaimResult<object> | Unanswered | undefined): ClaimResult<object> | Unanswered {
  try {
    if (answer instanceof Unanswered) return answer;
    if (answer?.status === 'claimed' && isClaim(answer.claim)) return answer;
    if (answer?.status === 'completed') return answer;
    if (answer?.status === 'in_progress') {
      const { status, retryAfterMs } = answer;
      return { status, retryAfterMs: Number.isFinite(retryAfterMs) ? retryAfterMs : RETRY_AFTER_MS };
    }
    return new Unanswered('What it answered to a claim is no answer.');
  } catch (cause) {
    return new Unanswered('What it answered to a claim threw.', cause);
  }
}

function isClaim(claim: AnyClaim | undefined): boolean {
  return (
    Array.isArray(claim?.finished) &&
    Number.isSafeInteger(claim.attempt) &&
    typeof claim.renew === 'function' &&
    typeof claim.complete === 'function' &&
    typeof claim.release === 'function'
  );
}

/** If the store cannot be asked the lease lapses by itself. */
async function release(claim: AnyClaim, delivery: Delivery, deadlines: Deadlines): Promise<void> {
  const askedAt = performance.now();
  const answer = await ask(deadlines, () => claim.release(delivery.finished));
  delivery.waitedForStore(askedAt);
  if (answer instanceof Unanswered) complain(delivery, answer, 'claim not released, so its lease will lapse');
}

/**
 * The handlers have succeeded. In lease mode a store that cannot be told so is no reason to refuse: a 503 would
 * guarantee a second run, a 200 only risks one. In transactional mode the handlers' writes are in this commit.
 */
async function complete(
  claim: AnyClaim,
  lease: Lease,
  { delivery, deadlines }: { delivery: Delivery; deadlines: Configuration['deadlines'] },
): Promise<Fault | undefined> {
  const tries = claim.transactional ? 1 : TRIES;
  const patience = claim.transactional ? deadlines.store : deadlines.complete;
  for (let attempt = 1; ; attempt += 1) {
    const askedAt = performance.now();
    const answer = await ask(patience, () => claim.complete());
    delivery.waitedForStore(askedAt);
    if (answer === true) return undefined;
    if (answer === false) return lost();
    if (attempt < tries && !lease.lapsed) {
      await pause(PAUSE_MS);
      continue;
    }
    const unanswered =
      answer instanceof Unanswered ? answer : new Unanswered('What it answered to complete is no answer.');
    if (claim.transactional) return unavailable(delivery, unanswered);
    complain(delivery, unanswered, 'processed, but not remembered');
    return undefined;
  }
}

function complain(delivery: Delivery, { message, cause }: Unanswered, what: string): void {
  const fields = cause === undefined ? {} : { error: describeError(cause) };
  writeLog(delivery.log, 'error', fields, `${what}: ${message}`);
}

function failed(cause: unknown): Fault {
  return new Fault('HANDLER_FAILED', { cause });
}

function lost(): Fault {
  return new Fault('CLAIM_LOST', { retryAfterMs: RETRY_AFTER_MS });
}

function unavailable(delivery: Delivery, unanswered: Unanswered): Fault {
  complain(delivery, unanswered, 'the store did not answer');
  const { message, cause } = unanswered;
  return new Fault('STORE_UNAVAILABLE', { hint: message, retryAfterMs: RETRY_AFTER_MS, cause });
}
