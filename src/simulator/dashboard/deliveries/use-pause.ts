// Pauses the list: listed deliveries still change, new ones wait until it resumes.
import { useMemo, useState } from 'preact/hooks';
import type { Row } from '../api/api-types.js';

interface Pause {
  readonly listed: readonly Row[];
  readonly paused: boolean;
  /** How many new deliveries are not listed yet. */
  readonly waiting: number;
  readonly toggle: () => void;
}

export function usePause(rows: readonly Row[]): Pause {
  const [held, setHeld] = useState<readonly Row[]>();
  const listed = useMemo(() => (held ? refresh(held, rows) : rows), [held, rows]);
  return {
    listed,
    paused: held !== undefined,
    waiting: held ? countNew(held, rows) : 0,
    toggle: () => setHeld(held ? undefined : rows),
  };
}

/** The same deliveries as they are now; one that the simulator has removed, as it was. */
function refresh(held: readonly Row[], rows: readonly Row[]): readonly Row[] {
  const now = new Map(rows.map((row) => [row.id, row]));
  return held.map((row) => now.get(row.id) ?? row);
}

function countNew(held: readonly Row[], rows: readonly Row[]): number {
  const known = new Set(held.map((row) => row.id));
  return rows.filter((row) => !known.has(row.id)).length;
}
