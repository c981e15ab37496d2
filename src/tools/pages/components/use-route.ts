// The route of a page, which its URL holds: reload, links and the back button keep it.
import { useCallback, useEffect, useState } from 'preact/hooks';

export interface Routing<Route> {
  readonly parse: (search: string) => Route;
  /** The URL of a route, absolute or relative to the page. */
  readonly format: (route: Route) => string;
  /** Whether to go from one to the other adds an entry to the history. */
  readonly adds: (from: Route, to: Route) => boolean;
}

/** @param routing the same for as long as the page is open */
export function useRoute<Route>({
  parse,
  format,
  adds,
}: Routing<Route>): [Route, (change: Partial<Route>) => void] {
  const [route, setRoute] = useState(() => parse(location.search));
  useEffect(() => {
    const follow = () => setRoute(parse(location.search));
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, [parse]);
  const navigate = useCallback(
    (change: Partial<Route>) => {
      const from = parse(location.search);
      const to = { ...from, ...change };
      history[adds(from, to) ? 'pushState' : 'replaceState'](null, '', format(to));
      setRoute(to);
    },
    [parse, format, adds],
  );
  return [route, navigate];
}
