// One delivery on its way through the stations: what is known of it so far, and its single result.
import type { IncomingHttpHeaders } from 'node:http';
import { type ErrorCode, Fault, WebhookError } from './errors.js';
import type { Decoded, Envelope } from './events/envelope.js';
import { childLogger, describeError, type Logger, shorten, writeLog } from './logger.js';
import type { DeliveryRecord, HandlerReport, Outcome } from './observer.js';

/** How a delivery ends: with a 2xx outcome, or with a fault. */
export type Result = Outcome | Fault;

type Mutable<Report> = { -readonly [Field in keyof Report]: Report[Field] };

const nobodyWaits = () => {};
const NO_BYTES = Buffer.alloc(0);

export class Delivery {
  readonly headers: IncomingHttpHeaders;
  /** The logger of the receiver or of the request, not yet bound to an event. */
  readonly logger: Logger;
  readonly startedAt = performance.now();
  rawBody: Buffer = NO_BYTES;
  decoded: Decoded | undefined;
  attempt: number | undefined;
  keyIndex: number | undefined;
  conflict = false;
  storeMs: number | undefined;
  readonly handlers: Mutable<HandlerReport>[] = [];
  /** Named handlers that have succeeded, on this attempt or an earlier one. */
  readonly finished: string[] = [];
  /** Ends it without waiting for its work; the first result stays. */
  settle: (result: Result) => void = nobodyWaits;
  #work: Promise<Result> | undefined;
  #log: Logger | undefined;
  #controller: AbortController | undefined;
  #aborted: ErrorCode | undefined;

  constructor(headers: IncomingHttpHeaders, logger: Logger) {
    this.headers = headers;
    this.logger = logger;
  }

  get event(): Envelope | undefined {
    return this.decoded?.event;
  }

  /**
   * Claim and handlers. The result does not wait for them: past `timeout` the delivery is settled without them.
   *
   * @param broken what it comes to when the work itself rejects
   */
  resultOf(work: () => Promise<Result>, broken: (cause: unknown) => Result): Promise<Result> {
    return new Promise((resolve) => {
      this.settle = resolve;
      const settled = (result: Result) => {
        this.#work = undefined;
        resolve(result);
        return result;
      };
      this.#work = work().then(settled, (cause) => settled(broken(cause)));
    });
  }

  /** Adds to what telemetry is told. */
  waitedForStore(askedAt: number): void {
    this.storeMs = (this.storeMs ?? 0) + performance.now() - askedAt;
  }

  /** Claim and handlers while they have not settled. */
  get unsettledWork(): Promise<Result> | undefined {
    return this.#work;
  }

  /** Bound to the event's id and name. Made when first asked for: most handlers never log. */
  get log(): Logger {
    this.#log ??= childLogger(this.logger, this.event ? namesOf(this.event) : {});
    return this.#log;
  }

  /** Made when first asked for, like the logger. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(new WebhookError(this.#aborted));
    return this.#controller.signal;
  }

  /** Tells the handlers to stop; the first reason stays. */
  abort(code: ErrorCode): void {
    if (this.#aborted) return;
    this.#aborted = code;
    this.#controller?.abort(new WebhookError(code));
  }

  /** What an observer threw changes nothing. */
  observerFailed(error: unknown): void {
    writeLog(this.log, 'error', { error: describeError(error) }, 'the observer failed');
  }

  /** What telemetry is told: numbers and names only. */
  record(result: Result, status: number, declared: ReadonlyMap<string, unknown>): DeliveryRecord {
    const { event, attempt, keyIndex, storeMs } = this;
    return {
      status,
      ...(result instanceof Fault ? { code: result.code } : { outcome: result }),
      ...(event && {
        eventId: event.id,
        eventName: event.event_name,
        declared: declared.has(event.event_name),
        sandbox: event.sandbox,
      }),
      ...(attempt !== undefined && { attempt }),
      ...(keyIndex !== undefined && { keyIndex }),
      ...(this.conflict && { conflict: true }),
      ...(storeMs !== undefined && { storeMs }),
      bytes: this.rawBody.length,
      durationMs: performance.now() - this.startedAt,
      handlers: this.handlers.map((report) => ({ ...report })),
    };
  }
}

/** The event's id and name as a log line may carry them. */
export function namesOf(event: Envelope): { eventId: string; eventName: string } {
  return { eventId: shorten(event.id), eventName: shorten(event.event_name) };
}
