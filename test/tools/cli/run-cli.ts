// Runs a command line in this process, with streams of its own.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect } from '@jest/globals';
import { main } from '../../../src/tools/cli/main.js';

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Setting {
  readonly env?: Record<string, string>;
  /** What is typed or piped in. */
  readonly stdin?: string | Buffer;
  /** Whether a person sits there. */
  readonly tty?: boolean;
}

export const runCli = (argv: readonly string[], setting: Setting = {}) => startCli(argv, setting).ended;

/** The same, for a command that runs until it is stopped. */
export function startCli(argv: readonly string[], { env = {}, stdin = '', tty = false }: Setting) {
  const printed = { stdout: '', stderr: '' };
  const stream = () => Object.assign(new PassThrough(), { isTTY: tty });
  const output = (name: 'stdout' | 'stderr') =>
    stream()
      .setEncoding('utf8')
      .on('data', (text) => {
        printed[name] += text;
      });
  const input = stream().end(stdin);
  const terminal = { stdin: input, stdout: output('stdout'), stderr: output('stderr'), env };
  const ended: Promise<Run> = main(argv, terminal).then(async (code) => {
    await Promise.all([terminal.stdout, terminal.stderr].map((each) => each.end() && once(each, 'end')));
    return { code, ...printed };
  });
  return { printed, ended };
}

/** The run of a command that failed for this reason: the exit code, and nothing but the reason. */
export function failed(code: number, reason: string | RegExp) {
  const stderr = typeof reason === 'string' ? expect.stringContaining(reason) : expect.stringMatching(reason);
  return { code, stdout: '', stderr };
}

/** What was printed with --json: one value a line. */
// biome-ignore lint/suspicious/noExplicitAny: what it holds is what the tests find out
export function jsonLines({ stdout }: Pick<Run, 'stdout'>): any[] {
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
