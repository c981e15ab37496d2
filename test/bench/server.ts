// A contestant as a process of its own on CPU 0: started, checked, and asked what CPU time it has used.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Contestant } from './contestants.js';
import { bodyOf, ID } from './events.js';
import { headersOf, type Letter, SECRET, signatureOf } from './schemes.js';

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
  /** Where it may run, as taskset reads it. */
  readonly cpus?: string;
}

export async function serve(name: string, surroundings: Surroundings): Promise<Server> {
  const { node, flags = [], env = {}, cpus = '0' } = surroundings;
  const file = fileURLToPath(new URL('serve.js', import.meta.url));
  const child = spawn('taskset', ['-c', cpus, node, ...flags, file, name], {
    env: { ...process.env, ...SECRET, ...env, NODE_ENV: 'production' },
    // A contestant that complains of each delivery would drown the table.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const { port } = await answerOf<{ port: number }>(child, name);
  return {
    port,
    cpu: () => cpuOf(child.pid),
    async memory() {
      child.send('memory');
      return (await answerOf<{ memory: NodeJS.MemoryUsage }>(child, name)).memory;
    },
    async stop() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

async function answerOf<Answer>(child: ChildProcess, name: string): Promise<Answer> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with code ${code}.`);
  });
  const [answer] = await Promise.race([once(child, 'message'), ended]);
  return answer;
}

function cpuOf(pid: number | undefined): number {
  const tasks = `/proc/${pid}/task`;
  const times = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/schedstat`, 'utf8'));
  return times.reduce((sum, line) => sum + Number.parseInt(line, 10), 0);
}

/** What is wrong with it as a receiver of signed deliveries; undefined when nothing is. */
export async function faultOf({ scheme, event }: Contestant, port: number): Promise<string | undefined> {
  const letter: Letter = {
    id: ID.replace(/0{8}$/, '99999999'),
    time: String(Math.floor(Date.now() / 1_000)),
    body: bodyOf(event, 1_024).replace(ID, ID.replace(/0{8}$/, '99999999')),
  };
  const signature = signatureOf(scheme, letter);
  const flipped = (signature.startsWith('0') ? '1' : '0') + signature.slice(1);
  const altered = letter.body.replace('99999999', '99999998');
  const deliver = async (body: string, sign: string) => {
    const headers = headersOf(scheme, letter, sign);
    return (await fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', headers, body })).status;
  };
  const valid = await deliver(letter.body, signature);
  if (valid < 200 || valid > 299) return `it answers ${valid} to a valid delivery`;
  for (const [what, status] of [
    ['a flipped signature', await deliver(letter.body, flipped)],
    ['an altered body', await deliver(altered, signature)],
  ] as const) {
    if (status < 400 || status > 499) return `it answers ${status} to ${what}`;
  }
  return undefined;
}
