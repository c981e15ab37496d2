// The shortcuts of the list: next, previous, and retry or resend.
import { api } from '../api/api.js';
import type { Row } from '../api/api-types.js';
import { focusDelivery, focusedDelivery } from '../components/focus.js';
import { useAction } from '../components/notice.js';
import { useShortcuts } from '../components/shortcuts.js';
import type { Navigate } from '../use-route.js';

/** @param rows the rows as they are shown, in order */
export function useRowKeys(rows: readonly Row[], selected: string | undefined, navigate: Navigate): void {
  const resend = useAction(retryOrResend);
  const current = () => selected ?? focusedDelivery();
  const move = (step: number) => {
    const index = rows.findIndex(({ id }) => id === current());
    const next = rows[index === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, index + step))];
    if (!next) return;
    focusDelivery(next.id);
    if (selected) navigate({ delivery: next.id });
  };
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    r: () => {
      const row = rows.find(({ id }) => id === current());
      if (row) resend(row);
    },
  });
}

/** A pending retry is sent now; otherwise the delivery is sent once more. */
function retryOrResend(row: Row): Promise<unknown> {
  return row.next_attempt_at === null ? api.resend(row.id) : api.retryNow(row.id);
}
