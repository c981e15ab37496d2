// The command line as it is shipped: compiled like the package, in a folder of its own, and run in processes.
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../setup/shell.js';
import { until } from '../../setup/waiting.js';
import { afterwards } from '../simulator/world.js';
import { BANNER } from './against.js';
import type { Run } from './run-cli.js';

export class BuiltProgram {
  readonly #folder = mkdtempSync(join(tmpdir(), 'built-'));
  readonly path = join(this.#folder, 'dist/cjs/cli.js');

  constructor() {
    const outDir = join(this.#folder, 'dist/cjs');
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', 'tsconfig.cjs.json', '--outDir', outDir], { cwd: ROOT });
    writeFileSync(join(outDir, 'package.json'), '{ "type": "commonjs" }');
    copyFileSync(join(ROOT, 'package.json'), join(this.#folder, 'package.json'));
    // A junction needs no special rights on Windows; elsewhere it is a symbolic link.
    symlinkSync(join(ROOT, 'node_modules'), join(this.#folder, 'node_modules'), 'junction');
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }

  run(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
    const words = [process.execPath, this.path, ...args];
    const { child, ended } = started(words, { SERVICE_PRIVATE_KEY: 'pri_x', ...env });
    child.stdin.end();
    return ended;
  }

  /**
   * `simulate` on a free port. It is killed when the test is over.
   *
   * @param through what runs the program, in place of Node alone
   */
  async simulate(
    args: readonly string[] = [],
    env: Record<string, string> = {},
    through = (words: readonly string[]) => words,
  ) {
    const words = [process.execPath, this.path, 'simulate', '--port', '0', ...args];
    const program = started(through(words), env);
    afterwards(async () => void program.child.kill('SIGKILL'));
    await Promise.race([program.ended, until(() => BANNER.test(program.printed.stdout))]);
    const { stdout, stderr } = program.printed;
    const [baseUrl = `nowhere: ${stderr}`] = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout) ?? [];
    return { ...program, baseUrl };
  }
}

function started([program = '', ...words]: readonly string[], env: Record<string, string>) {
  const child = spawn(program, words, { env: { PATH: process.env.PATH, ...env } });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text) => {
      printed[name] += text;
    });
  child.stdin.on('error', () => {});
  const ended = new Promise<Run>((resolve) => {
    child.once('close', (code) => resolve({ code: code ?? Number.NaN, ...printed }));
  });
  return { child, printed, ended };
}
