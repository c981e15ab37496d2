// Moves the focus to a part of the page, for when the focused element disappears or another one opens.

export function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

/** The id of the delivery whose row has the focus. */
export function focusedDelivery(): string | undefined {
  const focused = document.activeElement;
  return focused instanceof HTMLElement ? focused.dataset.delivery : undefined;
}

export function focusDelivery(id: string): void {
  focus(`[data-delivery="${CSS.escape(id)}"]`);
}
