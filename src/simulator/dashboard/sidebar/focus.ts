// Moves the focus to a place in the sidebar.

/** Goes to the first field of the trigger, and unfolds its panel for that. */
export function focusTrigger(): void {
  const panel = document.querySelector<HTMLDetailsElement>('#trigger');
  if (!panel) return;
  panel.open = true;
  panel.querySelector('input')?.focus();
}

/** Goes to the title of a panel, after something in it that had the focus is gone. */
export function focusPanel(id: 'webhooks' | 'faults'): void {
  document.querySelector<HTMLElement>(`#${id} > summary`)?.focus();
}
