// What is known about one delivery, filled in on its way through the stations.
import type { IncomingHttpHeaders } from 'node:http';
import type { Fingerprint } from '../claims/fingerprint.js';
import type { StoreFailure } from '../claims/timed-calls.js';
import type { DeadLetterReason } from '../contracts/dead-letter-store.js';
import { type ErrorCode, type Issue, Rejection, WebhookError } from '../errors.js';
import type { Decoded, EventNames } from '../events/envelope.js';
import { childLogger, describeError, type Logger, shorten, writeLog } from '../logger.js';
import type { DeliveryRecord, HandlerReport, Outcome } from '../observer.js';
import type { Objection, Verdict } from './verdict.js';

/** How a delivery ends: with a 2xx outcome, or with a rejection. */
export type Result = Outcome | Rejection;

const NO_BYTES = Buffer.alloc(0);
const UNPROVEN: Fingerprint = { text: '', matches: () => false };

type Proven = Pick<Delivery, 'rawBody' | 'keyIndex' | 'fingerprint'> &
  Partial<Pick<Delivery, 'keyId' | 'simulated'>>;

export class Delivery {
  readonly headers: IncomingHttpHeaders;
  /** The logger of the receiver or of the request, not yet bound to an event. */
  readonly logger: Logger;
  readonly startedAt = performance.now();
  /** Of the body, also of one that is not authentic. */
  length = 0;
  /** Empty until the signature is verified, like the next four. */
  rawBody: Buffer = NO_BYTES;
  keyIndex: number | undefined;
  /** See {@link SigningKey}. */
  keyId: string | undefined;
  /** Whether a key of the simulator signed it. */
  simulated = false;
  fingerprint: Fingerprint = UNPROVEN;
  /** What was signed, once it is decoded. */
  event: EventNames | undefined;
  /** Undefined without dead letters. */
  letter: DeliveryLetter | undefined;
  /** A job of a queue: if it fails, the queue still has it, so an event that handlers refuse is not lost. */
  queued = false;
  /** The number of the claim; for a job without a store, how often a worker has started it. */
  attempt: number | undefined;
  /** Set once the store is called. */
  store: { readonly ms: number | undefined } | undefined;
  /** The calls of the handlers, once they run. They change as long as a handler runs, also after the answer. */
  calls: readonly CalledHandler[] | undefined;
  /** What the handlers said, unless they all succeeded. */
  verdict: Verdict | undefined;
  /** The event was completed before, with other bytes. */
  conflict = false;
  /** Resolves when the delivery is answered and its handlers have settled. Never rejects. */
  ended: Promise<void> | undefined;
  #copy: Buffer | undefined;
  #decoded: Decoded | undefined;
  #log: Logger | undefined;
  #controller: AbortController | undefined;
  #aborted: ErrorCode | undefined;

  constructor(headers: IncomingHttpHeaders, logger: Logger) {
    this.headers = headers;
    this.logger = logger;
  }

  /** The signature of the bytes is verified: now, when their letter was kept, or before they were queued. */
  proven({ rawBody, keyIndex, keyId, simulated = false, fingerprint }: Proven): void {
    this.length = rawBody.length;
    this.rawBody = rawBody;
    this.keyIndex = keyIndex;
    this.keyId = keyId;
    this.simulated = simulated;
    this.fingerprint = fingerprint;
  }

  get decoded(): Decoded | undefined {
    return this.#decoded;
  }

  /** Set before any handler gets the event, because handlers may change it. */
  set decoded(decoded: Decoded) {
    const { id, event_name, sandbox } = decoded.event;
    this.#decoded = decoded;
    this.event = { id, event_name, sandbox };
  }

  /** If a letter may be kept, one copy for all handlers: a handler may write to it, and the letter stays as signed. */
  get bytesForHandlers(): Buffer {
    if (!this.letter) return this.rawBody;
    this.#copy ??= Buffer.from(this.rawBody);
    return this.#copy;
  }

