// Loads the matching letters page by page, and the counts by reason and name.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, messageOf } from '../../pages/components/api-client.js';
import { api, type Letter, type LetterPage, type Summary } from './api.js';
import { type Filter, filterOf, formatFilter, NO_FILTER, type Route } from './route.js';

export interface Loaded extends LetterPage {
  /** Counts for every reason and event name. */
  readonly summary: Summary;
  /** How many letters match, on all pages. */
  readonly total: number;
  /** The filter of this answer. The route may already have another one. */
  readonly filter: Filter;
  readonly discarded: boolean;
}

export interface Letters {
  /** Undefined until the first answer. */
  readonly loaded: Loaded | undefined;
  readonly problem: string | undefined;
  /** Reloads as many letters as are listed. */
  readonly reload: () => Promise<Loaded | undefined>;
  /** Loads the next page. */
  readonly more: () => Promise<void>;
}

const POLL_MS = 10_000;

export function useLetters(route: Route): Letters {
  const [loaded, setLoaded] = useState<Loaded>();
  const [problem, setProblem] = useState<string>();
  // An answer to an older request must not replace a newer one.
  const latest = useRef(0);
  const shown = useRef(loaded);
  shown.current = loaded;
  const wanted = useRef(route);
  wanted.current = route;
  const load = async (least: number) => {
    latest.current += 1;
    const turn = latest.current;
    try {
      const found = await loadAll(wanted.current, least);
      if (turn !== latest.current) return undefined;
      setLoaded(found);
      setProblem(undefined);
      return found;
    } catch (error) {
      if (turn !== latest.current) return undefined;
      // A signed-out user must not see the letters of before.
      if (isRefusal(error)) setLoaded(undefined);
      setProblem(messageOf(error));
      return undefined;
    }
  };
  useEffect(() => void load(1), [formatFilter(route), route.discarded]);
  const reload = () => load(shown.current?.letters.length ?? 1);
  useEffect(() => {
    const poll = async () => {
      const before = shown.current;
      // Not behind a dialog, whose counts must not change, and not in a hidden tab.
      if (!before || document.hidden || document.querySelector('dialog[open]')) return;
      const now = await summaryOf(before).catch((error) => (isRefusal(error) ? undefined : before.summary));
      if (JSON.stringify(now) !== JSON.stringify(before.summary)) await reload();
    };
    const timer = setInterval(poll, POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const more = async () => {
    const before = shown.current;
    if (before?.next == null) return;
    const turn = latest.current;
    const page = await api.letters(before.filter, { discarded: before.discarded, after: before.next });
    if (turn === latest.current)
      setLoaded({ ...before, ...page, letters: join(before.letters, page.letters) });
  };
  return { loaded, problem, reload, more };
}

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

/** Counts every reason and name, so that the page shows the alternatives. */
function summaryOf({ filter, discarded }: Pick<Loaded, 'filter' | 'discarded'>): Promise<Summary> {
  const { eventId, keyId, since } = filter;
  return api.summary({ ...NO_FILTER, eventId, keyId, since }, discarded);
}

/** @param least loads at least so many letters, if they exist */
async function loadAll(route: Route, least: number): Promise<Loaded> {
  const filter = filterOf(route);
  const { discarded } = route;
  const counting = summaryOf({ filter, discarded });
  const narrower = filter.reason !== undefined || filter.event !== undefined;
  const [summary, { total }, first] = await Promise.all([
    counting,
    narrower ? api.summary(filter, discarded) : counting,
    api.letters(filter, { discarded }),
  ]);
  let { letters, next } = first;
  while (next !== null && letters.length < least) {
    const page: LetterPage = await api.letters(filter, { discarded, after: next });
    letters = join(letters, page.letters);
    next = page.next;
  }
  return { summary, total, letters, next, filter, discarded };
}

/** A letter can move to a later page between two requests. */
function join(before: readonly Letter[], more: readonly Letter[]): readonly Letter[] {
  const known = new Set(before.map(({ id }) => id));
  return [...before, ...more.filter(({ id }) => !known.has(id))];
}
