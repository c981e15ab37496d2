// The route of a page, which its URL holds: reload, links and the back button keep it.
import { useEffect, useState } from 'preact/hooks';

export interface Routing<Route> {
  readonly parse: (search: string) => Route;
  /** The URL of a route, absolute or relative to the page. */
  readonly format: (route: Route) => string;
  /** Where a route has the id of what is open. Only to open something adds an entry to the history. */
  readonly opened: keyof Route;
}

export type Navigate<Route> = (change: Partial<Route>) => void;

/** @param routing the same for as long as the page is open */
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
