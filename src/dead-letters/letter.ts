// Keeps the event of one delivery as a dead letter until it is processed, and removes it then.

import type { GrantedClaim } from '../claims/claim-answer.js';
import type {
  DeadLetter,
  DeadLetterChange,
  DeadLetterReason,
  DeadLetterStore,
  DeliveryLetter,
  NewDeadLetter,
  ProcessedEvent,
  Unprocessed,
} from '../claims/dead-letter-store.js';
import { digestOf } from '../claims/fingerprint.js';
import { type Claim, keyOf } from '../claims/idempotency-store.js';
import { StoreFailure } from '../claims/timed-calls.js';
import { newToken } from '../claims/token.js';
import type { Delivery } from '../handlers/delivery.js';
import { keptHeaders } from '../handlers/headers.js';
import type { Configuration } from '../options/options.js';
import { DeadLetterCalls } from './dead-letter-calls.js';
import { retryNote } from './due.js';

/** The delivery that a letter is of. */
type Delivered = Pick<
  Delivery,
  'log' | 'event' | 'issues' | 'rawBody' | 'headers' | 'keyIndex' | 'keyId' | 'fingerprint'
>;

/** The same for every letter of a receiver. */
export interface LetterRules
  extends Pick<Configuration, 'joined' | 'journal' | 'keepHeaders' | 'namespace' | 'storeTimeout'> {
  readonly store: DeadLetterStore;
}

/** Undefined without the option. */
export function letterRules(c: Configuration): LetterRules | undefined {
  return c.deadLetters && { ...c, store: c.deadLetters };
}

export class Letter implements DeliveryLetter {
  reason: DeadLetterReason | undefined;
  gone = false;
  readonly #delivered: Delivered;
  readonly #rules: LetterRules;
  readonly #calls: DeadLetterCalls;
  readonly #replayed: DeadLetter | undefined;
  #id: string | undefined;
  #event: ProcessedEvent | undefined;
  /** The transaction was asked to remove it. */
  #joined = false;
  /** That removed something, or may have. */
  #tookAlong = false;
  /** This delivery processed the event, so a letter that is written late is removed again. */
  #isProcessed = false;

  /** @param replayed the letter that is replayed, if this is no delivery */
  constructor(delivered: Delivered, rules: LetterRules, replayed?: DeadLetter) {
    this.#delivered = delivered;
    this.#rules = rules;
    this.#calls = new DeadLetterCalls(rules.store, delivered, rules.storeTimeout);
    this.#replayed = replayed;
    this.#id = replayed?.id;
    this.reason = replayed?.reason;
  }

