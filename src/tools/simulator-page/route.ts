// The route of the page, as the URL holds it: the search, and the delivery that is open.
import type { Routing } from '../pages/components/use-route.js';

export interface Route {
  readonly query: string;
  /** The id of the delivery that is open. */
  readonly delivery: string | undefined;
}

export type Navigate = (change: Partial<Route>) => void;

export function parseRoute(search: string): Route {
  const parameters = new URLSearchParams(search);
  return { query: parameters.get('q') ?? '', delivery: parameters.get('delivery') || undefined };
}

export function formatRoute({ query, delivery }: Route): string {
  const parameters = new URLSearchParams();
  if (query) parameters.set('q', query);
  if (delivery) parameters.set('delivery', delivery);
  // A query may hold colons and commas unescaped, which reads better.
  const text = parameters.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text === '' ? '/' : `/?${text}`;
}

/** Only to open a delivery adds an entry to the history. */
export const routing: Routing<Route> = {
  parse: parseRoute,
  format: formatRoute,
  adds: (from, to) => from.delivery === undefined && to.delivery !== undefined,
};
