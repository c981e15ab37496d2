// Checks a filter of dead letters, and turns it into a query for the store.
import { types } from 'node:util';

import { type DeadLetterQuery, type DeadLetterReason, REASONS } from '../contracts/dead-letter-store.js';
import { ConfigurationError } from '../errors.js';
import { isEventPattern, prefixOf } from '../events/event-pattern.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import { boolean } from '../options/define-options.js';
import { isKeyId } from '../signature.js';
import { parseDuration } from '../time.js';

/** Selects the letters that match every given field; without fields, all letters. */
export interface ReplayFilter {
  readonly id?: string | undefined;
  readonly reason?: DeadLetterReason | undefined;
  /** A name, `refund.*`, or `*`. The name need not be declared. */
  readonly event?: string | undefined;
  readonly eventId?: string | undefined;
  /** Letters that this private key signed: see {@link DeadLetter.keyId}. */
  readonly keyId?: string | undefined;
  /** Kept within this time, such as `'7d'`, or since this date. */
  readonly since?: string | Date | undefined;
}

export interface DeadLetterFilter extends ReplayFilter {
  /** Whether to list the tombstones of discarded letters instead of letters. @default false */
  readonly discarded?: boolean | undefined;
}

/** A query for the store, and the key id, by which {@link DeadLetterCalls} filters the answers. */
export interface LetterQuery extends DeadLetterQuery {
  readonly keyId?: string | undefined;
}

/** The names of all filters of a replay. */
export const FILTERS: readonly string[] = [
  'id',
  'reason',
  'event',
  'eventId',
  'keyId',
  'since',
] satisfies (keyof ReplayFilter)[];

/** @throws {ConfigurationError} for an unknown filter: ignoring it would select more letters */
export function queryOf(namespace: string, filter: DeadLetterFilter = {}): LetterQuery {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    throw new ConfigurationError(
      `The filter is ${show(filter)}. Pass an object such as { event: 'refund.*' }.`,
    );
  }
  refuseUnknownOptions(filter, [...FILTERS, 'discarded']);
  const { discarded = false, reason } = filter;
  boolean(discarded, 'discarded');
  if (reason !== undefined && !REASONS.has(reason)) {
    throw new ConfigurationError(`reason is ${show(reason)}. Pass one of ${[...REASONS].join(', ')}.`);
  }
  return {
    namespace,
    discarded,
    reason,
    id: checkText('id', filter.id),
    eventId: checkText('eventId', filter.eventId),
    keyId: keyIdOf(filter.keyId),
    since: sinceOf(filter.since),
    ...namesOf(filter.event),
  };
}

function checkText(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  // Postgres rejects a NUL, and no id has one.
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  throw new ConfigurationError(`${name} is ${show(value)}. Pass a string that is not empty, without a NUL.`);
}

function keyIdOf(value: unknown): string | undefined {
  if (value === undefined || isKeyId(value)) return value;
  // It may be the key itself.
  throw new ConfigurationError(
    'keyId is not the id of a key. Pass the 12 hexadecimal digits that keyId of a letter has.',
  );
}

function namesOf(event: unknown): Pick<DeadLetterQuery, 'eventName' | 'eventNamePrefix'> {
  if (event === undefined || event === '*') return {};
  if (!isEventPattern(event))
    throw new ConfigurationError(`event is ${show(event)}. Pass <resource>.<action>, <resource>.* or *.`);
  const eventNamePrefix = prefixOf(event);
  return eventNamePrefix === undefined ? { eventName: event } : { eventNamePrefix };
}

function sinceOf(since: unknown): Date | undefined {
  if (since === undefined) return undefined;
  // A number could be a duration or a time, and the wrong guess would replay too many letters.
  const duration = typeof since === 'string' ? parseDuration(since) : undefined;
  const time = types.isDate(since) ? since.getTime() : Date.now() - (duration ?? Number.NaN);
  if (!Number.isNaN(time)) return new Date(time);
  throw new ConfigurationError(`since is ${show(since)}. Pass a duration such as "7d", or a Date.`);
}
