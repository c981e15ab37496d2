// Says what a campaign found, and keeps its history where that is asked for or where it broke a promise.
import { join } from 'node:path';
import { table, today, writeFigures } from '../../setup/figures.js';
import { type History, writeHistory } from './history.js';

export interface ReportOptions {
  /** The folder for the histories of all campaigns. */
  readonly record: string | undefined;
  progress(line: string): void;
}

export interface Reported {
  readonly name: string;
  readonly violations: readonly string[];
  readonly history: History;
}

export const FIGURES = new URL('figures.md', import.meta.url);

/** Prints each number of the campaign under its name. */
export function report({ name, violations, history, ...rest }: Reported, { record }: ReportOptions): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  const numbers = Object.entries(rest).filter(([, value]) => typeof value === 'number');
  process.stdout.write(`${name}: ${numbers.map(([what, value]) => `${what} ${value}`).join(', ')}\n`);
  for (const violation of violations) process.stdout.write(`failed: ${name}: ${violation}\n`);
  const folder = record ?? (violations.length > 0 ? '.scratch/histories' : undefined);
  if (folder === undefined) return;
  const file = join(folder, `${name.replace(/[^a-z0-9]+/gi, '-')}.jsonl`);
  writeHistory(file, history);
  process.stdout.write(`  history: ${file}\n`);
}

/** Prints a table, and replaces that of its name in figures.md. */
export function publish(name: string, head: readonly string[], rows: readonly (readonly unknown[])[]): void {
  const cells = rows.map((row) => row.map(String));
  const text = `Node ${process.version}, ${today()}.\n\n${table(head, cells)}`;
  process.stdout.write(`${text}\n`);
  writeFigures(FIGURES, name, text);
}
