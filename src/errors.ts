// The errors of this package, and the table of all codes with their status and message.
/** The sender did not prove who it is. */
export type SignatureCode =
  | 'SIGNATURE_MISSING'
  | 'SIGNATURE_MALFORMED'
  | 'SIGNATURE_MISMATCH'
  | 'KEY_MODE_MISMATCH';
/** The body did not arrive, or its bytes are not usable. */
export type BodyCode =
  | 'BODY_MALFORMED'
  | 'BODY_TIMEOUT'
  | 'BODY_TOO_LARGE'
  | 'BODY_ENCODED'
  | 'BODY_CONSUMED'
  | 'BODY_ABORTED';
/** The body is authentic JSON, but not an event of the declared shape. */
export type EventCode = 'EVENT_INVALID';
/** A handler did not succeed. */
export type HandlerCode = 'HANDLER_FAILED' | 'HANDLER_TIMEOUT' | 'RETRY_LATER';
/** The store of event ids did not grant, keep or finish the claim. */
export type StoreCode = 'IN_PROGRESS' | 'CLAIM_LOST' | 'STORE_UNAVAILABLE';
/** The receiver itself cannot take a delivery now. */
export type ReceiverCode = 'KEY_UNAVAILABLE' | 'OVERLOADED' | 'CLOSING';
/** The receiver is misconfigured or called wrongly. Nearly always thrown at startup, before any delivery. */
export type ConfigurationCode = 'CONFIGURATION_INVALID';

/** A stable name for each thing that can go wrong; `docs/errors.md` has a heading for each. */
export type ErrorCode =
  | SignatureCode
  | BodyCode
  | EventCode
  | HandlerCode
  | StoreCode
  | ReceiverCode
  | ConfigurationCode;

interface Answered {
  readonly status: number;
  readonly message: string;
  /** Milliseconds until a retry may succeed, unless the rejection says otherwise. */
  readonly retryAfterMs?: number;
}

const SOON = { status: 503, retryAfterMs: 5_000 } as const;

/**
 * The status says whose fault it is: 4xx the sender's, 5xx ours. If a retry could succeed without the sender changing
 * anything, it must be 5xx, because some senders never retry after a 4xx.
 */
export const ANSWERS: Readonly<Record<ErrorCode, Answered>> = {
  SIGNATURE_MISSING: { status: 401, message: 'Unauthenticated.' },
  SIGNATURE_MALFORMED: { status: 401, message: 'Unauthenticated.' },
  SIGNATURE_MISMATCH: { status: 401, message: 'Unauthenticated.' },
  KEY_MODE_MISMATCH: { status: 401, message: 'Unauthenticated.' },
  BODY_MALFORMED: { status: 400, message: 'The body is not one complete JSON document in UTF-8.' },
  BODY_TIMEOUT: { status: 408, message: 'The body did not arrive in time.' },
  BODY_TOO_LARGE: { status: 413, message: 'The body is larger than this endpoint accepts.' },
  BODY_ENCODED: { status: 415, message: 'The body must be sent as plain UTF-8, without a Content-Encoding.' },
  BODY_CONSUMED: { status: 500, message: 'This endpoint is set up wrongly: it no longer has the raw body.' },
  // Never sent: the sender has left. The status is what Node itself answers to half a request.
  BODY_ABORTED: { status: 400, message: 'The sender left before its body had arrived.' },
  EVENT_INVALID: { status: 422, message: 'The body is not an event of the documented shape.' },
  HANDLER_FAILED: { status: 500, message: 'The event could not be processed. Please deliver it again.' },
  HANDLER_TIMEOUT: { ...SOON, message: 'The event is still being processed. Please deliver it again.' },
  // After as long as the handler asked for.
  RETRY_LATER: { status: 503, message: 'The event cannot be processed yet. Please deliver it again.' },
  IN_PROGRESS: { ...SOON, message: 'The event is being processed. Please deliver it again.' },
  CLAIM_LOST: { ...SOON, message: 'The event is being processed elsewhere. Please deliver it again.' },
  STORE_UNAVAILABLE: { ...SOON, message: 'The event cannot be processed now. Please deliver it again.' },
  KEY_UNAVAILABLE: { ...SOON, message: 'The signature cannot be checked now. Please deliver it again.' },
  OVERLOADED: { ...SOON, message: 'Too many deliveries at once. Please deliver it again.' },
  CLOSING: { ...SOON, message: 'This process is shutting down. Please deliver it again.' },
  CONFIGURATION_INVALID: { status: 500, message: 'The receiver is configured wrongly.' },
};

/** The command that explains a code. For developers: never in an answer. */
export function helpFor(code: ErrorCode): string {
  return `npx payment-webhooks explain ${code}`;
}

/** One mismatch: where, and what was expected there. Never the value. */
export interface Issue {
  /** Dotted path from the root of the event, such as `payload.transaction.id`. */
  readonly path: string;
  readonly message: string;
}

/**
 * The base of every error of this package and its client. Each class states its own `name`, because a bundler that shortens
 * class names would change it. The first class of a family also states the `brand` that all its errors carry.
 */
export abstract class BrandedError extends Error {
  declare protected static readonly brand: symbol;
  override readonly name: string;

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    Object.defineProperty(this, new.target.brand, { value: true });
  }

  /** `instanceof` that also works across two copies of the package (ESM and CommonJS, minified or not). */
  static is<Kind extends abstract new (...args: never[]) => BrandedError>(
    this: Kind,
    error: unknown,
  ): error is InstanceType<Kind> {
    const { brand, name } = this as unknown as typeof BrandedError;
    try {
      if (typeof error !== 'object' || error === null || !(brand in error)) return false;
      const isFirstOfFamily = Object.hasOwn(this, 'brand');
      return isFirstOfFamily || (error as { name?: unknown }).name === name;
    } catch {
      // What user code throws may be a proxy, or have getters that throw.
      return false;
    }
  }
}

