// Reads filters of letters from the query or the body of a request, in the words of `hooks.deadLetters`.

import { type DeadLetterFilter, FILTERS } from '../../../dead-letters/dead-letter-filter.js';
import { ConfigurationError, refuseUnknownOptions } from '../../../errors.js';
import { HttpError } from '../../pages/http-error.js';
import type { Fields } from './page-request.js';

/** What a request asks for: the filters, and what else it may have. */
export interface Asked {
  readonly filter: DeadLetterFilter;
  readonly rest: Fields;
}

/**
 * @param others what may be given too
 * @throws {ConfigurationError} for an unknown name: without that filter more letters would be meant
 */
export function asked(fields: Fields, others: readonly string[]): Asked {
  refuseUnknownOptions(fields, [...FILTERS, ...others]);
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  const isFilter = ([name]: [string, unknown]) => FILTERS.includes(name) || name === 'discarded';
  const filter = Object.fromEntries(
    entries.filter(isFilter).map(([name, value]) => [name, asDate(name, value)]),
  );
  // What the values are is checked where they are used.
  return { filter, rest: Object.fromEntries(entries.filter((entry) => !isFilter(entry))) };
}

/** Empty values are those of a form that was not filled in. */
export function askedInQuery(query: URLSearchParams, others: readonly string[]): Asked {
  const fields = new Map<string, unknown>();
  for (const [name, value] of query) {
    if (fields.has(name)) throw new HttpError(422, `${JSON.stringify(name.slice(0, 40))} is given twice.`);
    fields.set(name, value === '' ? undefined : value);
  }
  const { discarded } = Object.fromEntries(fields);
  if (discarded === 'true' || discarded === 'false') fields.set('discarded', discarded === 'true');
  return asked(Object.fromEntries(fields), others);
}

/** JSON has no dates. A duration never begins like one. */
function asDate(name: string, value: unknown): unknown {
  if (name !== 'since' || typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return value;
  const date = new Date(value);
  if (Number.isNaN(date.getTime()))
    throw new ConfigurationError(
      `since is ${JSON.stringify(value.slice(0, 40))}. Give "7d", or a date such as "2026-01-31T12:00:00Z".`,
    );
  return date;
}
