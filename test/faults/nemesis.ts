// Does harm: to workers, to the servers of the store, and to the wire between them. It writes down when and to whom.
import { setTimeout as pause } from 'node:timers/promises';
import { LEASE_MS } from './merchant.js';
import { shuffled } from './shuffled.js';
import type { Weather, Wire } from './wire.js';
import type { Workers } from './workers.js';

export type Harm =
  | 'kill'
  | 'stop for two leases'
  | 'terminate'
  | 'restart redis'
  | 'restart postgres'
  | Exclude<Weather, 'open'>;

/** How often each harm is done. */
export type Plan = Readonly<Partial<Record<Harm, number>>>;

export interface Deed {
  readonly harm: Harm;
  /** Undefined when all of them felt it. */
  readonly worker: number | undefined;
  readonly from: number;
  readonly until: number;
}

export interface Victims {
  readonly workers: Workers;
  readonly wire: Wire;
  crashPostgres(): Promise<void>;
  crashRedis(): Promise<void>;
}

export class Nemesis {
  readonly deeds: Deed[] = [];
  readonly #victims: Victims;

  constructor(victims: Victims) {
    this.#victims = victims;
  }

  /** The whole plan in a random order, one deed after the other. */
  async carryOut(plan: Plan, progress: (done: number, of: number) => void): Promise<void> {
    const harms = Object.entries(plan).flatMap(([harm, times]) => Array<Harm>(times).fill(harm as Harm));
    for (const [index, harm] of shuffled(harms).entries()) {
      const from = Date.now();
      const worker = await this.#do(harm);
      this.deeds.push({ harm, worker, from, until: Date.now() });
      progress(index + 1, harms.length);
      await pause(30 + Math.random() * 120);
    }
  }

  async #do(harm: Harm): Promise<number | undefined> {
    switch (harm) {
      case 'kill':
        return this.#signal('SIGKILL');
      case 'terminate':
        return this.#signal('SIGTERM');
      case 'stop for two leases':
        return this.#suspend();
      case 'restart postgres':
        await this.#victims.crashPostgres();
        return undefined;
      case 'restart redis':
        await this.#victims.crashRedis();
        return undefined;
      default:
        this.#victims.wire.become(harm);
        await pause(300 + Math.random() * LEASE_MS);
        this.#victims.wire.become('open');
        return undefined;
    }
  }

  async #signal(signal: NodeJS.Signals): Promise<number | undefined> {
    const worker = this.#victims.workers.any();
    if (worker) await this.#victims.workers.end(worker, signal);
    return worker?.process.pid;
  }

  async #suspend(): Promise<number | undefined> {
    const worker = this.#victims.workers.any();
    worker?.process.kill('SIGSTOP');
    await pause(2 * LEASE_MS);
    worker?.process.kill('SIGCONT');
    return worker?.process.pid;
  }
}