  async keep({ reason, rejection, attempt = 1 }: Unprocessed): Promise<StoreFailure | undefined> {
    const issues = [
      ...(rejection ? retryNote(rejection) : []),
      ...(rejection?.issues ?? this.#delivered.issues ?? []),
    ];
    const change = { reason, code: rejection?.code, issues };
    const before = this.#replayed?.attempts;
    const attempts = before === undefined ? undefined : Math.max(before + 1, attempt);
    if (this.#id === undefined) return this.#keepNew(change, attempt);
    const changed = await this.#calls.update(this.#id, { ...change, attempts });
    // It is still there, as it was.
    if (changed instanceof StoreFailure) return undefined;
    this.reason = changed ? reason : undefined;
    // The replayed letter was removed by others, or by this attempt: a handler that ends the transaction of its delivery
    // also commits the removal. A delivery is kept again.
    this.gone = !changed && this.#replayed !== undefined && !this.#tookAlong;
    return changed || this.gone ? undefined : this.#keepNew(change, attempts ?? attempt);
  }

  /**
   * A replayed letter is kept already, and may have been removed since it was read. If it is there, it stays until the claim
   * ends, because a discard needs the claim too.
   */
  async enter(claim: GrantedClaim): Promise<StoreFailure | undefined> {
    if (!this.#replayed)
      return this.#rules.journal ? this.keep({ reason: 'unfinished', attempt: claim.attempt }) : undefined;
    // A transaction holds a connection, so if it can answer, no other connection is needed.
    const content = await this.#calls.read(this.#replayed.id, this.#transactionOf(claim));
    if (content instanceof StoreFailure) return content;
    this.gone = content.status !== 'found';
    if (this.gone) this.reason = undefined;
    return undefined;
  }

  async #keepNew(change: DeadLetterChange, attempts: number): Promise<StoreFailure | undefined> {
    const { event, rawBody, headers, keyIndex = 0, keyId, fingerprint } = this.#delivered;
    const { namespace, keepHeaders } = this.#rules;
    const letter: NewDeadLetter = {
      id: newToken(),
      key: keyOf(namespace, event),
      fingerprint: this.#processed().fingerprint,
      ...change,
      attempts,
      namespace,
      eventName: event?.event_name ?? '',
      eventId: event?.id ?? '',
      sandbox: event?.sandbox ?? false,
      // A copy: the buffer may be reused, and an abandoned call may still be running.
      rawBody: Buffer.from(new Uint8Array(rawBody).buffer),
      headers: keptHeaders(headers, keepHeaders),
      keyIndex,
      keyId,
      signaturePrefix: fingerprint.signaturePrefix,
    };
    const noted = (id: string) => {
      this.#id = id;
      this.reason = change.reason;
    };
    const kept = await this.#calls.keep(letter, (id) => {
      noted(id);
      if (this.#isProcessed) void this.#removeNow();
    });
    if (kept instanceof StoreFailure) return kept;
    noted(kept);
    return undefined;
  }

  async removeInCommit(claim: GrantedClaim): Promise<StoreFailure | undefined> {
    const transaction = this.#mayExist(claim) ? this.#transactionOf(claim) : undefined;
    if (transaction === undefined) return undefined;
    this.#joined = true;
    const removed = await this.#calls.remove(this.#processed(), transaction);
    this.#tookAlong = removed !== 0;
    if (removed instanceof StoreFailure) return removed;
    const isGone = removed === 0 && this.#replayed !== undefined;
    return isGone ? new StoreFailure('Its letter is gone, so nothing was committed.') : undefined;
  }

  async removeAfter(claim: GrantedClaim): Promise<void> {
    this.#isProcessed = true;
    // After the commit the claim may know of a letter that was kept while the event was being processed.
    const left = this.#joined ? claimProperty(claim.claim, 'kept') !== false : this.#mayExist(claim);
    if (this.#joined) this.reason = undefined;
    if (left) await this.#removeNow();
  }

  /** Of an event that is processed. A letter that stays is removed by the replay that finds the event completed. */
  async #removeNow(): Promise<void> {
    const removed = await this.#calls.remove(this.#processed());
    if (!(removed instanceof StoreFailure)) this.reason = undefined;
  }

  /** Removes a letter that waited for a retry, and any other only if its bytes are those that were processed. */
  async removeCompleted(completed: string): Promise<void> {
    const waited = this.reason === 'failed' || this.reason === 'unfinished';
    if (waited || this.#delivered.fingerprint.matches(completed)) await this.#removeNow();
  }

  /** A rollback forgets how often an event was claimed, so there the number of the attempt says nothing. */
  #mayExist(granted: GrantedClaim): boolean {
    if (this.reason !== undefined) return true;
    return claimProperty(granted.claim, 'kept') ?? (granted.transactional === true || granted.attempt > 1);
  }

  #transactionOf({ claim, context, transactional }: GrantedClaim): unknown {
    if (!this.#rules.joined || !transactional || claimProperty(claim, 'open') === false) return undefined;
    return (context as { transaction?: unknown } | undefined)?.transaction;
  }

  #processed(): ProcessedEvent {
    const { event, rawBody } = this.#delivered;
    // A replayed letter may have been kept without an id of its own, and be an event today.
    const { eventId: id, eventName: event_name = '', sandbox = false } = this.#replayed ?? {};
    const kept = id === undefined ? event : { id, event_name, sandbox };
    this.#event ??= { key: keyOf(this.#rules.namespace, kept), fingerprint: digestOf(rawBody) };
    return this.#event;
  }
}

/** A getter of a claim may throw. */
function claimProperty<Name extends 'kept' | 'open'>(claim: Claim<object>, name: Name): Claim<object>[Name] {
  try {
    return claim[name];
  } catch {
    return undefined;
  }
}
