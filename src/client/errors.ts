// The errors of the client: one class for each kind, one code for each reason.
import { BrandedError, type Issue } from '../errors.js';

/** Why there was no usable answer. */
export type ConnectionCode =
  | 'NETWORK_FAILED'
  | 'TLS_FAILED'
  | 'TIMED_OUT'
  | 'RESPONSE_CUT'
  | 'RESPONSE_TOO_LARGE'
  | 'RESPONSE_NOT_JSON';

/** A stable code for each reason why a call of the service can fail. */
export type ServiceErrorCode =
  | ConnectionCode
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'VALIDATION_FAILED'
  | 'RATE_LIMITED'
  | 'REQUEST_REFUSED'
  | 'SERVICE_FAILED'
  | 'REDIRECT_REFUSED'
  | 'RESPONSE_UNEXPECTED';

/** What is known about a failed call. The credential is redacted. */
interface ServiceErrorDetails {
  readonly status?: number | undefined;
  readonly body?: unknown;
  readonly retryAfterMs?: number | undefined;
  readonly issues?: readonly Issue[] | undefined;
  readonly cause?: unknown;
}

/**
 * The base of every error that a call of the service rejects with.
 *
 * @example
 * try { await service.webhooks.list(); }
 * catch (error) { if (ServiceError.is(error)) console.error(error.code, error.status); else throw error; }
 */
export class ServiceError extends BrandedError {
  static override readonly name: string = 'ServiceError';
  protected static override readonly brand = Symbol.for('payment-webhooks.service-error');
  readonly code: ServiceErrorCode;
  /** The HTTP status, when the service answered. */
  declare readonly status?: number;
  /** The body of the answer, parsed if it was JSON. The credential is redacted. */
  declare readonly body?: unknown;
  /** How long to wait before the next attempt, from `Retry-After`. */
  declare readonly retryAfterMs?: number;

  constructor(code: ServiceErrorCode, message: string, details: ServiceErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    if (details.status !== undefined) this.status = details.status;
    if (details.body !== undefined) this.body = details.body;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
  }
}

/** 401: the credential is missing, malformed, not a live private key, or matches no account. */
export class AuthenticationError extends ServiceError {
  static override readonly name = 'AuthenticationError';
  declare readonly name: 'AuthenticationError';
}

/** 403: the token lacks the scope, the account is inactive, or its identity is not verified. */
export class PermissionError extends ServiceError {
  static override readonly name = 'PermissionError';
  declare readonly name: 'PermissionError';
}

/** 404: the account has no such webhook. */
export class NotFoundError extends ServiceError {
  static override readonly name = 'NotFoundError';
  declare readonly name: 'NotFoundError';
}

/** 422: the service rejects the data; `issues` names the fields. */
export class ValidationError extends ServiceError {
  static override readonly name = 'ValidationError';
  declare readonly name: 'ValidationError';
  readonly issues: readonly Issue[];

  constructor(code: ServiceErrorCode, message: string, details: ServiceErrorDetails = {}) {
    super(code, message, details);
    this.issues = details.issues ?? [];
  }
}

/** 429: too many requests. `retryAfterMs` is set if the service says how long to wait. */
export class RateLimitError extends ServiceError {
  static override readonly name = 'RateLimitError';
  declare readonly name: 'RateLimitError';
}

/** No usable answer: network, TLS, timeout, a cut or oversized body, or a body that is not JSON. It has no status. */
export class ConnectionError extends ServiceError {
  static override readonly name = 'ConnectionError';
  declare readonly name: 'ConnectionError';
  declare readonly code: ConnectionCode;

  constructor(code: ConnectionCode, message: string, details: { readonly cause?: unknown } = {}) {
    super(code, message, details);
  }
}
