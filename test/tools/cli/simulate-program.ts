// Starts `simulate` as it is shipped, on a free port, and stops it when the test is over.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { afterwards } from '../simulator/world.js';
import type { Finished } from './built.js';

export interface SimulateProgram {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly baseUrl: string;
  /** Its end, with everything that it printed. */
  readonly ended: Promise<Finished & { readonly signal: NodeJS.Signals | null }>;
}

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  /** What runs the program, in place of Node alone. */
  readonly through?: (words: readonly string[]) => readonly string[];
}

/** All of the banner but the keys to press. What is asked for on the command line is done by then. */
const BANNER = /^\{.*\}\n|(?:More keys and tokens|sim_token_none).*\r?\n\r?\n/;

/** Resolves once it has said where it is; rejects with what it said instead. */
export async function startSimulate(
  cli: string,
  args: readonly string[],
  { env = {}, through = (words) => words }: Surroundings = {},
): Promise<SimulateProgram> {
  const [program = '', ...words] = through([process.execPath, cli, 'simulate', '--port', '0', ...args]);
  const child = spawn(program, words, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  afterwards(async () => void child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  const ended = new Promise<Finished & { signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  const baseUrl = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout) ?? [];
      if (found && BANNER.test(stdout)) resolve(found);
    });
    void ended.then(({ code }) => reject(new Error(`simulate ended with ${code}: ${stdout}${stderr}`)));
  });
  return { child, stdout: () => stdout, stderr: () => stderr, baseUrl, ended };
}
