// Why a delivery is refused: what a station returns instead of its value.
import { type ErrorCode, HandlerError, type Issue } from '../errors.js';

const RETRY_AFTER_MS = 5_000;

/** Returned and never thrown: building an Error costs more than a delivery. */
export class Rejection {
  readonly code: ErrorCode;
  /** What the operator should read in the log; never sent, and never holds a value from the request. */
  readonly hint: string | undefined;
  readonly issues: readonly Issue[] | undefined;
  readonly retryAfterMs: number | undefined;
  /** What user code threw, for programs only: it is neither logged nor sent. */
  readonly cause: unknown;
  /** Whether none of the known keys made the signature, though a newer one may have: strangers can cause it too. */
  readonly unproven: boolean;

  constructor(
    code: ErrorCode,
    more: {
      hint?: string;
      issues?: readonly Issue[];
      retryAfterMs?: number;
      cause?: unknown;
      unproven?: boolean;
    } = {},
  ) {
    this.code = code;
    this.hint = more.hint;
    this.issues = more.issues;
    this.retryAfterMs = more.retryAfterMs;
    this.cause = more.cause;
    this.unproven = more.unproven ?? false;
  }
}

/** For what the receiver itself threw. Nothing is known to lead here; if something does, the sender is to try again. */
export function broken(cause: unknown): Rejection {
  return new Rejection('HANDLER_FAILED', { hint: 'The receiver itself failed.', cause });
}

/** @param failures what the handlers threw */
export function handlersFailed(failures: readonly unknown[]): Rejection {
  return new Rejection('HANDLER_FAILED', { cause: new HandlerError(failures) });
}

export function claimLost(): Rejection {
  return new Rejection('CLAIM_LOST', { retryAfterMs: RETRY_AFTER_MS });
}

export function storeUnavailable({ message, cause }: { message: string; cause: unknown }): Rejection {
  return new Rejection('STORE_UNAVAILABLE', { hint: message, retryAfterMs: RETRY_AFTER_MS, cause });
}
