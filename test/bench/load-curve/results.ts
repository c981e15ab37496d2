// What was measured so far, in a file, so that a run that ends early goes on where it was.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Cell, Result } from './cell.js';

/** What has to be the same in all that is compared. */
export interface Conditions {
  /** Hash of the code. */
  readonly build: string;
  readonly node: string;
  readonly machine: string;
  readonly seconds: number;
}

export class Results {
  readonly #file: string;
  readonly #conditions: Conditions;
  readonly all: Result[] = [];

  /** Takes over what is in the file, unless it was measured under other conditions. */
  constructor(file: string, conditions: Conditions) {
    this.#file = file;
    this.#conditions = conditions;
    if (!existsSync(file)) return;
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { conditions: Conditions; results: Result[] };
    if (JSON.stringify(kept.conditions) === JSON.stringify(conditions)) this.all.push(...kept.results);
  }

  has(cell: Cell): boolean {
    return this.all.some(
      ({ store, ms, epoch }) => store === cell.store && ms === cell.ms && epoch === cell.epoch,
    );
  }

  add(result: Result): void {
    this.all.push(result);
    mkdirSync(dirname(this.#file), { recursive: true });
    const text = JSON.stringify({ conditions: this.#conditions, results: this.all }, undefined, 1);
    writeFileSync(`${this.#file}.new`, text);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
