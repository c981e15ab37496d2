// The route of the page, as the URL holds it: which letters are listed, and the one that is open.
import type { ReplayFilter } from '../../../dead-letters/dead-letter-filter.js';
import { readSearch } from '../../pages/components/search.js';
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
  const text = formatFilter(filter, { discarded: discarded ? 'true' : undefined, letter });
  return text === '' ? '.' : `?${text}`;
}

export function formatFilter(filter: Filter, others: Readonly<Record<string, string | undefined>> = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filterOf(filter), ...others })) {
    if (value !== undefined) parameters.set(name, value);
  }
  return parameters.toString();
}

/** Of each filter that the search holds, its key there. */
const SEARCH_KEYS = { event: 'event', id: 'eventId', key: 'keyId', since: 'since' } as const;
const searchKeys: ReadonlyMap<string, FilterName> = new Map(Object.entries(SEARCH_KEYS));

/** The filter as the search field holds it: an event ID needs no key. */
export function searchText({ event, eventId, keyId, since }: Filter): string {
  const id = eventId?.includes(':') ? `id:${eventId}` : eventId;
  const others = { event, key: keyId, since };
  const parts = Object.entries(others).map(([key, value]) => value !== undefined && `${key}:${value}`);
  return [id, ...parts].filter(Boolean).join(' ');
}

/** Any filter but that of the reason, and what is wrong with the search. */
export function parseSearch(text: string) {
  const { tokens, words, problems } = readSearch(text, (key) =>
    searchKeys.has(key) ? undefined : `Unknown filter "${key}:". Use event:, id:, key: or since:.`,
  );
  const value = (key: string) => tokens.get(key)?.join(',');
  const eventId = value('id') ?? words[0];
  const tooMany = words.length > 1 || (words.length > 0 && tokens.has('id'));
  return {
    filter: { event: value('event'), eventId, keyId: value('key'), since: value('since') },
    problems: tooMany ? [...problems, 'Give one event ID. Payloads cannot be searched.'] : problems,
  };
}

/** Whether an event name fits a name, `refund.*`, or `*`. */
export function fitsEvent(name: string, pattern: string | undefined): boolean {
  if (pattern === undefined || pattern === '*' || pattern === name) return true;
  return pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1));
}

export const routing: Routing<Route> = { parse: parseRoute, format: formatRoute, opened: 'letter' };
