// How long a job waits that cannot run yet. Attempts are for handlers, so the wait costs none.

import type { Rejection } from '../errors.js';
import type { Delivery } from '../handlers/delivery.js';
import { MAX_TIMER_MS } from '../options/duration.js';

/** Milliseconds. Undefined for a job that has used up an attempt: neither in progress elsewhere, nor stopped by its store. */
export function delayOf({ code, retryAfterMs }: Rejection, { calls }: Delivery): number | undefined {
  if (code !== 'IN_PROGRESS' && (code !== 'STORE_UNAVAILABLE' || calls)) return undefined;
  // A store may return any number, or none.
  return Math.min(Math.max(Math.ceil(Number(retryAfterMs)) || 1_000, 1), MAX_TIMER_MS);
}
