// The route of the page, as the URL holds it: the search, and the delivery that is open with its attempt and tab.
import type { Routing } from '../pages/components/use-route.js';

export interface Route {
  readonly query: string;
  /** The id of the delivery that is open. */
  readonly delivery: string | undefined;
  /** The attempt that is shown; the latest one when left out. */
  readonly attempt: number | undefined;
  /** The tab that is shown; the first one when left out. */
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
  // A query may hold colons and commas unescaped, which reads better.
  const text = parameters.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text === '' ? '/' : `/?${text}`;
}

export const routing: Routing<Route> = { parse: parseRoute, format: formatRoute, opened: 'delivery' };
