// Keeps the event of one delivery as a dead letter until it is processed, and removes it then.

import { digestOf } from '../claims/fingerprint.js';
import { StoreFailure } from '../claims/timed-calls.js';
import type {
  DeadLetter,
  DeadLetterChange,
  DeadLetterReason,
  DeadLetterStore,
  NewDeadLetter,
  ProcessedEvent,
} from '../contracts/dead-letter-store.js';
import { keyOf } from '../contracts/idempotency-store.js';
import { newToken } from '../contracts/token.js';
import type { Delivery, DeliveryLetter, Unprocessed } from '../deliveries/delivery.js';
import { keptHeaders } from '../http/headers.js';
import type { Configuration } from '../options/options.js';
import { DeadLetterCalls } from './dead-letter-calls.js';
import { retryNote } from './due.js';

/** The options of a receiver that every letter follows. */
export interface LetterRules
  extends Pick<Configuration, 'journal' | 'keepHeaders' | 'namespace' | 'storeTimeout'> {
  readonly store: DeadLetterStore;
}

/** Undefined without the option `deadLetters`. */
export function letterRules(config: Configuration): LetterRules | undefined {
  return config.deadLetters && { ...config, store: config.deadLetters };
}

export class Letter implements DeliveryLetter {
  reason: DeadLetterReason | undefined;
  gone = false;
  readonly #delivery: Delivery;
  readonly #rules: LetterRules;
  readonly #calls: DeadLetterCalls;
  readonly #replayed: DeadLetter | undefined;
  #id: string | undefined;
  #event: ProcessedEvent | undefined;
  /** This delivery processed the event, so a letter that the store writes late is removed again. */
  #isProcessed = false;

  /** @param replayed the letter that is replayed; undefined for a delivery */
  constructor(delivery: Delivery, rules: LetterRules, replayed?: DeadLetter) {
    this.#delivery = delivery;
    this.#rules = rules;
    this.#calls = new DeadLetterCalls(rules.store, delivery, rules.storeTimeout);
    this.#replayed = replayed;
    this.#id = replayed?.id;
    this.reason = replayed?.reason;
  }

  /**
   * With `journal` a delivery is kept now. A replayed letter is kept already, unless it was removed since it was read. If it is
   * still there, it stays until the claim ends, because a discard needs the claim too.
   */
  async prepare(): Promise<StoreFailure | undefined> {
    if (!this.#replayed) return this.#rules.journal ? this.keep({ reason: 'unfinished' }) : undefined;
    const content = await this.#calls.read(this.#replayed.id);
    if (content instanceof StoreFailure) return content;
    this.gone = content.status !== 'found';
    if (this.gone) this.reason = undefined;
    return undefined;
  }

  async keep({ reason, rejection, cause }: Unprocessed): Promise<StoreFailure | undefined> {
    const { attempt = 1 } = this.#delivery;
    const issues = [...retryNote(rejection), ...(rejection?.issues ?? this.#delivery.issues ?? [])];
    const change = { reason, code: rejection?.code, cause, issues };
    if (this.#id === undefined) return this.#keepNew(change, attempt);
    const attempts = this.#replayed && Math.max(this.#replayed.attempts + 1, attempt);
    const changed = await this.#calls.update(this.#id, { ...change, attempts });
    // The event was kept before, so it is safe whether or not this update has arrived.
    if (changed instanceof StoreFailure) return undefined;
    this.reason = changed ? reason : undefined;
    // A replayed letter that others removed is gone.
    this.gone = !changed && this.#replayed !== undefined;
    return changed || this.gone ? undefined : this.#keepNew(change, attempts ?? attempt);
  }

  async #keepNew(change: DeadLetterChange, attempts: number): Promise<StoreFailure | undefined> {
    const { event, rawBody, headers, keyIndex = 0, keyId, fingerprint } = this.#delivery;
    const { namespace, keepHeaders } = this.#rules;
    const letter: NewDeadLetter = {
      id: newToken(),
      key: keyOf(namespace, event),
      fingerprint: this.#identity().fingerprint,
      ...change,
      attempts,
      namespace,
      eventName: event?.event_name ?? '',
      eventId: event?.id ?? '',
      sandbox: event?.sandbox ?? false,
      // A copy: the buffer may be a part of one that is reused, and an abandoned call may still be running.
      rawBody: Buffer.from(new Uint8Array(rawBody).buffer),
      headers: keptHeaders(headers, keepHeaders),
      keyIndex,
      keyId,
      signaturePrefix: fingerprint.signaturePrefix,
    };
    const noteKept = (id: string) => {
      this.#id = id;
      this.reason = change.reason;
    };
    const kept = await this.#calls.keep(letter, (id) => {
      noteKept(id);
      if (this.#isProcessed) void this.#removeNow();
    });
    if (kept instanceof StoreFailure) return kept;
    noteKept(kept);
    return undefined;
  }

  async removeProcessed(): Promise<void> {
    const { attempt = 1 } = this.#delivery;
    this.#isProcessed = true;
    // Only an earlier attempt can have left a letter of which this delivery does not know.
    if (this.reason !== undefined || attempt > 1) await this.#removeNow();
  }

  /** Removes a letter that waited for a retry, and any other only if its bytes are those that were processed. */
  async removeCompleted(completed: string): Promise<void> {
    const waited = this.reason === 'failed' || this.reason === 'unfinished';
    if (waited || this.#delivery.fingerprint.matches(completed)) await this.#removeNow();
  }

  /** If the letter of a processed event is not removed, a replay finds the event completed, and removes it. */
  async #removeNow(): Promise<void> {
    const removed = await this.#calls.remove(this.#identity());
    if (!(removed instanceof StoreFailure)) this.reason = undefined;
  }

  /** Computed when first needed: a digest of the body takes time. */
  #identity(): ProcessedEvent {
    const { event, rawBody } = this.#delivery;
    // A replayed letter may have been kept when its event could not be read, under a key that is not that of the event.
    const { eventId: id, eventName: event_name = '', sandbox = false } = this.#replayed ?? {};
    const kept = id === undefined ? event : { id, event_name, sandbox };
    this.#event ??= { key: keyOf(this.#rules.namespace, kept), fingerprint: digestOf(rawBody) };
    return this.#event;
  }
}
