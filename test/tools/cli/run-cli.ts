// Runs a command line in this process, with streams of its own.
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
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

export async function runCli(argv: readonly string[], setting: Setting = {}): Promise<Run> {
  const { env = {}, stdin = '', tty = false } = setting;
  const stream = () => Object.assign(new PassThrough(), { isTTY: tty });
  const [input, stdout, stderr] = [stream(), stream(), stream()];
  input.end(stdin);
  const code = await main(argv, { stdin: input, stdout, stderr, env });
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}
