// Installs Bun, Deno and wrangler, which several files start.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CACHE = join(tmpdir(), 'payment-webhooks-runtimes');

/**
 * From npm, unless an earlier run has. At once, since a test that is skipped has to be named before any test runs.
 *
 * @returns the folder of its command, and why it cannot be run here
 */
export function installRuntime({
  package: name,
  command,
}: {
  /** What npm calls it. */
  readonly package: string;
  readonly command: string;
}): { readonly bin: string; readonly missing: string | undefined } {
  const cwd = join(CACHE, name);
  const bin = join(cwd, 'node_modules/.bin');
  const runs = () => spawnSync(join(bin, command), ['--version']).status === 0;
  if (runs()) return { bin, missing: undefined };
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }');
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', name];
  if (spawnSync('npm', args, { cwd, timeout: 240_000 }).status !== 0)
    return { bin, missing: `npm cannot install ${name} here` };
  return { bin, missing: runs() ? undefined : `${command} does not run here` };
}
