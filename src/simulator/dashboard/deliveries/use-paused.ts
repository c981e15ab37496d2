// Holds the list still: what is listed goes on changing, what is new waits until the list goes on.
import { useMemo, useState } from 'preact/hooks';
import type { Row } from '../live/wire.js';

interface Paused {
  readonly listed: readonly Row[];
  readonly paused: boolean;
  /** How many deliveries wait to be listed. */
  readonly waiting: number;
  readonly toggle: () => void;
}

export function usePaused(rows: readonly Row[]): Paused {
  const [held, setHeld] = useState<readonly Row[]>();
  const listed = useMemo(() => (held ? refreshed(held, rows) : rows), [held, rows]);
  return {
    listed,
    paused: held !== undefined,
    waiting: held ? newer(held, rows) : 0,
    toggle: () => setHeld(held ? undefined : rows),
  };
}

/** The same deliveries as they are now; one that has made room for others as it was. */
function refreshed(held: readonly Row[], rows: readonly Row[]): readonly Row[] {
  const now = new Map(rows.map((row) => [row.id, row]));
  return held.map((row) => now.get(row.id) ?? row);
}

function newer(held: readonly Row[], rows: readonly Row[]): number {
  const known = new Set(held.map((row) => row.id));
  return rows.filter((row) => !known.has(row.id)).length;
}
