// Moves the focus to a part of the page, and back to the button that opened something.
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** The id of the delivery whose row has the focus. */
export function focusedDelivery(): string | undefined {
  const focused = document.activeElement;
  return focused instanceof HTMLElement ? focused.dataset.delivery : undefined;
}

export function focusDelivery(id: string): void {
  document.querySelector<HTMLElement>(`[data-delivery="${CSS.escape(id)}"]`)?.focus();
}

/** For when the focused element of the main part disappears. */
export function focusMain(): void {
  document.getElementById('main')?.focus();
}

/** The id of the heading that {@link focusDetail} moves the focus to. */
export const DETAIL_TITLE = 'detail-title';

export function focusDetail(): void {
  document.getElementById(DETAIL_TITLE)?.focus();
}

/** Opens the panel and moves the focus to its first field. */
export function focusTrigger(): void {
  const panel = document.querySelector<HTMLDetailsElement>('#trigger');
  if (!panel) return;
  panel.open = true;
  panel.querySelector('input')?.focus();
}

/** For when the focused element of a panel disappears. */
export function focusPanel(id: 'webhooks' | 'faults'): void {
  document.querySelector<HTMLElement>(`#${id} > summary`)?.focus();
}

/** @returns the reference for the button, which may be gone while the other thing is open */
export function useFocusReturn(open: boolean): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(open);
  useEffect(() => {
    if (wasOpen.current && !open) button.current?.focus();
    wasOpen.current = open;
  }, [open]);
  return button;
}
