// The keys that move through a list: `j` to the next row, `k` to the previous one.
import { focusedRow, focusRow } from './focus.js';

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
