// TypeScript programs with the sources that they import, compiled once, for tests that start many processes.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './shell.js';

export interface Compiled {
  /** What Node runs in place of a program. */
  of(program: string): string;
  remove(): void;
}

/** @param programs paths below the repository */
export function compile(programs: readonly string[]): Compiled {
  mkdirSync(join(ROOT, '.scratch'), { recursive: true });
  // Inside the repository, where its packages are found.
  const outdir = mkdtempSync(join(ROOT, '.scratch/compiled-'));
  const shape = ['--bundle', '--splitting', '--format=esm', '--platform=node', '--packages=external'];
  const places = [
    `--outdir=${outdir}`,
    `--tsconfig=${join(ROOT, 'tsconfig.json')}`,
    `--outbase=${ROOT}`,
    '--out-extension:.js=.mjs',
  ];
  const esbuild = join(ROOT, 'node_modules/esbuild/bin/esbuild');
  execFileSync(esbuild, [...programs, ...shape, ...places, '--log-level=warning'], { cwd: ROOT });
  return {
    of: (program) => join(outdir, program.replace(/\.ts$/, '.mjs')),
    remove: () => rmSync(outdir, { recursive: true }),
  };
}
