// Moves the focus: to a part of the page, or to the next and previous row with `j` and `k`.

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

/**
 * @param ids of the rows that are listed
 * @param selected the row that is open; the others open as the focus moves
 */
export function rowKeys(
  ids: readonly string[],
  selected: string | undefined,
  select: (id: string) => void,
): Record<'j' | 'k', () => void> {
  const move = (step: number) => {
    const index = ids.indexOf(selected ?? focusedRow() ?? '');
    const next = ids[index === -1 ? 0 : Math.min(ids.length - 1, Math.max(0, index + step))];
    if (next === undefined) return;
    focusRow(next);
    if (selected !== undefined) select(next);
  };
  return { j: () => move(1), k: () => move(-1) };
}
