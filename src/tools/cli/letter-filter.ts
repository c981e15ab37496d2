// Which dead letters a command means: the options, and what the page is asked with.
import { REASONS } from '../../claims/dead-letter-store.js';
import type { ReplayFilter } from '../../dead-letters/dead-letter-filter.js';
import { isKeyId } from '../../signature.js';
import { isEventPattern } from '../simulator/event-pattern.js';
import { text, UsageError } from './command.js';
import { duration, oneOf } from './flag-values.js';

const reasons = [...REASONS];

export const sinceOption = text({ TIME: '7d' }, 'Only letters that were kept within this time, such as 7d.');

/** Together: letters that fit everything that is given. */
export const filterOptions = {
  reason: text({ REASON: 'unknown' }, `Only letters of this reason: ${reasons.join(', ')}.`, {
    offer: reasons,
  }),
  event: text({ NAME: "'refund.*'" }, 'Only this event, or a pattern like refund.*; * is every event.'),
  'event-id': text({ ID: '"$EVENT_ID"' }, 'Only letters of the event with this id.'),
  'key-id': text({ ID: '"$KEY_ID"' }, 'Only letters that the private key with this id signed.'),
  since: sinceOption,
  id: text({ ID: '"$LETTER_ID"' }, 'Only the letter with this id, as `dead-letters list` shows it.'),
} as const;

type FilterValues = { readonly [Name in keyof typeof filterOptions]?: string };

/** The filter as text, which the page checks again. */
export type LetterFilter = { readonly [Name in keyof ReplayFilter]?: string };

/** @throws {UsageError} naming the flag */
export function filterOf(values: FilterValues): LetterFilter {
  const { reason, event, 'event-id': eventId, 'key-id': keyId, since, id } = values;
  if (reason !== undefined) oneOf('--reason', reason, reasons);
  if (event !== undefined) checkPattern('--event', event);
  if (since !== undefined) duration('--since', since);
  for (const [flag, value] of Object.entries({ '--event-id': eventId, '--id': id }))
    if (value === '') throw new UsageError(`${flag} is empty.`);
  if (keyId !== undefined && !isKeyId(keyId))
    throw new UsageError('--key-id is not the id of a key: 12 hexadecimal digits, and never the key itself.');
  const given = Object.entries({ reason, event, eventId, keyId, since, id }).filter(
    ([, value]) => value !== undefined,
  );
  return Object.fromEntries(given);
}

export function checkPattern(flag: string, event: string): void {
  if (isEventPattern(event)) return;
  throw new UsageError(`${flag} ${JSON.stringify(event)} is not an event name or a pattern like refund.*.`);
}
