// What the components of the page share: the state of the simulator, the route, and the keyboard shortcuts.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { useKeys } from '../pages/components/page-frame.js';
import type { Navigate } from '../pages/components/use-route.js';
import type { Route } from './route.js';
import type { State } from './state.js';

interface Shared extends State {
  readonly route: Route;
  readonly navigate: Navigate<Route>;
  readonly loadOlder: () => Promise<void>;
}

/** The page always provides a value. */
export const SimulatorContext = createContext({} as Shared);

export const useSimulator = () => useContext(SimulatorContext);

export const SHORTCUTS = {
  j: 'Next delivery',
  k: 'Previous delivery',
  Enter: 'Open the delivery',
  Escape: 'Close the delivery',
  r: 'Retry now, or resend',
  n: 'Trigger an event',
  '/': 'Search',
  p: 'Hold or show new deliveries',
  '?': 'Show these shortcuts',
} as const;

export const useShortcuts = useKeys<keyof typeof SHORTCUTS>;
