// What a handler's error says about its event: later, never, or failed.
import { types } from 'node:util';
import { BrandedError, ConfigurationError, HandlerError } from '../errors.js';
import { show } from '../misuse.js';
import { parseDuration } from '../time.js';

/**
 * Throw it from a handler whose event cannot be processed yet, such as one that arrived before its order was stored. The
 * service is answered 503 with `Retry-After`, a queue delays the job, and nothing is logged above `info`.
 *
 * @example
 * const order = await orders.find(event.payload.transaction.order_id);
 * if (!order) throw new RetryAfterError('30s', 'The order is not committed yet.');
 */
export class RetryAfterError extends BrandedError {
  static override readonly name = 'RetryAfterError';
  declare readonly name: 'RetryAfterError';
  protected static override readonly brand = Symbol.for('payment-webhooks.retry-after');
  /** Milliseconds from when it was thrown. */
  readonly retryAfterMs: number;

  /**
   * @param retryAfter milliseconds, a string like `'30s'`, or a Date
   * @throws {ConfigurationError} for anything else
   */
  constructor(
    retryAfter: number | string | Date,
    message = 'The event cannot be processed yet.',
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
    this.retryAfterMs = waitOf(retryAfter);
  }
}

/**
 * Throw it from a handler whose event can never be processed, so that it is not retried. The event is kept as a dead letter,
 * or its job fails permanently; with neither, it is answered 200 `ignored`.
 *
 * @example
 * if (event.payload.transaction.currency !== 'EUR') throw new NonRetriableError('Not a shop in euros.');
 */
export class NonRetriableError extends BrandedError {
  static override readonly name = 'NonRetriableError';
  declare readonly name: 'NonRetriableError';
  protected static override readonly brand = Symbol.for('payment-webhooks.non-retriable');

  constructor(message = 'The event can never be processed.', options?: { readonly cause?: unknown }) {
    super(message, options);
  }
}

/** What the handlers of one event said together, if not all succeeded: the same for a delivery, a replay and a job. */
export type Verdict =
  | { readonly verdict: 'later'; readonly delayMs: number }
  | { readonly verdict: 'never' | 'failed'; readonly error: HandlerError };

/** What the error of one handler says. */
export type Objection = Verdict['verdict'];

export function objectionOf(error: unknown): Objection {
  if (RetryAfterError.is(error)) return 'later';
  return NonRetriableError.is(error) ? 'never' : 'failed';
}

/**
 * `failed` if any handler failed, because a retry may help; else `later`, after the longest wait; `never` only if all say so.
 *
 * @param errors what the handlers threw: at least one error
 */
export function verdictOf(errors: readonly unknown[]): Verdict {
  const objections = new Set(errors.map(objectionOf));
  if (objections.has('failed')) return { verdict: 'failed', error: new HandlerError(errors) };
  if (!objections.has('later')) return { verdict: 'never', error: new HandlerError(errors) };
  return { verdict: 'later', delayMs: Math.max(...errors.map(delayOf)) };
}

/** Another copy of this package may have made the error, and its getters may throw. */
function delayOf(error: unknown): number {
  try {
    const delayMs = Number((error as Partial<RetryAfterError>).retryAfterMs);
    return Number.isFinite(delayMs) ? Math.max(delayMs, 0) : 0;
  } catch {
    return 0;
  }
}

function waitOf(retryAfter: unknown): number {
  const ms = types.isDate(retryAfter)
    ? Math.max(retryAfter.getTime() - Date.now(), 0)
    : parseDuration(retryAfter);
  if (ms !== undefined && Number.isSafeInteger(Math.ceil(ms))) return ms;
  throw new ConfigurationError(
    `RetryAfterError was given ${types.isDate(retryAfter) ? 'an invalid Date' : show(retryAfter)}. Pass milliseconds, a string like "30s", or a Date.`,
  );
}
