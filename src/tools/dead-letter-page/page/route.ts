// The route in the URL of the page: the filter, and the open letter.
import type { ReplayFilter } from '../../../dead-letters/dead-letter-filter.js';
import { readSearch } from '../../pages/components/search.js';
import type { Routing } from '../../pages/components/use-route.js';

type FilterName = Exclude<keyof ReplayFilter, 'id'>;

/** Unparsed; the server checks it. */
export type Filter = { readonly [Name in FilterName]: string | undefined };

export interface Route extends Filter {
  /** Whether the page lists discarded letters. */
  readonly discarded: boolean;
  /** The id of the open letter. */
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

/** Relative, because the page can be mounted at any path. */
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

/** The filters that the search can contain, by their key in the search. */
const SEARCH_KEYS = { event: 'event', id: 'eventId', key: 'keyId', since: 'since' } as const;
const searchKeys: ReadonlyMap<string, FilterName> = new Map(Object.entries(SEARCH_KEYS));

/** The filter as text for the search field. An event ID needs no key. */
export function searchText({ event, eventId, keyId, since }: Filter): string {
  const id = eventId?.includes(':') ? `id:${eventId}` : eventId;
  const others = { event, key: keyId, since };
  const parts = Object.entries(others).map(([key, value]) => value !== undefined && `${key}:${value}`);
  return [id, ...parts].filter(Boolean).join(' ');
}

/** Reads every filter except the reason, and says what is wrong. */
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

/** Whether an event name matches a name, `refund.*`, or `*`. */
export function fitsEvent(name: string, pattern: string | undefined): boolean {
  if (pattern === undefined || pattern === '*' || pattern === name) return true;
  return pattern.endsWith('.*') && name.startsWith(pattern.slice(0, -1));
}

export const routing: Routing<Route> = { parse: parseRoute, format: formatRoute, opened: 'letter' };
