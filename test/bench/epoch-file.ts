// The epochs of one experiment on disk, a line of JSON each, so that a run that was cut off can be continued.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Epoch } from './epoch.js';
import type { Experiment } from './experiment.js';

export class EpochFile {
  readonly path: string;

  constructor(folder: string, { name, key }: Pick<Experiment, 'name' | 'key'>) {
    this.path = join(folder, `${name}-${hashOf(key)}.jsonl`);
  }

  /** Without a last line that was cut off. */
  read(): Epoch[] {
    return this.#lines().flatMap((line) => parse(line) ?? []);
  }

  append(epoch: Epoch): void {
    mkdirSync(dirname(this.path), { recursive: true });
    // What a cut-off line left behind must not swallow this one.
    const start = this.#lines().at(-1) ? '\n' : '';
    appendFileSync(this.path, `${start}${JSON.stringify(epoch)}\n`);
  }

  delete(): void {
    rmSync(this.path, { force: true });
  }

  #lines(): string[] {
    return existsSync(this.path) ? readFileSync(this.path, 'utf8').split('\n') : [];
  }
}

/** The same for the same entries in any order. */
function hashOf(key: Experiment['key']): string {
  const entries = Object.entries(key).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 12);
}

function parse(line: string): Epoch | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
