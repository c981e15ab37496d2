// Keeps the route of a page in its URL, for reloads, links and the back button.
import { useEffect, useState } from 'preact/hooks';

export interface Routing<Route> {
  readonly parse: (search: string) => Route;
  /** The URL of a route, absolute or relative to the page. */
  readonly format: (route: Route) => string;
  /** The field with the id of the open row. Only opening a row adds a history entry. */
  readonly opened: keyof Route;
}

export type Navigate<Route> = (change: Partial<Route>) => void;

/** @param routing must not change */
export function useRoute<Route>({ parse, format, opened }: Routing<Route>): [Route, Navigate<Route>] {
  const [route, setRoute] = useState(() => parse(location.search));
  useEffect(() => {
    const follow = () => setRoute(parse(location.search));
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, [parse]);
  const navigate = (change: Partial<Route>) => {
    const from = parse(location.search);
    const to = { ...from, ...change };
    const opens = from[opened] === undefined && to[opened] !== undefined;
    history[opens ? 'pushState' : 'replaceState'](null, '', format(to));
    setRoute(to);
  };
  return [route, navigate];
}
