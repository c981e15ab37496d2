// Turns an answer into the result of a method, or into an error.
import type { Codec, Reader } from './codec.js';
import { parseRedacted, type Redact } from './credential.js';
import {
  AuthenticationError,
  ConnectionError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServiceError,
  type ServiceErrorCode,
  ValidationError,
} from './errors.js';
import { retryAfterMs } from './retry.js';
import type { HttpAnswer, Subject } from './send-request.js';

/** @throws {ServiceError} for a status that is not 2xx, for a body that is not JSON, or that the codec cannot read */
export function readAnswer<Read extends Reader>(
  answer: HttpAnswer,
  subject: Subject,
  codec: Codec,
  read: Read | undefined,
): ReturnType<Codec[Read]> {
  const { status, headers, text } = answer;
  const { endpoint, redact } = subject;
  if (status < 200 || status > 299) throw answerError(answer, subject, codec);
  if (!read) return undefined as never;
  const body = attempt(() => JSON.parse(text));
  if (body === undefined) {
    const type = redact(headers.get('content-type') ?? 'text');
    throw new ConnectionError(
      'RESPONSE_NOT_JSON',
      `${endpoint} was answered ${status} with ${text.trim() === '' ? 'nothing' : type} instead of JSON. Check that baseUrl and apiPath lead to the API.`,
    );
  }
  try {
    return codec[read](body) as ReturnType<Codec[Read]>;
  } catch (error) {
    const reason = redact(String((error as Error | null)?.message));
    throw new ServiceError(
      'RESPONSE_UNEXPECTED',
      `${endpoint} was answered ${status} in a shape that the codec cannot read: ${reason}. Replace that function of the codec.`,
      { status, body: redactedBody(text, redact) },
    );
  }
}

interface Kind {
  readonly code: ServiceErrorCode;
  readonly Class: typeof ServiceError;
  readonly hint: string;
}

const KINDS: Readonly<Record<number, Kind>> = {
  401: {
    code: 'UNAUTHENTICATED',
    Class: AuthenticationError,
    hint: 'Check that the credential is a live private key (pri_…) or a current access token of this account. A sandbox key works on the sandbox endpoints only.',
  },
  403: {
    code: 'FORBIDDEN',
    Class: PermissionError,
    hint: 'Check in the dashboard that the account is active, its identity is verified, and the token has the scope of this endpoint.',
  },
  404: {
    code: 'NOT_FOUND',
    Class: NotFoundError,
    hint: 'Check the id, and that baseUrl and apiPath lead to API v2.',
  },
  422: { code: 'VALIDATION_FAILED', Class: ValidationError, hint: '' },
  429: { code: 'RATE_LIMITED', Class: RateLimitError, hint: 'Send fewer requests.' },
};
const REFUSED: Kind = { code: 'REQUEST_REFUSED', Class: ServiceError, hint: '' };
const FAILED: Kind = {
  code: 'SERVICE_FAILED',
  Class: ServiceError,
  hint: 'The service failed. Try again later.',
};

const MAX_ISSUES = 5;
const MAX_QUOTE = 200;
const MAX_TEXT = 2_000;

function answerError(answer: HttpAnswer, { endpoint, redact }: Subject, codec: Codec): ServiceError {
  const { status } = answer;
  const { code, Class, hint } = KINDS[status] ?? (status >= 500 ? FAILED : REFUSED);
  const body = redactedBody(answer.text, redact);
  // If the codec fails here, it must not hide the error of the service.
  const issues = status === 422 ? (attempt(() => codec.issues(body)) ?? []) : [];
  const message = attempt(() => codec.message(body));
  const repeatsIssues = message === issues.map((issue) => issue.message).join(' ');
  const wait = retryAfterMs(answer.headers);
  const parts = [
    `${endpoint} was answered ${status}${message && !repeatsIssues ? `: ${quote(message)}` : '.'}`,
    ...issues.slice(0, MAX_ISSUES).map((issue) => quote(`${issue.path}: ${issue.message}`)),
    wait === undefined ? '' : `The service asks to wait ${Math.ceil(wait / 1_000)} s.`,
    hint,
  ];
  return new Class(code, parts.filter(Boolean).join(' '), { status, issues, body, retryAfterMs: wait });
}

/** Parsed if it is JSON, else the beginning of the text. */
function redactedBody(text: string, redact: Redact): unknown {
  if (text === '') return undefined;
  const json = attempt(() => parseRedacted(text, redact));
  return json === undefined ? redact(text).slice(0, MAX_TEXT) : json;
}

/** Text of the service for an error message: a sentence on one line, shortened. */
function quote(text: string): string {
  const line = text.replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  if (line.length > MAX_QUOTE) return `${line.slice(0, MAX_QUOTE)}…`;
  return /[.!?…]$/.test(line) ? line : `${line}.`;
}

/** Undefined if it throws, which is not a JSON value. */
function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
