// Events that were accepted, and undone by a failover: their transaction was on the lost server only.
import { groupRows } from '../check-history.js';
import type { LedgerRow } from '../merchant.js';
import type { Sent } from '../sender.js';

/** Events that were answered 2xx, and whose row is gone; another delivery may have written a later one. */
export function countUndone(sent: readonly Sent[], rows: readonly LedgerRow[]): number {
  const accepted = new Map<string, number>();
  for (const { id, attempts } of sent) {
    const last = attempts.at(-1);
    if (last?.status === undefined || last.status >= 300) continue;
    accepted.set(id, Math.min(last.answeredAt, accepted.get(id) ?? Number.POSITIVE_INFINITY));
  }
  const rowsOf = groupRows(rows);
  const first = (id: string) => Math.min(...(rowsOf.get(id) ?? []).map(({ at }) => at));
  // Both clocks are this machine's; one of them counts whole milliseconds.
  return [...accepted].filter(([id, answeredAt]) => first(id) > answeredAt + 1).length;
}
