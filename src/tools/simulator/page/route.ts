// The route in the URL of the page: the search, and the open delivery with its attempt and tab.
import type { Routing } from '../../web/components/use-route.js';

export interface Route {
  readonly query: string;
  readonly delivery: string | undefined;
  /** The latest one by default. */
  readonly attempt: number | undefined;
  /** The first one by default. */
  readonly tab: string | undefined;
}

export function parseRoute(search: string): Route {
  const parameters = new URLSearchParams(search);
  return {
    query: parameters.get('q') ?? '',
    delivery: parameters.get('delivery') || undefined,
    attempt: Number(parameters.get('attempt')) || undefined,
    tab: parameters.get('tab') || undefined,
  };
}

export function formatRoute({ query, delivery, attempt, tab }: Route): string {
  const parameters = new URLSearchParams();
  if (query) parameters.set('q', query);
  if (delivery) parameters.set('delivery', delivery);
  if (delivery && attempt) parameters.set('attempt', String(attempt));
  if (delivery && tab) parameters.set('tab', tab);
  // Colons and commas are valid in a query, and easier to read unescaped.
  const text = parameters.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text === '' ? '/' : `/?${text}`;
}

export const routing: Routing<Route> = { parse: parseRoute, format: formatRoute, opened: 'delivery' };