/**
 * The base of every error this package throws.
 *
 * @example
 * try { constructEvent({ rawBody, signature, privateKey }); }
 * catch (error) { if (WebhookError.is(error)) response.status(error.status).end(); else throw error; }
 */
export class WebhookError extends BrandedError {
  static override readonly name: string = 'WebhookError';
  protected static override readonly brand = Symbol.for('payment-webhooks.error');
  readonly code: ErrorCode;
  /** The HTTP status that the receiver answers for this code. */
  readonly status: number;
  /** Whether the message may be shown to the sender, as in the `http-errors` package: true below 500. */
  readonly expose: boolean;
  /** The command that says what the code means. Not part of the message, which may be shown to the sender. */
  readonly help: string;

  constructor(
    code: ErrorCode,
    message: string = ANSWERS[code].message,
    options?: { readonly cause?: unknown },
  ) {
    super(message, options);
    this.code = code;
    this.status = ANSWERS[code].status;
    this.expose = this.status < 500;
    this.help = helpFor(code);
  }
}

/** The signature is missing, malformed, or made with none of the keys. Answered 401. */
export class SignatureError extends WebhookError {
  static override readonly name = 'SignatureError';
  declare readonly name: 'SignatureError';
  declare readonly code: SignatureCode;
}

/** The raw body is not usable. */
export class BodyError extends WebhookError {
  static override readonly name = 'BodyError';
  declare readonly name: 'BodyError';
  declare readonly code: BodyCode;
}

/** The body is authentic, but not an event of the declared shape; `issues` says where. */
export class EventError extends WebhookError {
  static override readonly name = 'EventError';
  declare readonly name: 'EventError';
  declare readonly code: EventCode;
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[], message?: string) {
    super('EVENT_INVALID', message);
    this.issues = issues;
  }
}

/** Handlers failed. `cause` is what one threw, or an `AggregateError` if several did. */
export class HandlerError extends WebhookError {
  static override readonly name = 'HandlerError';
  declare readonly name: 'HandlerError';
  declare readonly code: HandlerCode;

  constructor(failures: readonly unknown[], message?: string) {
    super('HANDLER_FAILED', message, {
      cause: failures.length === 1 ? failures[0] : new AggregateError(failures, 'Several handlers failed.'),
    });
  }
}

/** A store could not grant or keep a claim. */
export class StoreError extends WebhookError {
  static override readonly name = 'StoreError';
  declare readonly name: 'StoreError';
  declare readonly code: StoreCode;

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super('STORE_UNAVAILABLE', message, options);
  }
}

/** An option or argument is invalid. The message names it, what was given, and what to give instead. */
export class ConfigurationError extends WebhookError {
  static override readonly name = 'ConfigurationError';
  declare readonly name: 'ConfigurationError';
  declare readonly code: ConfigurationCode;

  constructor(message: string) {
    super('CONFIGURATION_INVALID', message);
  }
}

/** Why a delivery is refused. A station returns it and never throws it: building an Error costs more than a delivery. */
export class Rejection {
  readonly code: ErrorCode;
  /** For the operator, in the log: never sent, and without values of the request. */
  readonly hint: string | undefined;
  readonly issues: readonly Issue[] | undefined;
  readonly retryAfterMs: number | undefined;
  /** What user code threw, for programs only: never logged or sent. */
  readonly cause: unknown;
  /** None of the known keys made the signature, but a newer one may have. Strangers can cause this too. */
  readonly unproven: boolean;

  constructor(
    code: ErrorCode,
    more: {
      hint?: string;
      issues?: readonly Issue[];
      retryAfterMs?: number | undefined;
      cause?: unknown;
      unproven?: boolean;
    } = {},
  ) {
    this.code = code;
    this.hint = more.hint;
    this.issues = more.issues;
    this.retryAfterMs = more.retryAfterMs ?? ANSWERS[code].retryAfterMs;
    this.cause = more.cause;
    this.unproven = more.unproven ?? false;
  }

  /** This rejection as an error, for `constructEvent()` and jobs. */
  toError(): WebhookError {
    const { code, hint, issues, cause } = this;
    switch (code) {
      case 'KEY_MODE_MISMATCH':
        return new SignatureError(code);
      case 'BODY_MALFORMED':
        return new BodyError(code, hint);
      case 'EVENT_INVALID':
        return new EventError(issues ?? []);
      case 'CONFIGURATION_INVALID':
        return new ConfigurationError(hint ?? ANSWERS[code].message);
      case 'HANDLER_FAILED':
        return HandlerError.is(cause) ? cause : new HandlerError([cause], hint);
      case 'STORE_UNAVAILABLE':
        return new StoreError(hint ?? ANSWERS[code].message, { cause });
      default:
        return new WebhookError(code, hint, { cause });
    }
  }
}

/** An error in the receiver or the processor itself: the sender should retry. */
export function internalError(hint: string, cause: unknown): Rejection {
  return new Rejection('HANDLER_FAILED', { hint, cause });
}

const FAILED =
  "If the handler needs a row that does not exist yet, such as the order, throw new RetryAfterError('30s'): that asks for a retry without an alert.";

export function handlersFailed(cause: HandlerError): Rejection {
  return new Rejection('HANDLER_FAILED', { hint: FAILED, cause });
}

export function storeUnavailable({ message, cause }: { message: string; cause: unknown }): Rejection {
  return new Rejection('STORE_UNAVAILABLE', { hint: message, cause });
}
