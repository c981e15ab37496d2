// Keeps the results in a file, so that a run that ends early can be continued.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Result } from './cell.js';

/** Only results of the same conditions are compared. */
export interface Conditions {
  /** Hash of the code. */
  readonly build: string;
  readonly node: string;
  readonly machine: string;
  readonly seconds: number;
}

/** Empty if there is no file, or if it was measured under other conditions. */
export function readResults(file: string, conditions: Conditions): Result[] {
  if (!existsSync(file)) return [];
  const kept = JSON.parse(readFileSync(file, 'utf8')) as { conditions: Conditions; results: Result[] };
  return JSON.stringify(kept.conditions) === JSON.stringify(conditions) ? kept.results : [];
}

export function writeResults(file: string, conditions: Conditions, results: readonly Result[]): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify({ conditions, results }, undefined, 1));
  renameSync(`${file}.new`, file);
}
