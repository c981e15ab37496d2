// Which tables of dead letters a pool, or any other client, has, so that a claim in a transaction of it can tell whether its event has a letter.
const tables = new WeakMap<object, readonly string[]>();

/** @param table as SQL has its name */
export function noteLetterTable(pool: object, table: string): void {
  const known = letterTablesOn(pool);
  if (!known.includes(table)) tables.set(pool, [...known, table].sort());
}

export function letterTablesOn(pool: object): readonly string[] {
  return tables.get(pool) ?? [];
}
