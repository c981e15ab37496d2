// What an observer is notified of. Its errors never affect a delivery.
import { channel } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders } from 'node:http';
import type { ErrorCode, Issue } from './errors.js';

/** How a delivery that was answered 200 ended. `kept`: as a dead letter, because no handler could run, or one rejected it. */
export type Outcome = 'processed' | 'duplicate' | 'ignored' | 'kept';

/**
 * - `unknown`: its name is not declared, and there is no `onUnknown` handler.
 * - `invalid`: its payload does not match the declared schema, and there is no `onInvalid` handler; or it is authentic, but
 *   not of the documented shape: then its `eventId` is the SHA-256 of its bytes.
 * - `failed`: a handler failed or took too long; the service was asked for a retry.
 * - `conflict`: an event with the same id but other bytes was processed before.
 * - `rejected`: a handler threw `NonRetriableError`, so it is never retried automatically.
 * - `unfinished`: the journal kept it before its handlers ran: it is still being processed, or the process died.
 */
export type DeadLetterReason = 'unknown' | 'invalid' | 'failed' | 'conflict' | 'rejected' | 'unfinished';

/** The result of one handler. `skipped`: named, and it had succeeded on an earlier attempt. */
export interface HandlerReport {
  readonly name: string;
  readonly status: 'fulfilled' | 'rejected' | 'skipped' | 'running';
  readonly durationMs: number;
}

/** The metadata of one delivery. Apart from the event's id, name and mode, nothing in it is from the body, headers or keys. */
export interface DeliveryRecord {
  /** The status that was sent; 0 if the sender had left. */
  readonly status: number;
  readonly outcome?: Outcome;
  readonly code?: ErrorCode;
  readonly eventId?: string;
  readonly eventName?: string;
  /** Whether the name is declared. There may be any number of undeclared names. */
  readonly declared?: boolean;
  readonly sandbox?: boolean;
  readonly attempt?: number;
  /** Which of the configured keys signed it, counted from 0. */
  readonly keyIndex?: number;
  /** The event had been completed before, with other bytes. */
  readonly conflict?: boolean;
  /** Where the event does not match its schema: paths and what was expected there, without values. */
  readonly issues?: readonly Issue[];
  /** The verdict of the handlers, unless all succeeded: retry later, never retry, or failed. */
  readonly verdict?: 'later' | 'never' | 'failed';
  /** Why the event is kept as a dead letter. */
  readonly deadLetter?: DeadLetterReason;
  /** Length of the body. */
  readonly bytes: number;
  readonly durationMs: number;
  /** Milliseconds spent waiting for the store. */
  readonly storeMs?: number;
  readonly handlers: readonly HandlerReport[];
}

/** A dead letter that `redrive` no longer retries. */
export interface ExhaustedLetter {
  readonly id: string;
  /** As of its last try. */
  readonly reason: DeadLetterReason;
  readonly eventName: string;
  readonly declared: boolean;
  readonly attempts: number;
}

/** Is notified of every delivery; `openTelemetry()` makes one. Its errors are logged and change nothing. */
export interface Observer {
  /** Wraps one delivery, to open a span. Call `work` before the first await, and return its promise. */
  around?<T>(delivery: { readonly headers: IncomingHttpHeaders }, work: () => Promise<T>): Promise<T>;
  /** Wraps one handler; `work` rejects with what the handler threw. */
  handler?<T>(
    handler: {
      readonly event: { readonly id: string; readonly event_name: string };
      readonly name: string;
      readonly attempt: number;
    },
    work: () => Promise<T>,
  ): Promise<T>;
  /** Once per delivery, after its answer. */
  settled?(record: DeliveryRecord): void;
  /** Once per dead letter that `redrive` has retried for the last time. */
  exhausted?(letter: ExhaustedLetter): void;
}

/** Logs the errors of an observer. */
interface Observed {
  observerFailed(error: unknown): void;
}

/** Handles one delivery inside the observer's `around`, if there is one. */
export function observedDelivery<T>(
  observer: Observer | undefined,
  work: () => Promise<T>,
  delivery: Observed & { readonly headers: IncomingHttpHeaders },
): Promise<T> {
  const around = observer?.around?.bind(observer);
  if (!around) return work();
  return observed((inner) => around({ headers: delivery.headers }, inner), work, delivery);
}

/**
 * Does the work once inside `wrap`. Returns the promise of the work itself, so a wrapper that throws, calls twice, or never
 * calls can neither lose nor repeat it.
 */
export function observed<T>(
  wrap: (work: () => Promise<T>) => Promise<T>,
  work: () => Promise<T>,
  delivery: Observed,
): Promise<T> {
  let running: Promise<T> | undefined;
  const once = () => {
    running ??= work();
    return running;
  };
  try {
    // A rejection of the work passes through the wrapper. Any other is the wrapper's own.
    wrap(once).catch((error: unknown) =>
      once().then(
        () => delivery.observerFailed(error),
        (cause: unknown) => cause !== error && delivery.observerFailed(error),
      ),
    );
  } catch (error) {
    delivery.observerFailed(error);
  }
  return once();
}

/** Does not wait for the observer. If an async one rejects, that must not end the process. */
export function notifyObserver(notify: () => unknown, observed: Observed): void {
  try {
    const told = notify();
    if (told !== undefined) Promise.resolve(told).catch((error) => observed.observerFailed(error));
  } catch (error) {
    observed.observerFailed(error);
  }
}

/** How many calls of deliveries shared a statement of a SQL store. */
export interface StoreBatch {
  readonly step: 'claim' | 'complete';
  readonly size: number;
}

/** Of each {@link StoreBatch}: a store does not know its receivers. A symbol, so that the ESM and CommonJS copies share it. */
export const BATCHES = /* @__PURE__ */ channel(/* @__PURE__ */ Symbol.for('payment-webhooks.store.batch'));
