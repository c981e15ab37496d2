// One file that Node starts in a moment, for programs of which many processes are started.
import { mkdirSync, mkdtempSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

/**
 * Bundles the program into a folder of its own, which is the caller's to remove.
 *
 * @param alias files that stand for what it imports
 */
export function bundle(program: URL): string {
  const scratch = fileURLToPath(new URL('../../.scratch/', import.meta.url));
  mkdirSync(scratch, { recursive: true });
  const entry = fileURLToPath(program);
  const name = basename(entry, '.ts');
  const outfile = join(mkdtempSync(join(scratch, `${name}-`)), `${name}.mjs`);
  bundleTo(entry, outfile);
  return outfile;
}

/** What it imports from packages is looked for where the bundle is. */
export function bundleTo(entry: string, outfile: string): void {
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  });
}
