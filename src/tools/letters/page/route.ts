// The route in the URL of the page: the filter, and the open letter.
import type { ReplayFilter } from '../../../dead-letters/dead-letter-filter.js';
import { readSearch } from '../../web/components/search.js';
import type { Routing } from '../../web/components/use-route.js';

type FilterName = Exclude<keyof ReplayFilter, 'id'>;

const FILTER_NAMES: readonly FilterName[] = ['reason', 'event', 'eventId', 'keyId', 'cause', 'since'];

/** Unparsed; the server checks it. */
export type Filter = { readonly [Name in FilterName]: string | undefined };

export interface Route extends Filter {
  /** Whether the page lists discarded letters. */
  readonly discarded: boolean;
  readonly letter: string | undefined;
}

function filterBy(read: (name: FilterName) => string | undefined): Filter {
  return Object.fromEntries(FILTER_NAMES.map((name) => [name, read(name)])) as Filter;
}

export const NO_FILTER = filterBy(() => undefined);

export function filterOf(filter: Filter): Filter {
  return filterBy((name) => filter[name]);
}

export function isFiltered(filter: Filter): boolean {
  return FILTER_NAMES.some((name) => filter[name] !== undefined);
}

export function parseRoute(search: string): Route {
  const parameters = new URLSearchParams(search);
  const text = (name: string) => parameters.get(name)?.trim() || undefined;
  return { ...filterBy(text), discarded: parameters.get('discarded') === 'true', letter: text('letter') };
}

/** Relative, because the page can be mounted at any path. */
export function formatRoute(route: Route): string {
  const text = formatFilter(route, { discarded: route.discarded, letter: route.letter });
  return text === '' ? '.' : `?${text}`;
}

export function formatFilter(
  filter: Filter,
  others: Readonly<Record<string, string | boolean | undefined>> = {},
): string {
  const given = Object.entries({ ...filterOf(filter), ...others }).filter(([, value]) => value);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

const SEARCH_KEYS = ['event', 'id', 'key', 'cause', 'since'];

/** The filter as text for the search field. An event ID needs no key. */
export function searchText({ event, eventId, keyId, cause, since }: Filter): string {
  const id = eventId?.includes(':') ? `id:${eventId}` : eventId;
  const parts = [
    ...[id, event && `event:${event}`, keyId && `key:${keyId}`],
    ...[cause && `cause:"${cause}"`, since && `since:${since}`],
  ];
  return parts.filter(Boolean).join(' ');
}

/** Reads every filter except the reason, and says what is wrong. Without an event, key, cause or time, those of `kept` stay. */
export function parseSearch(text: string, kept: Filter) {
  const { tokens, words, problems } = readSearch(text, (key) =>
    SEARCH_KEYS.includes(key)
      ? undefined
      : `Unknown filter "${key}:". Use event:, id:, key:, cause: or since:.`,
  );
  const value = (key: string) => tokens.get(key)?.join(',');
  const eventId = value('id') ?? words[0];
  const tooMany = words.length > 1 || (words.length > 0 && tokens.has('id'));
  return {
    filter: {
      event: value('event') ?? kept.event,
      eventId,
      keyId: value('key') ?? kept.keyId,
      cause: value('cause') ?? kept.cause,
      since: value('since') ?? kept.since,
    },
    problems: tooMany ? [...problems, 'Enter one event ID. Payloads cannot be searched.'] : problems,
  };
}

export const routing: Routing<Route> = { parse: parseRoute, format: formatRoute, opened: 'letter' };
