// Which failed attempts are retried, and after which delay.
import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectionError, type ServiceError } from './errors.js';
import type { FetchResponse } from './options.js';

// A POST is never retried: the service may have processed it without an answer.
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'PUT', 'DELETE']);
const TEMPORARY_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const TEMPORARY_CODE: ReadonlySet<string> = new Set(['NETWORK_FAILED', 'TIMED_OUT', 'RESPONSE_CUT']);

const FIRST_DELAY = 500;
const MAX_DELAY = 8_000;
const MAX_RETRY_AFTER = 30_000;

/**
 * Milliseconds until the next attempt, or undefined for no retry. Exponential backoff with full jitter, so that clients
 * that failed together do not retry together.
 */
export function retryDelay(
  failure: ServiceError,
  { method, retries }: { readonly method: string; readonly retries: number },
  random: () => number = Math.random,
): number | undefined {
  if (!IDEMPOTENT.has(method) || !isTemporary(failure)) return undefined;
  if (failure.retryAfterMs !== undefined) {
    return failure.retryAfterMs <= MAX_RETRY_AFTER ? failure.retryAfterMs : undefined;
  }
  return random() * Math.min(MAX_DELAY, FIRST_DELAY * 2 ** retries);
}

function isTemporary(failure: ServiceError): boolean {
  if (failure instanceof ConnectionError) return TEMPORARY_CODE.has(failure.code);
  return failure.status !== undefined && TEMPORARY_STATUS.has(failure.status);
}

/** Waits. Rejects with the reason of the caller's signal if that aborts. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => throwIfAborted(signal));
}

/** Like the method of that name, which signals of polyfills and of older jsdom do not have. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/** Those have no reason either. */
export function reasonOf(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException('This operation was aborted', 'AbortError');
}

/** Reads `Retry-After`: seconds, or a date, relative to the `Date` of the answer if it has one. */
export function retryAfterMs(headers: FetchResponse['headers']): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER);
  const then = httpDate(value);
  if (then === undefined) return undefined;
  return Math.max(0, then - (httpDate(headers.get('date')) ?? Date.now()));
}

/** Only dates that begin with a weekday, as in HTTP: `Date.parse` alone would accept almost any text. */
function httpDate(text: string | null): number | undefined {
  const time = /^[A-Z][a-z]{2,8}[, ]/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
