// Moves the focus, finds the focused row, and handles clicks on links.

export function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

export function focusSoon(selector: string): void {
  requestAnimationFrame(() => focus(selector));
}

export function focusedRow(): string | undefined {
  const focused = document.activeElement;
  return focused instanceof HTMLElement ? focused.dataset.row : undefined;
}

/** Handles a click on a link within the page, unless it opens a new tab or window. */
export function onPlainClick(action: () => void): (event: MouseEvent) => void {
  return (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    action();
  };
}
