// The keyboard shortcuts of the page.
import { useKeys } from '../../pages/components/page-frame.js';

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
