// The programs other than Node that run JavaScript, each from its package of npm.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Program {
  /** For `PATH`. */
  readonly bin: string;
  /** Why it cannot be run here; undefined: it can. */
  readonly missing: string | undefined;
}

const CACHE = join(tmpdir(), 'payment-webhooks-runtimes');
const INSTALL_MS = 240_000;

/**
 * Installs the package unless an earlier run has. At once, since a test that is skipped has to be named before any test runs.
 *
 * @param command one that it brings, which answers `--version`
 */
export function installProgram(name: string, command: string): Program {
  const folder = join(CACHE, name);
  const bin = join(folder, 'node_modules/.bin');
  const runs = () => spawnSync(join(bin, command), ['--version']).status === 0;
  if (runs()) return { bin, missing: undefined };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', name];
  const { status } = spawnSync('npm', args, { cwd: folder, timeout: INSTALL_MS });
  if (status !== 0) return { bin, missing: `npm cannot install ${name} here` };
  return { bin, missing: runs() ? undefined : `${command} does not run here` };
}
