// What a call of the service can fail with: one class per kind, one code per reason.
import type { Issue } from '../errors.js';

/** Why no usable answer came. */
export type ConnectionCode =
  | 'NETWORK_FAILED'
  | 'TLS_FAILED'
  | 'TIMED_OUT'
  | 'RESPONSE_CUT'
  | 'RESPONSE_TOO_LARGE'
  | 'RESPONSE_NOT_JSON';

/** A stable name for each thing that a call of the service can fail with. */
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

/** What is known about a failed call; the credential in use has been taken out of all of it. */
export interface ServiceErrorDetails {
  readonly status?: number;
  readonly body?: unknown;
  readonly retryAfterMs?: number;
  readonly issues?: readonly Issue[];
  readonly cause?: unknown;
}

const BRAND = Symbol.for('payment-webhooks.service-error');

/**
 * The base of every error that a call of the service rejects with.
 *
 * @example
 * try { await service.webhooks.list(); }
 * catch (error) { if (ServiceError.is(error)) console.error(error.code, error.status); else throw error; }
 */
export class ServiceError extends Error {
  override readonly name: string = 'ServiceError';
  readonly code: ServiceErrorCode;
  /** The HTTP status, when the service answered. */
  declare readonly status?: number;
  /** What the service answered, parsed when it was JSON, without the credential. */
  declare readonly body?: unknown;
  /** How long the service asks you to wait before the next try. */
  declare readonly retryAfterMs?: number;

  constructor(code: ServiceErrorCode, message: string, details: ServiceErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    if (details.status !== undefined) this.status = details.status;
    if (details.body !== undefined) this.body = details.body;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** `instanceof` that also works across two copies of the package (ESM beside CommonJS). */
  static is<Kind extends abstract new (...args: never[]) => ServiceError>(
    this: Kind,
    error: unknown,
  ): error is InstanceType<Kind> {
    if (typeof error !== 'object' || error === null || !(BRAND in error)) return false;
    return this.name === 'ServiceError' || (error as { name?: unknown }).name === this.name;
  }
}

/** 401: the credential is missing, malformed, no live private key, or matches no account. */
export class AuthenticationError extends ServiceError {
  override readonly name = 'AuthenticationError';
}

/** 403: the token lacks the scope, the account is inactive, or its identity is not verified. */
export class PermissionError extends ServiceError {
  override readonly name = 'PermissionError';
}

/** 404: there is no such webhook on the account. */
export class NotFoundError extends ServiceError {
  override readonly name = 'NotFoundError';
}

/** 422: the service does not take what was sent; `issues` says where. */
export class ValidationError extends ServiceError {
  override readonly name = 'ValidationError';
  readonly issues: readonly Issue[];

  constructor(code: ServiceErrorCode, message: string, details: ServiceErrorDetails = {}) {
    super(code, message, details);
    this.issues = details.issues ?? [];
  }
}

/** 429: too many requests; `retryAfterMs` says how long to wait, when the service did. */
export class RateLimitError extends ServiceError {
  override readonly name = 'RateLimitError';
}

/** No usable answer: network, TLS, timeout, a cut or oversized body, or no JSON. It has no status. */
export class ConnectionError extends ServiceError {
  override readonly name = 'ConnectionError';
  declare readonly code: ConnectionCode;

  constructor(code: ConnectionCode, message: string, details: { readonly cause?: unknown } = {}) {
    super(code, message, details);
  }
}
