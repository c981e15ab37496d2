// Injects faults into workers, the servers of the store and the network between them, and records each.
import { setTimeout as pause } from 'node:timers/promises';
import type { FaultyProxy, NetworkState } from './faulty-proxy.js';
import type { FaultRecord } from './history.js';
import { LEASE_MS } from './merchant.js';
import { shuffled } from './shuffled.js';
import type { Workers } from './workers.js';

export type FaultKind =
  | 'kill'
  | 'stop for two leases'
  | 'terminate'
  | 'restart redis'
  | 'restart postgres'
  | 'restart mariadb'
  | 'terminate connection'
  | Exclude<NetworkState, 'open'>;

/** How often each fault is injected. */
export type Plan = Readonly<Partial<Record<FaultKind, number>>>;

export type InjectedFault = Omit<FaultRecord, 'type'>;

export interface Targets {
  readonly workers: Workers;
  readonly proxy: FaultyProxy;
  crashPostgres(): Promise<void>;
  crashRedis(): Promise<void>;
  crashMariadb?(): Promise<void>;
  /** Lets the server end a connection that has a transaction open. */
  terminateConnection?(): Promise<void>;
}

export class Nemesis {
  readonly faults: InjectedFault[] = [];
  readonly #targets: Targets;

  constructor(targets: Targets) {
    this.#targets = targets;
  }

  /** The whole plan in a random order, one fault after the other. */
  async run(plan: Plan, progress: (done: number, of: number) => void): Promise<void> {
    const kinds = Object.entries(plan).flatMap(([kind, times]) =>
      Array<FaultKind>(times).fill(kind as FaultKind),
    );
    for (const [index, kind] of shuffled(kinds).entries()) {
      const from = Date.now();
      const worker = await this.#inject(kind);
      this.faults.push({ kind, ...(worker !== undefined && { worker }), from, until: Date.now() });
      progress(index + 1, kinds.length);
      await pause(30 + Math.random() * 120);
    }
  }

  async #inject(kind: FaultKind): Promise<number | undefined> {
    switch (kind) {
      case 'kill':
        return this.#signal('SIGKILL');
      case 'terminate':
        return this.#signal('SIGTERM');
      case 'stop for two leases':
        return this.#suspend();
      case 'restart postgres':
        await this.#targets.crashPostgres();
        return undefined;
      case 'restart mariadb':
        await this.#targets.crashMariadb?.();
        return undefined;
      case 'terminate connection':
        await this.#targets.terminateConnection?.();
        return undefined;
      case 'restart redis':
        await this.#targets.crashRedis();
        return undefined;
      default:
        this.#targets.proxy.set(kind);
        await pause(300 + Math.random() * LEASE_MS);
        this.#targets.proxy.set('open');
        return undefined;
    }
  }

  async #signal(signal: NodeJS.Signals): Promise<number | undefined> {
    const worker = this.#targets.workers.any();
    if (worker) await this.#targets.workers.end(worker, signal);
    return worker?.process.pid;
  }

  async #suspend(): Promise<number | undefined> {
    const worker = this.#targets.workers.any();
    worker?.process.kill('SIGSTOP');
    await pause(2 * LEASE_MS);
    worker?.process.kill('SIGCONT');
    return worker?.process.pid;
  }
}
