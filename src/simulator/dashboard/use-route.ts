// Reads the route from the URL and changes it, so that reload, links and the back button keep it.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { formatRoute, parseRoute, type Route } from './route.js';

export type Navigate = (change: Partial<Route>) => void;

/** Opening a delivery adds an entry to the history; every other change replaces the last one. */
export function useRoute(): [Route, Navigate] {
  const [route, setRoute] = useState(() => parseRoute(location.search));
  const current = useRef(route);
  const update = useCallback((to: Route) => {
    current.current = to;
    setRoute(to);
  }, []);
  useEffect(() => {
    const follow = () => update(parseRoute(location.search));
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, [update]);
  const navigate = useCallback(
    (change: Partial<Route>) => {
      const to = { ...current.current, ...change };
      const opens = current.current.delivery === undefined && to.delivery !== undefined;
      history[opens ? 'pushState' : 'replaceState'](null, '', formatRoute(to));
      update(to);
    },
    [update],
  );
  return [route, navigate];
}
