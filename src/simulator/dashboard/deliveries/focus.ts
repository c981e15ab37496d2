// Where the focus is in the list, and how it gets there and to the detail.

/** The id of the delivery whose row has the focus. */
export function focusedDelivery(): string | undefined {
  const focused = document.activeElement;
  return focused instanceof HTMLElement ? focused.dataset.delivery : undefined;
}

export function focusDelivery(id: string): void {
  document.querySelector<HTMLElement>(`[data-delivery="${CSS.escape(id)}"]`)?.focus();
}

/** After something in the main part that had the focus is gone. */
export function focusMain(): void {
  document.getElementById('main')?.focus();
}

/** The name that the detail's heading has for {@link focusDetail}. */
export const DETAIL_TITLE = 'detail-title';

export function focusDetail(): void {
  document.getElementById(DETAIL_TITLE)?.focus();
}
