// Moves the focus to a part of the page, and tells what a click or a key is meant for.

export function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

/** After what was just changed is rendered. */
export function focusSoon(selector: string): void {
  requestAnimationFrame(() => focus(selector));
}

/** The id of what the row with the focus shows. */
export function focusedRow(): string | undefined {
  const focused = document.activeElement;
  return focused instanceof HTMLElement ? focused.dataset.row : undefined;
}

/** Not one that opens a new tab or window. */
export function isPlainClick(event: MouseEvent): boolean {
  return event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
}
