// Remembers which dead-letter tables a client has, so that a claim can look for letters.
const tables = new WeakMap<object, readonly string[]>();

/** @param table as SQL has its name */
export function noteLetterTable(pool: object, table: string): void {
  const known = letterTablesOn(pool);
  if (!known.includes(table)) tables.set(pool, [...known, table].sort());
}

export function letterTablesOn(pool: object): readonly string[] {
  return tables.get(pool) ?? [];
}

/** A rival that has kept the event waits for our commit for a second. It has given up only where the commit took longer. */
const LONG_COMMIT_MS = 500;

/**
 * Whether there may be a letter once the commit is confirmed.
 *
 * @param kept what the completing statement saw; undefined where it was not asked
 * @param began when that statement was sent, by the monotonic clock
 */
export function keptAfterCommit(kept: boolean | undefined, began: number): boolean | undefined {
  return kept === false ? performance.now() - began > LONG_COMMIT_MS : kept;
}
