// Station 4: event -> first time? A bracket around the work: claim; then complete, or release when it fails.
import type { Letter, Unprocessed } from '../dead-letters/letter.js';
import type { Deduped, Dispatched, Result } from '../delivery/delivery.js';
import type { Fingerprint } from '../delivery/fingerprint.js';
import { type HandlerLease, Lease } from '../delivery/lease.js';
import { Rejection } from '../delivery/rejection.js';
import { andThen } from '../delivery/thenable.js';
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
  /** Set where no handler can run: the event is kept as a dead letter, and its claim released. */
  readonly unworkable?: Ending | undefined;
  /**
   * Never rejects.
   * @param lease started when the handlers do not settle at once
   */
  run(attempt: Attempt, lease: HandlerLease): Dispatched | Promise<Dispatched>;
}

/** How an attempt ends that has not processed the event. */
export interface Ending extends Unprocessed {
  /** Once the event is kept. */
  readonly result: Result;
}

type Claiming = Claimant & { readonly event: Envelope | undefined; readonly letter: Letter | undefined };

/** What stays the same from the claim to its end. */
interface Bracket {
  readonly store: StoreCalls;
  readonly work: Work;
  readonly letter: Letter | undefined;
}

type KeepingBracket = Bracket & { readonly letter: Letter };

/** What an attempt is when nothing is remembered, and its lease. */
const UNREMEMBERED = { attempt: 1, finished: [] } as const;
const UNCLAIMED: HandlerLease = { start: () => {}, lapsed: false };
const RETRY_AFTER_MS = 5_000;

/** Does the work if this delivery is the one to do it. A promise only where something has to be awaited. */
export function dedupeDelivery(
  delivery: Claiming,
  c: Pick<Configuration, 'store' | 'namespace'> & StoreRules,
  work: Work,
): Deduped | Promise<Deduped> {
  if (!c.store) {
    return andThen(work.run(UNREMEMBERED, UNCLAIMED), (dispatched) =>
      conclude({}, dispatched, (settled) => (settled.failures.length === 0 ? work.outcome : failed(settled))),
    );
  }
  const store = new StoreCalls(c.store, delivery, c);
  const { letter } = delivery;
  const bracket = { store, work, letter };
  const claiming = store.claim(keyOf(c.namespace, delivery.event), work.fingerprint.text);
  return andThen(claiming, (answer) => {
    if (answer instanceof StoreFailure) return { result: unavailable(answer), store };
    switch (answer.status) {
      case 'completed':
        return repeated(answer.fingerprint, bracket);
      case 'in_progress':
        return { result: new Rejection('IN_PROGRESS', { retryAfterMs: answer.retryAfterMs }), store };
      case 'claimed':
        if (work.unworkable) return keepUnworkable(answer, work.unworkable, bracket);
        if (letter?.journal) return enterAndWork(answer, { ...bracket, letter });
        return workUnder(answer, bracket);
    }
  });
}

/** The event had been completed before, perhaps with other bytes. */
function repeated(completed: string, { store, work, letter }: Bracket): Deduped | Promise<Deduped> {
  const conflict = !work.fingerprint.matches(completed);
  if (!conflict) return { result: 'duplicate', store, conflict };
  const keeping = keep(letter, { reason: 'conflict', result: 'duplicate' });
  return keeping.then((result) => ({ result, store, conflict }));
}

/** No handler can run: the event is kept, and its claim released. */
async function keepUnworkable(claim: GrantedClaim, ending: Ending, bracket: Bracket): Promise<Deduped> {
  const result = await putAside(claim, ending, bracket);
  return { result, attempt: claim.attempt, store: bracket.store };
}

/** Writes the event into the journal before any handler runs. */
async function enterAndWork(claim: GrantedClaim, bracket: KeepingBracket): Promise<Deduped> {
  const { store, letter } = bracket;
  const unkept = await letter.keep({ reason: 'unfinished', attempt: claim.attempt });
  const refused = unkept ? unavailable(unkept) : new Lease(store, claim).lapsed && lost();
  if (!refused) return workUnder(claim, bracket);
  await store.release(claim, claim.finished);
  return { result: refused, attempt: claim.attempt, store };
}

