// Where the reader is: the address holds the search and the selected delivery, so that a reload or a link leads back.
import { useCallback, useEffect, useState } from 'preact/hooks';

export interface Place {
  readonly query: string;
  /** The id of the delivery whose detail is open. */
  readonly delivery: string | undefined;
}

export function readPlace(search: string): Place {
  const parameters = new URLSearchParams(search);
  return { query: parameters.get('q') ?? '', delivery: parameters.get('delivery') || undefined };
}

export function writePlace({ query, delivery }: Place): string {
  const parameters = new URLSearchParams();
  if (query) parameters.set('q', query);
  if (delivery) parameters.set('delivery', delivery);
  // Colons and stars may stand in a query as they are, and read better.
  const text = parameters.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text === '' ? '/' : `/?${text}`;
}

/** The place, and a function that goes to another one. Opening a detail can be undone with the back button. */
export function usePlace(): [Place, (change: Partial<Place>) => void] {
  const [place, setPlace] = useState(() => readPlace(location.search));
  useEffect(() => {
    const follow = () => setPlace(readPlace(location.search));
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, []);
  const go = useCallback((change: Partial<Place>) => {
    setPlace((from) => {
      const to = { ...from, ...change };
      const opens = from.delivery === undefined && to.delivery !== undefined;
      history[opens ? 'pushState' : 'replaceState'](null, '', writePlace(to));
      return to;
    });
  }, []);
  return [place, go];
}
