/** A driver of SQLite, for `isMissing`. */
export const SQLITE: string;
/** Programs that tests need next to Node. */
export function findProgram(name: string): string | undefined;
export function isMissing(name: string): boolean;
export function howToInstall(names: readonly string[]): string;
/** Ends the name of a test that is skipped because a program is missing. */
export function needs(names: readonly string[]): string;
/** Why tests did not run, and what to install so that they do. */
export function explainSkipped(tests: readonly string[]): string;
export function sqliteDrivers(): [name: string, open: (file: string) => import('./open-sqlite.js').Sqlite][];
