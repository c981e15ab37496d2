// Which tables of dead letters a pool has, so that a claim in a transaction of it can tell whether its event has a letter.
import type { PostgresPool } from './pool.js';

const tables = new WeakMap<PostgresPool, readonly string[]>();

/** @param table as SQL has its name */
export function noteLetterTable(pool: PostgresPool, table: string): void {
  const known = letterTablesOn(pool);
  if (!known.includes(table)) tables.set(pool, [...known, table].sort());
}

export function letterTablesOn(pool: PostgresPool): readonly string[] {
  return tables.get(pool) ?? [];
}
