// The route of the page, as the URL holds it: which letters are listed, and the one that is open.

import type { DeadLetterReason } from '../../../claims/dead-letter-store.js';
import type { ReplayFilter } from '../../../dead-letters/dead-letter-filter.js';
import type { Routing } from '../../pages/components/use-route.js';

type FilterName = Exclude<keyof ReplayFilter, 'id'>;

/** As text, which the server checks. */
export type Filter = { readonly [Name in FilterName]: string | undefined };

export interface Route extends Filter {
  /** Whether the tombstones are listed. */
  readonly discarded: boolean;
  /** The id of the letter that is open. */
  readonly letter: string | undefined;
}

export type Navigate = (change: Partial<Route>) => void;

/** In the order in which the page shows them. */
export const REASONS: readonly DeadLetterReason[] = [
  'failed',
  'unknown',
  'invalid',
  'conflict',
  'rejected',
  'unfinished',
];

export const NO_FILTER: Filter = {
  reason: undefined,
  event: undefined,
  eventId: undefined,
  keyId: undefined,
  since: undefined,
};

export function filterOf({ reason, event, eventId, keyId, since }: Filter): Filter {
  return { reason, event, eventId, keyId, since };
}

export function isFiltered(filter: Filter): boolean {
  return Object.values(filterOf(filter)).some((value) => value !== undefined);
}

export function parseRoute(search: string): Route {
  const parameters = new URLSearchParams(search);
  const text = (name: string) => parameters.get(name)?.trim() || undefined;
  return {
    reason: text('reason'),
    event: text('event'),
    eventId: text('eventId'),
    keyId: text('keyId'),
    since: text('since'),
    discarded: parameters.get('discarded') === 'true',
    letter: text('letter'),
  };
}

/** Relative, because the page may stand behind any path. */
export function formatRoute({ discarded, letter, ...filter }: Route): string {
  const text = formatFilter(filter, { ...(discarded && { discarded: 'true' }), ...(letter && { letter }) });
  return text === '' ? '.' : `?${text}`;
}

export function formatFilter(filter: Filter, others: Readonly<Record<string, string>> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filterOf(filter), ...others })) {
    if (value !== undefined) parameters.set(name, value);
  }
  return parameters.toString();
}

/** Whether an event name fits a name, `refund.*`, or `*`. */
export function fitsEvent(name: string, pattern: string | undefined): boolean {
  if (pattern === undefined || pattern === '*' || pattern === name) return true;
  return pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1));
}

/** Only to open a letter adds an entry to the history. */
export const routing: Routing<Route> = {
  parse: parseRoute,
  format: formatRoute,
  adds: (from, to) => from.letter === undefined && to.letter !== undefined,
};
