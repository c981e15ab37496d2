// Goes from place to place, so that a reload, a link or the back button leads to where the reader was.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Place, readPlace, writePlace } from './place.js';

/** The place, and a function that goes to another one. Opening a detail can be undone with the back button. */
export function usePlace(): [Place, (change: Partial<Place>) => void] {
  const [place, setPlace] = useState(() => readPlace(location.search));
  const here = useRef(place);
  const arrive = useCallback((to: Place) => {
    here.current = to;
    setPlace(to);
  }, []);
  useEffect(() => {
    const follow = () => arrive(readPlace(location.search));
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, [arrive]);
  const go = useCallback(
    (change: Partial<Place>) => {
      const to = { ...here.current, ...change };
      const opens = here.current.delivery === undefined && to.delivery !== undefined;
      history[opens ? 'pushState' : 'replaceState'](null, '', writePlace(to));
      arrive(to);
    },
    [arrive],
  );
  return [place, go];
}
