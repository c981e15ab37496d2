// Runs the commands that the docs show, as a person would in a shell at the root of the repository.
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';

export const ROOT = join(__dirname, '../..');

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
  /** Waits until it has printed the text. */
  printed(text: string): Promise<void>;
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
  const take = (chunk: Buffer) => {
    output += chunk.toString();
    child.emit('printed');
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    output: () => output,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = () => output.includes(text) && resolve();
        child.on('printed', look);
        closed.then(() => reject(new Error(`"${script}" ended without printing "${text}":\n${output}`)));
        look();
      }),
    stop: (signal = 'SIGTERM') => {
      killGroup(child, signal);
      return closed;
    },
  };
}

/** A port that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

function run(program: string, args: readonly string[], { cwd, env }: Surroundings): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: clean(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
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