function workUnder(claim: GrantedClaim, bracket: Bracket): Deduped | Promise<Deduped> {
  const { work, store, letter } = bracket;
  const lease = new Lease(store, claim);
  return andThen(work.run(claim, lease), (dispatched) =>
    conclude({ attempt: claim.attempt, store, letter }, dispatched, (settled) => {
      lease.stop();
      if (!lease.lost && settled.failures.length === 0) return complete(claim, lease, bracket);
      const rejection = lease.lost ? lost() : failed(settled);
      return putAside({ ...claim, finished: settled.finished }, failure(rejection), bracket);
    }),
  );
}

/** Handlers that go on after the answer keep their claim until they settle. */
function conclude(
  { attempt, store, letter }: Pick<Deduped, 'attempt' | 'store'> & Partial<Pick<Bracket, 'letter'>>,
  dispatched: Dispatched,
  end: (settled: Dispatched) => Result | Promise<Result>,
): Deduped | Promise<Deduped> {
  const { unsettled } = dispatched;
  const deduped = (result: Result) => ({ result, attempt, store, dispatched });
  if (unsettled) {
    const keeping = keep(letter, failure(unsettled.rejection), attempt);
    return keeping.then((result) => ({ ...deduped(result), late: unsettled.rest.then(end) }));
  }
  return andThen(end(dispatched), deduped);
}

/** At once, where the store answers at once. */
function complete(claim: GrantedClaim, lease: Lease, bracket: Bracket): Result | Promise<Result> {
  if (bracket.letter) return completeAndRemove(claim, lease, { ...bracket, letter: bracket.letter });
  const { store, work } = bracket;
  return andThen(store.complete(claim, lease), (completed) => refusal(claim, completed) ?? work.outcome);
}

/** An event that is processed is no dead letter any more. */
async function completeAndRemove(
  claim: GrantedClaim,
  lease: Lease,
  { store, work, letter }: KeepingBracket,
): Promise<Result> {
  const unremoved = await letter.removeInCommit(claim);
  if (unremoved) return putAside(claim, failure(unavailable(unremoved)), { store, work, letter });
  const refused = refusal(claim, await store.complete(claim, lease));
  if (refused) return keep(letter, failure(refused), claim.attempt);
  await letter.removeAfter(claim);
  return work.outcome;
}

/**
 * In lease mode a store that cannot be told is no reason to refuse: a 503 would guarantee a second run, a 200 only
 * risks one. In transactional mode the handlers' writes are in this commit.
 */
function refusal(claim: GrantedClaim, completed: boolean | StoreFailure): Rejection | undefined {
  if (completed === false) return lost();
  return claim.transactional && completed instanceof StoreFailure ? unavailable(completed) : undefined;
}

/** Ends an attempt that has not processed the event. */
async function putAside(claim: GrantedClaim, ending: Ending, { store, letter }: Bracket): Promise<Result> {
  // A transaction holds a connection, and the letter may need one of the same pool.
  if (claim.transactional) await store.release(claim, claim.finished);
  const result = await keep(letter, ending, claim.attempt);
  if (!claim.transactional) await store.release(claim, claim.finished);
  return result;
}

/** Keeps the event before its delivery is answered: when that fails, only the sender still has it. */
async function keep(letter: Letter | undefined, ending: Ending, attempt?: number): Promise<Result> {
  const unkept = await letter?.keep({ ...ending, attempt });
  return unkept ? unavailable(unkept) : ending.result;
}

function failure(rejection: Rejection): Ending {
  return { reason: 'failed', rejection, result: rejection };
}

function failed({ failures }: Dispatched): Rejection {
  return new Rejection('HANDLER_FAILED', { cause: new HandlerError(failures) });
}

function lost(): Rejection {
  return new Rejection('CLAIM_LOST', { retryAfterMs: RETRY_AFTER_MS });
}

function unavailable({ message, cause }: StoreFailure): Rejection {
  return new Rejection('STORE_UNAVAILABLE', { hint: message, retryAfterMs: RETRY_AFTER_MS, cause });
}
