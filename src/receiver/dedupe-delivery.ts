// Station 4: event -> first time? A bracket around the work: claim; then complete, or release when it fails.
import type { Letter } from '../dead-letters/letter.js';
import type { Deduped, Dispatched, Result } from '../delivery/delivery.js';
import {
  type Bracket,
  complete,
  type Ending,
  failure,
  type KeepingBracket,
  keep,
  putAside,
} from '../delivery/end-attempt.js';
import type { Fingerprint } from '../delivery/fingerprint.js';
import { type HandlerLease, Lease } from '../delivery/lease.js';
import { claimLost, handlersFailed, Rejection, storeUnavailable } from '../delivery/rejection.js';
import { andThen } from '../delivery/thenable.js';
import type { EventNames } from '../events/envelope.js';
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

type Claiming = Claimant & { readonly event: EventNames | undefined; readonly letter: Letter | undefined };

/** What an attempt is when nothing is remembered, and its lease. */
const UNREMEMBERED = { attempt: 1, finished: [] } as const;
const UNCLAIMED: HandlerLease = { start: () => {}, lapsed: false };

/** Does the work if this delivery is the one to do it. A promise only where something has to be awaited. */
export function dedupeDelivery(
  delivery: Claiming,
  c: Pick<Configuration, 'store' | 'namespace'> & StoreRules,
  work: Work,
): Deduped | Promise<Deduped> {
  if (!c.store) {
    return andThen(work.run(UNREMEMBERED, UNCLAIMED), (dispatched) =>
      conclude({}, dispatched, (settled) =>
        settled.failures.length === 0 ? work.outcome : handlersFailed(settled.failures),
      ),
    );
  }
  const store = new StoreCalls(c.store, delivery, c);
  const { letter } = delivery;
  const bracket = { store, letter, outcome: work.outcome };
  const claiming = store.claim(keyOf(c.namespace, delivery.event), work.fingerprint.text);
  return andThen(claiming, (answer) => {
    if (answer instanceof StoreFailure) return { result: storeUnavailable(answer), store };
    switch (answer.status) {
      case 'completed':
        return repeated(answer.fingerprint, work, bracket);
      case 'in_progress':
        return { result: new Rejection('IN_PROGRESS', { retryAfterMs: answer.retryAfterMs }), store };
      case 'claimed':
        if (work.unworkable) return keepUnworkable(answer, work.unworkable, bracket);
        if (letter?.journal) return enterAndWork(answer, work, { ...bracket, letter });
        return workUnder(answer, work, bracket);
    }
  });
}

/** The event had been completed before, perhaps with other bytes. */
function repeated(completed: string, work: Work, { store, letter }: Bracket): Deduped | Promise<Deduped> {
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
async function enterAndWork(claim: GrantedClaim, work: Work, bracket: KeepingBracket): Promise<Deduped> {
  const { store, letter } = bracket;
  const unkept = await letter.keep({ reason: 'unfinished', attempt: claim.attempt });
  const refused = unkept ? storeUnavailable(unkept) : new Lease(store, claim).lapsed && claimLost();
  if (!refused) return workUnder(claim, work, bracket);
  await store.release(claim, claim.finished);
  return { result: refused, attempt: claim.attempt, store };
}

function workUnder(claim: GrantedClaim, work: Work, bracket: Bracket): Deduped | Promise<Deduped> {
  const { store, letter } = bracket;
  const lease = new Lease(store, claim);
  return andThen(work.run(claim, lease), (dispatched) =>
    conclude({ attempt: claim.attempt, store, letter }, dispatched, (settled) => {
      lease.stop();
      if (!lease.lost && settled.failures.length === 0) return complete(claim, lease, bracket);
      const rejection = lease.lost ? claimLost() : handlersFailed(settled.failures);
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
