// An answer that is not 2xx -> the error of its class, with what the service said and what to do about it.
import {
  AuthenticationError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServiceError,
  type ServiceErrorCode,
  type ServiceErrorDetails,
  ValidationError,
} from './errors.js';
import type { HttpAnswer } from './exchange.js';
import type { Reading } from './read-answer.js';
import { redactJson, redactText } from './redact.js';
import { retryAfterMs } from './retry.js';

type Build = (message: string, details: ServiceErrorDetails) => ServiceError;

interface Kind {
  readonly build: Build;
  readonly cure: string;
}

const kind = (
  code: ServiceErrorCode,
  Class: new (code: ServiceErrorCode, message: string, details: ServiceErrorDetails) => ServiceError,
  cure: string,
): Kind => ({ build: (message, details) => new Class(code, message, details), cure });

const KINDS: ReadonlyMap<number, Kind> = new Map([
  [
    401,
    kind(
      'UNAUTHENTICATED',
      AuthenticationError,
      'Check that the credential is a live private key (pri_…) or a current access token of this account; a sandbox key works on the sandbox endpoints only.',
    ),
  ],
  [
    403,
    kind(
      'FORBIDDEN',
      PermissionError,
      'The access token lacks the scope of this endpoint, the account is inactive, or its identity is not verified: see the dashboard.',
    ),
  ],
  [404, kind('NOT_FOUND', NotFoundError, 'Check the id, and that baseUrl and apiPath lead to API v2.')],
  [422, kind('VALIDATION_FAILED', ValidationError, '')],
  [429, kind('RATE_LIMITED', RateLimitError, '')],
]);

const REFUSED = kind('REQUEST_REFUSED', ServiceError, '');
const FAILED = kind('SERVICE_FAILED', ServiceError, 'The fault is at the service; try again later.');

const QUOTED = 200;
const KEPT_TEXT = 2_000;

export function answerError(answer: HttpAnswer, { what, codec, secrets }: Reading): ServiceError {
  const { status } = answer;
  const { build, cure } = KINDS.get(status) ?? (status >= 500 ? FAILED : REFUSED);
  const body = readBody(answer.text, secrets);
  const issues = status === 422 ? (quietly(() => codec.issues(body)) ?? []) : [];
  const wait = retryAfterMs(answer.headers);
  const said = quietly(() => codec.message(body));
  const parts = [
    `${what}: answered ${status}${said ? `, ${quote(said)}` : '.'}`,
    ...issues.slice(0, 5).map((issue) => quote(`${issue.path}: ${issue.message}`)),
    ...(wait === undefined ? [] : [`It asks to wait ${Math.ceil(wait / 1_000)} s.`]),
    cure,
  ];
  return build(parts.filter(Boolean).join(' '), {
    status,
    issues,
    ...(body === undefined ? {} : { body }),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  });
}

function readBody(text: string, secrets: readonly string[]): unknown {
  if (text === '') return undefined;
  try {
    return redactJson(JSON.parse(text), secrets);
  } catch {
    return redactText(text, secrets).slice(0, KEPT_TEXT);
  }
}

/** Somebody else's words in a message of ours: one line, and not a long one. */
function quote(text: string): string {
  const line = text.replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  return line.length > QUOTED ? `${line.slice(0, QUOTED)}…` : line;
}

/** A codec that cannot read an error must not hide the error. */
function quietly<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
