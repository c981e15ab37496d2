// The worker and sender processes of a soak, and their messages so far.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command, FromSender, FromWorker, PerStore, Sample, StoreName, Totals } from './merchant.js';
import type { Rest, Timed } from './verdict.js';

/** How long an idle process takes to close its idle connections. */
const IDLE_MS = 3_000;
const COLLECTIONS = 5;
const END_MS = 5_000;

export interface Start {
  readonly script: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Called when the process ends by itself. */
  readonly failed: (why: string) => void;
}

abstract class Process<Message extends { readonly kind: string }> {
  protected readonly child: ChildProcess;
  readonly ready: Promise<Message>;
  #ending = false;

  constructor({ script, args = [], env = {}, failed }: Start) {
    const all = { ...process.env, NODE_ENV: 'production', ...env };
    this.child = fork(script, args, { env: all, execArgv: ['--expose-gc'] });
    this.ready = this.next('ready');
    this.child.on('message', (message: Message) => this.heard(message));
    this.child.once('exit', (code, signal) => {
      if (!this.#ending) failed(`A process of ${script} ended with ${signal ?? code}.`);
    });
  }

  protected abstract heard(message: Message): void;

  /** The next message of that kind. Never settles when the process ends first. */
  protected next(kind: Message['kind']): Promise<Message> {
    return new Promise((resolve) => {
      const listen = (message: Message) => {
        if (message.kind !== kind) return;
        this.child.off('message', listen);
        resolve(message);
      };
      this.child.on('message', listen);
    });
  }

  async end(): Promise<void> {
    this.#ending = true;
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.disconnect();
    const late = setTimeout(() => this.child.kill('SIGKILL'), END_MS);
    await ended;
    clearTimeout(late);
  }
}

export class Worker extends Process<FromWorker> {
  readonly samples: Timed<Sample>[] = [];
  readonly store: StoreName;

  constructor(store: StoreName, start: Start) {
    super({ ...start, env: { ...start.env, STORE: store } });
    this.store = store;
  }

  protected override heard(message: FromWorker): void {
    if (message.kind === 'sample') this.samples.push({ at: performance.now(), value: message });
  }

  /** The lowest of several collections: finalizers and weak references may free more after the first. */
  async atRest(): Promise<Rest> {
    await pause(IDLE_MS);
    const taken: Sample[] = [];
    while (taken.length < COLLECTIONS) {
      const sampled = this.next('sample');
      this.child.send('sample');
      taken.push((await sampled) as Sample);
      await pause(200);
    }
    const least = (of: (sample: Sample) => number) => Math.min(...taken.map(of));
    return { heap: least(({ heap }) => heap), handles: least(({ handles }) => handles) };
  }
}

export class Sender extends Process<FromSender> {
  readonly latencies: Timed<PerStore<readonly number[]>>[] = [];

  protected override heard(message: FromSender): void {
    if (message.kind === 'second') this.latencies.push({ at: performance.now(), value: message.latencies });
  }

  deliver(order: Exclude<Command, 'rest'>): void {
    this.child.send(order);
  }

  /** Resolves when every delivery that it had started is settled. */
  async rest(): Promise<PerStore<Totals>> {
    const resting = this.next('resting');
    this.child.send('rest');
    const message = await resting;
    if (message.kind !== 'resting') throw new Error(message.kind);
    return message.allTotals;
  }
}
