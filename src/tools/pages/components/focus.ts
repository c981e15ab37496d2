// Moves the focus to a part of the page, tells which row has it, and follows links.

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

/** For a link that the page follows itself, unless the click opens a new tab or window. */
export function onPlainClick(action: () => void): (event: MouseEvent) => void {
  return (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    action();
  };
}
