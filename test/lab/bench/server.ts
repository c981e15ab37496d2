// A contestant in its own process on CPU 0: starts it, checks it, and reads its CPU time and memory.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Contestant } from './contestants.js';
import { cpuTime } from './cpu-time.js';
import { bodyOf, ID } from './events.js';
import { headersOf, type Letter, SECRET, signatureOf } from './schemes.js';

const START_MS = 30_000;
const ANSWER_MS = 10_000;

export interface Server {
  readonly port: number;
  /** Nanoseconds on a CPU so far, of all threads. */
  cpu(): number;
  /** After a collection; for processes that were given `--expose-gc`. */
  memory(): Promise<NodeJS.MemoryUsage>;
  stop(): Promise<void>;
}

export interface Surroundings {
  /** The program that runs it. */
  readonly node: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export async function serve(name: string, surroundings: Surroundings): Promise<Server> {
  const { node, flags = [], env = {} } = surroundings;
  const file = fileURLToPath(new URL('serve.js', import.meta.url));
  const child = spawn('taskset', ['-c', '0', node, ...flags, file, name], {
    env: { ...process.env, ...SECRET, ...env, NODE_ENV: 'production' },
    // A contestant that logs each delivery would drown the table.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const { port } = await answerOf<{ port: number }>(child, name).catch((error) => {
    child.kill();
    throw error;
  });
  return {
    port,
    cpu: () => cpuTime(child.pid as number),
    async memory() {
      child.send('memory');
      return (await answerOf<{ memory: NodeJS.MemoryUsage }>(child, name)).memory;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function answerOf<Answer>(child: ChildProcess, name: string): Promise<Answer> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(
      `it ended with code ${code}; SERVICE_PRIVATE_KEY=pri_x node test/lab/bench/serve.js ${name} shows why`,
    );
  });
  const message = once(child, 'message', { signal: AbortSignal.timeout(START_MS) });
  const [answer] = await Promise.race([message, ended]);
  return answer;
}

/** Throws unless it answers as a receiver of signed deliveries does. */
export async function checkReceiver({ scheme, event }: Contestant, port: number): Promise<void> {
  const letter: Letter = {
    id: ID.replace(/0{8}$/, '99999999'),
    time: String(Math.floor(Date.now() / 1_000)),
    body: bodyOf(event, 1_024).replace(ID, ID.replace(/0{8}$/, '99999999')),
  };
  const signature = signatureOf(scheme, letter);
  const flipped = (signature.startsWith('0') ? '1' : '0') + signature.slice(1);
  const altered = letter.body.replace('99999999', '99999998');
  for (const [what, body, sign, hundreds] of [
    ['a valid delivery', letter.body, signature, 2],
    ['a flipped signature', letter.body, flipped, 4],
    ['an altered body', altered, signature, 4],
  ] as const) {
    const { status } = await fetch(`http://127.0.0.1:${port}/hooks`, {
      method: 'POST',
      headers: headersOf(scheme, letter, sign),
      body,
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (Math.floor(status / 100) !== hundreds) throw new Error(`it answers ${status} to ${what}`);
  }
}