  /** Where the payload does not fit the schema of its event. */
  get issues(): readonly Issue[] | undefined {
    return this.decoded?.issues;
  }

  /** Where the body is not an event, or its payload does not fit. */
  issuesFor(result: Result): readonly Issue[] | undefined {
    return (result instanceof Rejection ? result.issues : undefined) ?? this.issues;
  }

  /** Bound to the event's id and name. Made on first use: most handlers never log. */
  get log(): Logger {
    const { event } = this;
    this.#log ??= childLogger(
      this.logger,
      event ? { eventId: shorten(event.id), eventName: shorten(event.event_name) } : {},
    );
    return this.#log;
  }

  /** Made on first use, like the logger. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(new WebhookError(this.#aborted));
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** Another delivery may be processing the event by now, or hold its serial locks. */
  get claimLost(): boolean {
    return this.#aborted === 'CLAIM_LOST';
  }

  /** Tells the handlers to stop; their signal keeps the first reason. */
  abort(code: ErrorCode): void {
    if (this.#aborted && code !== 'CLAIM_LOST') return;
    this.#aborted = code;
    this.#controller?.abort(new WebhookError(code));
  }

  /** Logs an error of the observer, which changes nothing else. */
  observerFailed(error: unknown): void {
    writeLog(this.log, 'error', { error: describeError(error) }, 'the observer failed');
  }

  /** The record for observers: only numbers and names. */
  record(result: Result, status: number, declared: ReadonlyMap<string, unknown>): DeliveryRecord {
    const { attempt, event, keyIndex } = this;
    const storeMs = this.store?.ms;
    const issues = this.issuesFor(result);
    return {
      status,
      ...(result instanceof Rejection ? { code: result.code } : { outcome: result }),
      ...(event && {
        eventId: event.id,
        eventName: event.event_name,
        declared: declared.has(event.event_name),
        sandbox: event.sandbox,
      }),
      ...(attempt !== undefined && { attempt }),
      ...(keyIndex !== undefined && { keyIndex }),
      ...(this.conflict && { conflict: true }),
      ...(issues && { issues }),
      ...(this.verdict && { verdict: this.verdict.verdict }),
      ...(this.letter?.reason && { deadLetter: this.letter.reason }),
      ...(storeMs !== undefined && { storeMs }),
      bytes: this.length,
      durationMs: performance.now() - this.startedAt,
      // Only these fields: a call of a handler has more properties than its report.
      handlers: (this.calls ?? []).map(({ name, status, durationMs }) => ({ name, status, durationMs })),
    };
  }
}

/** The report of a handler, and if it did not succeed, what it said and why: see {@link DeadLetter.cause}. */
export interface CalledHandler extends HandlerReport {
  readonly objection: Objection | undefined;
  readonly cause: string | undefined;
}

/** Why an attempt did not process the event. */
export interface Unprocessed {
  readonly reason: DeadLetterReason;
  readonly rejection?: Rejection | undefined;
  /** See {@link DeadLetter.cause}. */
  readonly cause?: string | undefined;
}

/** The dead letter of one delivery, while its event is being processed. No method rejects. */
export interface DeliveryLetter {
  /** Why the event is kept; undefined if it is not, as far as this delivery knows. */
  readonly reason: DeadLetterReason | undefined;
  /** The letter was processed or discarded while it was being replayed. */
  readonly gone: boolean;
  /** Called under the claim before any handler runs: the journal keeps the event, and a replay checks whether its letter is gone. */
  prepare(): Promise<StoreFailure | undefined>;
  /** @returns a failure if the event is not kept, so that only its sender has it */
  keep(unprocessed: Unprocessed): Promise<StoreFailure | undefined>;
  /** Called when this delivery has processed the event. */
  removeProcessed(): Promise<void>;
  /** Called when another delivery has processed the event. @param completed the fingerprint of the bytes it processed */
  removeCompleted(completed: string): Promise<void>;
}
