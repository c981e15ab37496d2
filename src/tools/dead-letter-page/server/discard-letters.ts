// Discards one letter, or all that fit and were there when it was asked.

import type { Discarded } from '../../../claims/dead-letter-store.js';
import type { DeadLetterFilter } from '../../../dead-letters/dead-letter-filter.js';
import type { DeadLetters } from '../../../dead-letters/dead-letters.js';
import { ConfigurationError, show } from '../../../errors.js';
import { HttpError } from '../../pages/http-error.js';

export interface DiscardRequest {
  readonly filter: DeadLetterFilter;
  readonly why: Pick<Discarded, 'by' | 'because'>;
  /** How many letters the user saw. */
  readonly expect?: unknown;
  /** Called after each letter that was discarded. */
  readonly onDiscarded: () => void;
}

/** @throws {HttpError} 409, with all of them still there, when other letters fit than were seen */
export async function discardLetters(letters: DeadLetters, request: DiscardRequest): Promise<void> {
  const { filter, why, expect } = request;
  if (Object.keys(filter).length === 0) {
    throw new ConfigurationError(
      'Say which letters to discard: id, reason, event, eventId or since. All of them are event: "*".',
    );
  }
  if (expect !== undefined && !Number.isSafeInteger(expect))
    throw new ConfigurationError(`expect is ${show(expect)}. Give the number of letters that you saw.`);
  // First all ids: a letter that is kept meanwhile was seen by nobody.
  const ids: string[] = [];
  for await (const { id } of letters.list(filter)) ids.push(id);
  if (expect !== undefined && ids.length !== expect) {
    throw new HttpError(
      409,
      `Now ${ids.length} letters fit, not ${expect}. Nothing was discarded. Look at them, and discard again.`,
    );
  }
  for (const id of ids) if (await letters.discard(id, why)) request.onDiscarded();
}
