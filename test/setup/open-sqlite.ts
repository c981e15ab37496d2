// Opens SQLite by better-sqlite3 if npm could install it, else by node:sqlite. Tests with it use `needing('SQLite')`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteDrivers } from './programs.js';

/** What both drivers have. */
export interface Sqlite {
  prepare(sql: string): {
    all(...values: (string | null)[]): unknown[];
    run(...values: (string | null)[]): unknown;
  };
  exec(sql: string): unknown;
  /** Adds a function to SQL, by its name and number of parameters. */
  function(name: string, run: (argument: unknown) => number): unknown;
  close(): unknown;
}

/** Each driver that works here, with its name. Needs `needing('SQLite')`. */
export const SQLITE_DRIVERS = sqliteDrivers();

/** For `needing('SQLite').describe.each`, which skips by name: Jest takes no empty table. */
export const EACH_SQLITE: typeof SQLITE_DRIVERS =
  SQLITE_DRIVERS.length > 0 ? SQLITE_DRIVERS : [['no driver', openSqlite]];

/** @param file a database that is created if it does not exist */
export function openSqlite(file = ':memory:'): Sqlite {
  const open = SQLITE_DRIVERS[0]?.[1];
  if (!open) throw new Error('No driver of SQLite works here.');
  return open(file);
}

/** A path in a new folder. */
export function sqliteFile(): { readonly file: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'webhooks-sqlite-'));
  return {
    file: join(folder, 'shop.db'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
