// What the components of the page share: the letters, the route, the dialog to open, and the keyboard shortcuts.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { useKeys } from '../../pages/components/page-frame.js';
import type { Navigate } from '../../pages/components/use-route.js';
import type { Target } from './api.js';
import type { Route } from './route.js';
import type { Letters } from './use-letters.js';

/** What an open dialog does. */
export interface Work {
  readonly kind: 'replay' | 'discard';
  /** One letter, or all that match. */
  readonly target: Target;
  /** Describes the target. */
  readonly what: string;
}

export interface WorkDialogProps extends Work {
  readonly closed: () => void;
}

interface Shared extends Letters {
  readonly route: Route;
  readonly navigate: Navigate<Route>;
  /** Undefined if no dialog is open. */
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
  u: 'Update the list',
  '?': 'Show these shortcuts',
} as const;

export const useShortcuts = useKeys<keyof typeof SHORTCUTS>;
