// Moves the focus to a part of the page, for when the focused element disappears or another one opens.

export function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

/** The id of what the row with the focus shows. */
export function focusedRow(): string | undefined {
  const focused = document.activeElement;
  return focused instanceof HTMLElement ? focused.dataset.row : undefined;
}

export function focusRow(id: string): void {
  focus(`[data-row="${CSS.escape(id)}"]`);
}
