// The keyboard shortcuts of the page.
import { useKeys } from '../pages/components/page-frame.js';

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
