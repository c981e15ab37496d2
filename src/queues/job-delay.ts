// How long a job waits that cannot run yet. Attempts are for handlers, so the wait costs none.

import type { Rejection } from '../errors.js';
import type { Delivery } from '../handlers/delivery.js';
import { MAX_TIMER_MS } from '../options/duration.js';

/** Milliseconds. Undefined for a job that has used up an attempt: a handler did not ask for it, nor did its store. */
export function delayOf({ code, retryAfterMs }: Rejection, { calls }: Delivery): number | undefined {
  const waits = code === 'IN_PROGRESS' || code === 'RETRY_LATER' || (code === 'STORE_UNAVAILABLE' && !calls);
  if (!waits) return undefined;
  // A store may return any number, or none.
  return Math.min(Math.max(Math.ceil(Number(retryAfterMs)) || 1_000, 1), MAX_TIMER_MS);
}
