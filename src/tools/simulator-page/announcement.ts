// What a screen reader says when deliveries finish or fail: a sentence each, or counts for many.
import type { Row } from './api.js';

const SETTLED = new Map([
  ['delivered', 'delivered'],
  ['retrying', 'will be retried'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
]);
const MAX_SENTENCES = 2;

/** What changed between two lists; empty when no delivery settled. */
export function announcement(before: readonly Row[], after: readonly Row[]): string {
  const known = new Map(before.map((row) => [row.id, row]));
  const settled = after.filter((row) => {
    const old = known.get(row.id);
    const changed = old?.status !== row.status || old.attempts !== row.attempts;
    return old !== row && changed && SETTLED.has(row.status);
  });
  if (settled.length <= MAX_SENTENCES) return settled.map(sentence).join(' ');
  const counts = new Map<string, number>();
  for (const { status } of settled) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${SETTLED.get(status)}.`).join(' ');
}

function sentence(row: Row): string {
  const answer = row.last?.status ?? row.last?.error ?? '';
  return `${row.event_name} ${SETTLED.get(row.status)}${answer ? `: ${answer}` : ''}.`;
}
