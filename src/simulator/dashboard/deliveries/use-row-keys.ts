// The single keys of the list: down, up, and sending the current delivery again.
import { api } from '../live/api.js';
import type { Row } from '../live/wire.js';
import { useAction } from '../parts/notice.js';
import { useShortcuts } from '../parts/shortcuts.js';
import type { Place } from '../place.js';
import { focusDelivery, focusedDelivery } from './focus.js';

/** @param rows those that are shown, in their order */
export function useRowKeys(
  rows: readonly Row[],
  selected: string | undefined,
  go: (change: Partial<Place>) => void,
): void {
  const repeat = useAction(sendAgain);
  const current = () => selected ?? focusedDelivery();
  const move = (step: number) => {
    const index = rows.findIndex(({ id }) => id === current());
    const next = rows[index === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, index + step))];
    if (!next) return;
    focusDelivery(next.id);
    if (selected) go({ delivery: next.id });
  };
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    r: () => {
      const row = rows.find(({ id }) => id === current());
      if (row) repeat(row);
    },
  });
}

/** At once if it waits for its time, else once more. */
function sendAgain(row: Row): Promise<unknown> {
  return row.next_attempt_at === null ? api.resend(row.id) : api.retryNow(row.id);
}
