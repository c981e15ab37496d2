// The command line as it is shipped: compiled like the package, in a folder of its own.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface Built {
  /** Path of the program. */
  readonly cli: string;
  remove(): void;
}

const project = resolve(__dirname, '../..');

export function build(): Built {
  const folder = mkdtempSync(join(tmpdir(), 'built-'));
  const tsc = join(project, 'node_modules/typescript/bin/tsc');
  const outDir = join(folder, 'dist/cjs');
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.cjs.json', '--outDir', outDir], { cwd: project });
  writeFileSync(join(outDir, 'package.json'), '{ "type": "commonjs" }');
  copyFileSync(join(project, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'));
  return { cli: join(outDir, 'cli.js'), remove: () => rmSync(folder, { recursive: true }) };
}
