// Moves the focus to a part of the page.

/** The id of the delivery whose row has the focus. */
export function focusedDelivery(): string | undefined {
  const focused = document.activeElement;
  return focused instanceof HTMLElement ? focused.dataset.delivery : undefined;
}

export function focusDelivery(id: string): void {
  focus(`[data-delivery="${CSS.escape(id)}"]`);
}

/** For when the focused element of the main part disappears. */
export function focusMain(): void {
  focus('#main');
}

/** The id of the heading that {@link focusDetail} moves the focus to. */
export const DETAIL_TITLE = 'detail-title';

export function focusDetail(): void {
  focus(`#${DETAIL_TITLE}`);
}

/** Opens the panel and moves the focus to its first field. */
export function focusTrigger(): void {
  document.querySelector('#trigger')?.setAttribute('open', '');
  focus('#trigger input');
}

/** For when the focused element of a panel disappears. */
export function focusPanel(id: 'webhooks' | 'faults'): void {
  focus(`#${id} > summary`);
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}
