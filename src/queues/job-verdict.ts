// Maps the result of a job to what its queue does, the same for every broker.

import type { Delivery, Result } from '../deliveries/delivery.js';
import { ANSWERS, type ErrorCode, Rejection, type WebhookError } from '../errors.js';
import { describeError } from '../logger.js';
import type { Outcome } from '../observer.js';
import { MAX_TIMER_MS } from '../time.js';

/**
 * What to do with a job: complete it (`done`), run it again after `delayMs` without counting an attempt (`later`), retry it
 * with a backoff (`failed`), or never run it again (`never`). The message of an error holds codes, names and stack frames,
 * never the message of a handler; its `cause` is what the handler threw.
 */
export type JobVerdict =
  | { readonly verdict: 'done'; readonly outcome: Outcome }
  | { readonly verdict: 'later'; readonly delayMs: number }
  | { readonly verdict: 'failed' | 'never'; readonly error: WebhookError };

/** A retry cannot succeed. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set(['EVENT_INVALID', 'BODY_MALFORMED']);
/** A worker of a broker without delays holds the message while it waits, so it must not wait for a whole lease of 30 s. */
const MAX_WAIT_FOR_OTHERS_MS = 1_000;

export function jobVerdict(result: Result, delivery: Delivery): JobVerdict {
  if (!(result instanceof Rejection)) return { verdict: 'done', outcome: result };
  const { code, retryAfterMs } = result;
  // These do not count as attempts: no handler has run, or one asked for a retry later.
  if (code === 'RETRY_LATER') return later(retryAfterMs, MAX_TIMER_MS);
  if (code === 'IN_PROGRESS') return later(retryAfterMs, MAX_WAIT_FOR_OTHERS_MS);
  if (code === 'STORE_UNAVAILABLE' && !delivery.calls) return later(retryAfterMs, MAX_TIMER_MS);
  const handlersRefused = code === 'HANDLER_FAILED' && delivery.verdict?.verdict === 'never';
  const verdict = handlersRefused || PERMANENT.has(code) ? 'never' : 'failed';
  return { verdict, error: errorOf(result, delivery) };
}

/** A store may return any number, or none. */
function later(ms: number | undefined, most: number): JobVerdict {
  return { verdict: 'later', delayMs: Math.min(Math.max(Math.ceil(Number(ms)) || 1_000, 1), most) };
}

function errorOf(rejection: Rejection, delivery: Delivery): WebhookError {
  const error = rejection.toError();
  const { at: frames = [] } = rejection.code === 'HANDLER_FAILED' ? describeError(error.cause) : {};
  error.message = `${rejection.code}: ${reasonOf(rejection, delivery)}`;
  error.stack = [`${error.name}: ${error.message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return error;
}

function reasonOf({ code, hint, issues }: Rejection, { calls = [] }: Delivery): string {
  if (issues) return issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  const causes = calls.flatMap(({ cause }) => cause ?? []);
  if (code !== 'HANDLER_FAILED' || causes.length === 0) return hint ?? ANSWERS[code].message;
  return causes.join('; ');
}
