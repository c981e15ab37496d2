// Runs the commands that the docs show, as a person would in a shell at the root of the repository.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { until } from './waiting.js';

export const ROOT = join(__dirname, '../..');

/** Loading the sources of an app takes its time on a busy machine. */
const START_MS = 50_000;

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Surroundings {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Runs a script of bash to its end. */
export function shell(script: string, { cwd = ROOT, env = {} }: Surroundings = {}): Promise<Outcome> {
  return run('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd, env });
}

/** Runs a program of Node to its end. */
export function node(args: readonly string[], { cwd = ROOT, env = {} }: Surroundings = {}): Promise<Outcome> {
  return run(process.execPath, args, { cwd, env });
}

/** Runs a TypeScript program from the sources, as `npx tsx` does. */
export function tsx(args: readonly string[], surroundings: Surroundings = {}): Promise<Outcome> {
  return node([join(ROOT, 'node_modules/tsx/dist/cli.mjs'), ...args], surroundings);
}

export interface Running {
  /** What it has printed so far. */
  readonly output: () => string;
  /** Waits until it has printed this. Output comes in pieces, so what follows it may not be there yet. */
  printed(wanted: string | RegExp): Promise<void>;
  /** Resolves when it has ended. @param signal SIGTERM, unless told otherwise */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a command that does not end by itself, and waits until it has printed the text. */
export async function startUntil(
  text: string,
  script: string,
  env?: Surroundings['env'],
  cwd?: string,
): Promise<Running> {
  const running = start(script, env, cwd);
  await running.printed(text);
  return running;
}

/** Starts a command that does not end by itself. */
export function start(script: string, env: Surroundings['env'] = {}, cwd = ROOT): Running {
  // A process group of its own, so that stopping it reaches what `npx` started.
  const child = spawn('bash', ['-c', script], { cwd, env: clean(env), detached: true });
  let output = '';
  let hasEnded = false;
  const take = (text: string) => {
    output += text;
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve())).then(() => {
    hasEnded = true;
  });
  return {
    output: () => output,
    printed: async (wanted) => {
      const isThere = () => (typeof wanted === 'string' ? output.includes(wanted) : wanted.test(output));
      await until(() => isThere() || hasEnded, START_MS).catch(() => {});
      if (isThere()) return;
      throw new Error(
        `"${script}" ${hasEnded ? 'ended without printing' : 'has not printed'} "${wanted}":\n${output}`,
      );
    },
    stop: (signal = 'SIGTERM') => {
      // Its number may be that of another process by now.
      if (!hasEnded) killGroup(child, signal);
      return closed;
    },
  };
}

function run(program: string, args: readonly string[], { cwd, env }: Surroundings): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: clean(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** What Jest and npm put into the environment would change what is run. */
function clean(env: Surroundings['env'] = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:NODE_ENV|JEST_WORKER_ID|FORCE_COLOR|NODE_OPTIONS|npm_|SERVICE_)/.test(name),
  );
  return { ...Object.fromEntries(inherited), ...env };
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended by itself.
  }
}
