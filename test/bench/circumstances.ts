// What figures depend on beside the build under test: Node, the machine, the contestants, and how they are measured.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { machine } from '../setup/figures.js';
import { UsageError } from './options.js';

/** Files that decide about a figure. When table or targets change, the epochs are still good. */
const METHOD = [
  ...['busy-poll.c', 'deliver.lua', 'entrant.ts', 'events.ts', 'load.ts', 'load-epoch.ts', 'memory-epoch.ts'],
  ...[
    'schemes.ts',
    'serve.js',
    'store-epoch.ts',
    'store-subjects.ts',
    'store-window.ts',
    'package-lock.json',
  ],
  '../../package-lock.json',
];

export interface Circumstances extends Record<string, string> {
  /** Version of Node, with its `v`. */
  readonly node: string;
  readonly machine: string;
  readonly method: string;
}

/** @param program the Node that runs the contestants */
export function circumstancesOf(program: string): Circumstances {
  return { node: versionOf(program), machine: machine(), method: hashOfMethod() };
}

function versionOf(program: string): string {
  try {
    return execFileSync(program, ['-v'], { encoding: 'utf8' }).trim();
  } catch {
    throw new UsageError(`--node: "${program}" cannot be run. Give the path of a Node.`);
  }
}

function hashOfMethod(): string {
  const contestants = readdirSync(new URL('contestants/', import.meta.url)).map(
    (name) => `contestants/${name}`,
  );
  const hash = createHash('sha256');
  for (const name of [...METHOD, ...contestants.sort()])
    hash
      .update(`${name}\0`)
      .update(readFileSync(new URL(name, import.meta.url)))
      .update('\0');
  return hash.digest('hex').slice(0, 12);
}
