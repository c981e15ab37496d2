// The command line as it is shipped: compiled like the package, in a folder of its own.
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface Built {
  /** Path of the program. */
  readonly cli: string;
  run(args: readonly string[], setting?: { env?: object; input?: string }): Promise<Finished>;
  remove(): void;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const project = resolve(__dirname, '../../..');

export function build(): Built {
  const folder = mkdtempSync(join(tmpdir(), 'built-'));
  const tsc = join(project, 'node_modules/typescript/bin/tsc');
  const outDir = join(folder, 'dist/cjs');
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.cjs.json', '--outDir', outDir], { cwd: project });
  writeFileSync(join(outDir, 'package.json'), '{ "type": "commonjs" }');
  copyFileSync(join(project, 'package.json'), join(folder, 'package.json'));
  // A junction needs no special rights on Windows; elsewhere it is a symbolic link.
  symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'), 'junction');
  const cli = join(outDir, 'cli.js');
  return {
    cli,
    run: (args, { env = {}, input = '' } = {}) => finish(cli, args, { env, input }),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function finish(
  cli: string,
  args: readonly string[],
  { env, input }: { env: object; input: string },
): Promise<Finished> {
  const child = spawn(process.execPath, [cli, ...args], {
    env: { PATH: process.env.PATH, SERVICE_PRIVATE_KEY: 'pri_x', ...env },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  child.stdin.on('error', () => {}).end(input);
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}
