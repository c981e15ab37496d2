// The second half of the conductor: takes proven bytes through decode, dedupe and dispatch, be they delivered or replayed.

import type { Decoded } from '../events/envelope.js';
import type { Configuration } from '../options/options.js';
import { decodeEvent } from '../receiver/decode-event.js';
import type { Deduped, Delivery } from './delivery.js';
import type { Ending } from './end-attempt.js';
import { Rejection } from './rejection.js';
import { runHandlers } from './run-handlers.js';
import { andThen } from './thenable.js';

/**
 * Never rejects.
 *
 * @param key what signed the bytes
 */
export function processEvent(
  delivery: Delivery,
  key: { readonly sandbox: boolean },
  c: Configuration,
): Deduped | Promise<Deduped> {
  return andThen(decodeEvent(delivery.rawBody, key, c), (decoded) => run(delivery, decoded, c));
}

function run(delivery: Delivery, decoded: Decoded | Rejection, c: Configuration): Deduped | Promise<Deduped> {
  if (decoded instanceof Rejection) return { result: decoded };
  delivery.decoded = decoded;
  const recipients = c.handlers.recipients(decoded);
  const orphaned = recipients.handlers.length === 0;
  const unworkable = orphaned && delivery.letter ? endingOf(decoded) : undefined;
  if (orphaned && !unworkable) return { result: decoded.rejection ?? 'ignored' };
  return runHandlers({ delivery, recipients, fingerprint: delivery.fingerprint, unworkable }, c);
}

/** How an event without a handler ends once it is kept; undefined: it is not kept. */
function endingOf({ status, rejection }: Decoded): Ending | undefined {
  switch (status) {
    case 'unknown':
      return { reason: 'unknown', result: 'kept' };
    case 'invalid':
      return { reason: 'invalid', rejection, result: 'kept' };
    case 'undecided':
      return rejection && { reason: 'failed', rejection, result: rejection };
    default:
      return undefined;
  }
}
