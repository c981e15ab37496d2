// Which failed tries are repeated, and how long to wait before the next.
import { ConnectionError, type ServiceError } from './errors.js';

// A POST that got no answer may have been carried out, so it is never repeated.
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'PUT', 'DELETE']);
const PASSING_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const PASSING_CODE: ReadonlySet<string> = new Set(['NETWORK_FAILED', 'TIMED_OUT', 'RESPONSE_CUT']);

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;
/** The longest that a call waits because the service asked it to. */
const LONGEST_WISH = 30_000;

/**
 * Milliseconds until the next try, or undefined when there should be none. Full jitter (anything up to a
 * bound that doubles), so that many clients who failed together do not come back together.
 */
export function nextTry(
  failure: ServiceError,
  { method, tried }: { readonly method: string; readonly tried: number },
  random: () => number = Math.random,
): number | undefined {
  if (!REPEATABLE.has(method) || !mayPass(failure)) return undefined;
  if (failure.retryAfterMs !== undefined) {
    return failure.retryAfterMs <= LONGEST_WISH ? failure.retryAfterMs : undefined;
  }
  return random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** tried);
}

function mayPass(failure: ServiceError): boolean {
  if (failure instanceof ConnectionError) return PASSING_CODE.has(failure.code);
  return failure.status !== undefined && PASSING_STATUS.has(failure.status);
}

/** What `Retry-After` asks for: seconds, or a date, which is read against the service's own clock where it tells it. */
export function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER);
  const then = httpDate(value);
  if (then === undefined) return undefined;
  return Math.max(0, then - (httpDate(headers.get('date')) ?? Date.now()));
}

/** Only dates with a day's name, as HTTP has them: `Date.parse` would read almost anything. */
function httpDate(text: string | null): number | undefined {
  const time = /^[A-Z][a-z]{2,8}[, ]/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
