// A build of this package that stays as it is while it is measured: of the working tree, or of a commit.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from './options.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** The kinds of modules that are built. */
export const HALVES = ['esm', 'cjs'] as const;
type Half = (typeof HALVES)[number];
/** Below the package, so that what a build imports is found in its node_modules. */
const BUILDS = join(ROOT, '.scratch/bench/builds');

export interface Build {
  /** For people: `working tree`, or the first digits of a commit. */
  readonly label: string;
  /** Of the code in it. */
  readonly hash: string;
  /** Has the doors, such as `index.js`. */
  readonly folder: string;
}

/** A copy of `dist`, which must be there: the next `npm run build` must not change what is being measured. */
export function buildOfWorkingTree(half: Half = 'esm'): Build {
  const built = join(ROOT, 'dist', half);
  const hash = hashOfCode(built);
  return { label: 'working tree', hash, folder: keep(built, hash) };
}

/** Built once from a temporary folder with the installed packages, and kept by the commit's hash. */
export function buildOfCommit(name: string, progress: (text: string) => void, half: Half = 'esm'): Build {
  const commit = resolve(name);
  const label = commit.slice(0, 9);
  const folder = join(BUILDS, nameOf(commit, half));
  if (!existsSync(folder)) {
    progress(`building ${label}`);
    const source = mkdtempSync(join(tmpdir(), 'payment-webhooks-build-'));
    try {
      const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 2 ** 30 });
      execFileSync('tar', ['-x', '-C', source], { input: archive });
      symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'));
      execFileSync(process.execPath, ['test/setup/build.js'], { cwd: source, stdio: [0, 2, 2] });
      for (const each of HALVES) keep(join(source, 'dist', each), nameOf(commit, each));
    } finally {
      rmSync(source, { recursive: true, force: true });
    }
  }
  return { label, hash: hashOfCode(folder), folder };
}

function nameOf(commit: string, half: Half): string {
  return half === 'esm' ? commit : `${commit}-${half}`;
}

function resolve(name: string): string {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  } catch {
    throw new UsageError(`--ab: "${name}" is not a commit of this repository.`);
  }
}

/** Renamed when it is whole, so that a run that was cut off leaves no half of a build. */
function keep(built: string, name: string): string {
  const folder = join(BUILDS, name);
  if (existsSync(folder)) return folder;
  const copy = `${folder}.copy`;
  rmSync(copy, { recursive: true, force: true });
  cpSync(built, copy, { recursive: true });
  renameSync(copy, folder);
  return folder;
}

/** Of names and contents of all JavaScript in the folder. */
function hashOfCode(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (name.endsWith('.js'))
      hash
        .update(`${name}\0`)
        .update(readFileSync(join(folder, name)))
        .update('\0');
  }
  return hash.digest('hex').slice(0, 12);
}
