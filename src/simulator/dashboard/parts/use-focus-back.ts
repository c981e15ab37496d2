// Gives the focus back to the button that opened something, once that is closed.
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** @returns the reference for the button, which may have been away meanwhile */
export function useFocusBack(open: boolean): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(open);
  useEffect(() => {
    if (wasOpen.current && !open) button.current?.focus();
    wasOpen.current = open;
  }, [open]);
  return button;
}
