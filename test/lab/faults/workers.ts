// The worker processes behind one port, each replaced as soon as it has ended.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import type { LateRecord } from './history.js';

interface Worker {
  readonly process: ChildProcess;
  readonly port: number;
}

export type Workers = Awaited<ReturnType<typeof startWorkers>>;

const FEWEST = 2;

export async function startWorkers(program: string, count: number, more: NodeJS.ProcessEnv) {
  const env = { ...process.env, ...more };
  /** Exits that no signal of a campaign explains. */
  const unexplained: string[] = [];
  /** Claims for which the store did not answer in time. */
  const late: Omit<LateRecord, 'type'>[] = [];
  /** From their start; those in `living` take deliveries. */
  const started = new Set<ChildProcess>();
  const living = new Set<Worker>();
  let closing = false;

  const all = () => [...living];
  const any = () => all()[Math.floor(Math.random() * living.size)];
  const front = createServer((near) => {
    const worker = any();
    near.on('error', () => {});
    if (!worker) return void near.resetAndDestroy();
    const far = connect(worker.port, '127.0.0.1');
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });

  const startWorker = async () => {
    if (closing) return;
    const child = fork(program, { env, execArgv: [] });
    started.add(child);
    child.once('exit', (code, signal) => {
      started.delete(child);
      if (signal === null && code !== 0) unexplained.push(`a worker ended with exit code ${code}`);
    });
    const [port] = await once(child, 'message');
    child.on('message', (message: { late?: Omit<LateRecord, 'type'> }) => {
      if (message.late) late.push(message.late);
    });
    const worker = { process: child, port: port as number };
    child.once('exit', () => living.delete(worker));
    living.add(worker);
  };
  /**
   * Another replaces it soon, or first where too few are left.
   *
   * @returns its process id, when it has ended; undefined without a worker
   */
  const end = async (worker: Worker | undefined, signal: NodeJS.Signals) => {
    if (!worker) return undefined;
    const ended = once(worker.process, 'exit');
    worker.process.kill(signal);
    await ended;
    const replaced = startWorker();
    if (living.size < FEWEST) await replaced;
    return worker.process.pid;
  };

  await once(front.listen(0, '127.0.0.1'), 'listening');
  await Promise.all(Array.from({ length: count }, startWorker));
  return {
    ...{ unexplained, late, all, any, end },
    port: (front.address() as AddressInfo).port,
    endAny: (signal: NodeJS.Signals) => end(any(), signal),
    close: async () => {
      closing = true;
      await Promise.all([...started].map((child) => child.kill('SIGKILL') && once(child, 'exit')));
      await new Promise((closed) => front.close(closed));
    },
  };
}
