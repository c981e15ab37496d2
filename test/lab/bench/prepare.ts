// What has to be there before anything can be measured: programs, the peers, and the built package.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Installs and builds what is missing or out of date, and moves this process off the CPU of the contestants. */
export function prepare(progress: (text: string) => void): void {
  prepareOurs(progress);
  if (age(path('node_modules/.package-lock.json')) < age(path('package-lock.json'))) {
    progress('installing the contestants: npm ci in test/lab/bench');
    npm(['ci', '--loglevel=error'], path('.'));
  }
  moveTo('1');
}

/** For measurements in which only the package itself takes part. */
export function prepareOurs(progress: (text: string) => void): void {
  const missing = missingPart();
  if (missing) throw new Error(missing);
  if (age(path('../../../dist/esm/index.js')) < newest(path('../../../src'))) {
    progress('building the package');
    npm(['run', '-s', 'build'], path('../../..'));
  }
}

/** This process, and whatever it starts from here on. */
function moveTo(cpus: string): void {
  execFileSync('taskset', ['-apc', cpus, String(process.pid)], { stdio: 'ignore' });
}

function missingPart(): string | undefined {
  if (process.platform !== 'linux') return 'CPU time is read from /proc, so this runs on Linux only.';
  if (availableParallelism() < 2) return 'Two CPUs are needed: one for the server, one for the load.';
  for (const [program, debian] of [
    ['wrk', 'wrk'],
    ['taskset', 'util-linux'],
    ['cc', 'gcc libc6-dev'],
    ['redis-server', 'redis-server'],
  ] as const) {
    if (spawnSync(program, ['--version']).error) return `${program} is missing: apt-get install ${debian}`;
  }
  return undefined;
}

/** Its output goes where progress goes: the table alone is on standard output. */
function npm(args: readonly string[], cwd: string): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', process.stderr, process.stderr] });
}

/** Milliseconds; a file that is not there is older than all others. */
function age(file: string): number {
  return existsSync(file) ? statSync(file).mtimeMs : 0;
}

function newest(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return Math.max(...files.map((file) => age(`${folder}/${file}`)));
}
