// The letters that match, loaded page by page, and what else the components of the page share.
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, messageOf } from '../../web/components/api-client.js';
import { useKeys } from '../../web/components/page-frame.js';
import type { Navigate } from '../../web/components/use-route.js';
import { api, type Letter, type LetterList, type Summary, type Target } from './api.js';
import { type Filter, filterOf, formatFilter, type Route } from './route.js';

export interface Loaded extends LetterList {
  /** Counts for every reason and event name. */
  readonly summary: Summary;
  /** How many letters match, on all pages. */
  readonly total: number;
  /** The filter of this answer. The route may already have another one. */
  readonly filter: Filter;
  readonly discarded: boolean;
}

const POLL_MS = 10_000;

export function useLetters(route: Route) {
  /** Undefined until the first answer. */
  const [loaded, setLoaded] = useState<Loaded>();
  const [problem, setProblem] = useState<string>();
  // An answer to an older request must not replace a newer one.
  const latest = useRef(0);
  const rendered = useRef({ loaded, route });
  rendered.current = { loaded, route };
  const load = async (least: number) => {
    latest.current += 1;
    const turn = latest.current;
    let found: Loaded | undefined;
    let failure: unknown;
    try {
      found = await loadAll(rendered.current.route, least);
    } catch (error) {
      failure = error;
    }
    if (turn !== latest.current) return undefined;
    // A signed-out user must no longer see the letters.
    if (found || isRefusal(failure)) setLoaded(found);
    setProblem(found ? undefined : messageOf(failure));
    return found;
  };
  useEffect(() => void load(1), [formatFilter(route), route.discarded]);
  /** Reloads as many letters as are listed. */
  const reload = () => load(rendered.current.loaded?.letters.length ?? 1);
  useEffect(() => {
    const poll = async () => {
      const before = rendered.current.loaded;
      // Not behind a dialog, whose counts must not change, and not in a hidden tab.
      if (!before || document.hidden || document.querySelector('dialog[open]')) return;
      const { filter, discarded, summary } = before;
      const now = await summaryOf(filter, discarded).catch((error) => !isRefusal(error) && summary);
      if (JSON.stringify(now) !== JSON.stringify(summary)) await reload();
    };
    const timer = setInterval(poll, POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const more = async () => {
    const before = rendered.current.loaded;
    if (!before?.next) return;
    const turn = latest.current;
    const page = await api.letters(before.filter, before.discarded, before.next);
    const letters = join(before.letters, page.letters);
    if (turn === latest.current) setLoaded({ ...before, ...page, letters });
  };
  return { loaded, problem, reload, more };
}

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

/** Counts every reason and name, so that the page shows the alternatives. */
function summaryOf(filter: Filter, discarded: boolean): Promise<Summary> {
  return api.summary(anyKind(filter), discarded);
}

/** The filter without what the groups choose. */
export function anyKind(filter: Filter): Filter {
  return { ...filter, reason: undefined, event: undefined, cause: undefined };
}

/** @param least loads at least so many letters, if they exist */
async function loadAll(route: Route, least: number): Promise<Loaded> {
  const filter = filterOf(route);
  const { discarded } = route;
  const counting = summaryOf(filter, discarded);
  const narrower = formatFilter(filter) !== formatFilter(anyKind(filter));
  const [summary, { total }, first] = await Promise.all([
    counting,
    narrower ? api.summary(filter, discarded) : counting,
    api.letters(filter, discarded),
  ]);
  let { letters, next } = first;
  while (next !== null && letters.length < least) {
    const page: LetterList = await api.letters(filter, discarded, next);
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

/** What an open dialog does. */
export interface Work {
  readonly kind: 'replay' | 'discard';
  /** One letter, or all that match. */
  readonly target: Target;
  readonly what: string;
}

export interface WorkDialogProps extends Work {
  readonly closed: () => void;
}

interface Shared extends ReturnType<typeof useLetters> {
  readonly route: Route;
  readonly navigate: Navigate<Route>;
  readonly work: Work | undefined;
  readonly setWork: (work: Work | undefined) => void;
}

/** The page always provides a value. */
export const LettersContext = createContext({} as Shared);

export const usePage = () => useContext(LettersContext);

export const SHORTCUTS = {
  '/': 'Find by event ID, or filter',
  j: 'Next dead letter',
  k: 'Previous dead letter',
  Enter: 'Open the dead letter',
  Escape: 'Close the dead letter',
  r: 'Replay the dead letter',
  d: 'Discard the dead letter',
  a: 'Replay all that match',
  u: 'Refresh the list',
  '?': 'Show these shortcuts',
} as const;

export const useShortcuts = useKeys<keyof typeof SHORTCUTS>;
