// The worker processes behind one port, each replaced as soon as it has ended.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

import type { LateRecord } from './history.js';

interface Worker {
  readonly process: ChildProcess;
  readonly port: number;
}

const FEWEST = 2;

export class Workers {
  /** Exits that no signal of the nemesis explains. */
  readonly unexplained: string[] = [];
  /** Claims for which the store did not answer in time. */
  readonly late: Omit<LateRecord, 'type'>[] = [];
  readonly #script: () => string;
  readonly #env: NodeJS.ProcessEnv;
  /** From their start; those in `#living` take deliveries. */
  readonly #started = new Set<ChildProcess>();
  readonly #living = new Set<Worker>();
  readonly #front = createServer((near) => {
    const worker = this.any();
    near.on('error', () => {});
    if (!worker) return void near.resetAndDestroy();
    const far = connect(worker.port, '127.0.0.1');
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  #closing = false;

  private constructor(script: () => string, env: NodeJS.ProcessEnv) {
    this.#script = script;
    this.#env = { ...process.env, ...env };
  }

  /** @param script the program, or which one the next worker is */
  static async start(
    script: string | (() => string),
    count: number,
    env: NodeJS.ProcessEnv,
  ): Promise<Workers> {
    const workers = new Workers(typeof script === 'string' ? () => script : script, env);
    await once(workers.#front.listen(0, '127.0.0.1'), 'listening');
    await Promise.all(Array.from({ length: count }, () => workers.#startWorker()));
    return workers;
  }

  get port(): number {
    return (this.#front.address() as AddressInfo).port;
  }

  any(): Worker | undefined {
    const all = [...this.#living];
    return all[Math.floor(Math.random() * all.length)];
  }

  all(): Worker[] {
    return [...this.#living];
  }

  /** The one that has taken deliveries for longest. */
  oldest(): Worker | undefined {
    const [first] = this.#living;
    return first;
  }

  /** Resolves when it has ended. Another replaces it soon, or first where too few are left. */
  async end(worker: Worker, signal: NodeJS.Signals): Promise<void> {
    const ended = once(worker.process, 'exit');
    worker.process.kill(signal);
    await ended;
    const started = this.#startWorker();
    if (this.#living.size < FEWEST) await started;
  }

  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#started].map((process) => process.kill('SIGKILL') && once(process, 'exit')));
    await new Promise((closed) => this.#front.close(closed));
  }

  async #startWorker(): Promise<void> {
    if (this.#closing) return;
    const child = fork(this.#script(), { env: this.#env, execArgv: [] });
    this.#started.add(child);
    child.once('exit', (code, signal) => {
      this.#started.delete(child);
      if (signal === null && code !== 0) this.unexplained.push(`a worker ended with exit code ${code}`);
    });
    const [port] = await once(child, 'message');
    child.on('message', ({ late }: { late?: Omit<LateRecord, 'type'> }) => late && this.late.push(late));
    const worker = { process: child, port: port as number };
    child.once('exit', () => this.#living.delete(worker));
    this.#living.add(worker);
  }
}
