// The faults that campaigns inject into workers and the network, and when each was injected.
import { setTimeout as pause } from 'node:timers/promises';
import type { FaultyProxy, NetworkState } from './faulty-proxy.js';
import type { FaultRecord } from './history.js';
import { LEASE_MS } from './merchant.js';
import { shuffled } from './sender.js';
import type { Workers } from './workers.js';

/** Resolves with the process id of the worker if it affected only one. */
export type Inject = (workers: Workers) => Promise<unknown>;

export interface Fault {
  readonly kind: string;
  readonly inject: Inject;
}

export type InjectedFault = Omit<FaultRecord, 'type'>;

export async function injectFault({ kind, inject }: Fault, workers: Workers): Promise<InjectedFault> {
  const from = Date.now();
  const worker = await inject(workers);
  return { kind, ...(typeof worker === 'number' && { worker }), from, until: Date.now() };
}

/** How often each fault is injected. */
export type Plan<Kind extends string> = Readonly<Partial<Record<Kind, number>>>;

/** The whole plan in a random order. */
export function planFaults<Kind extends string>(
  plan: Plan<Kind>,
  faults: Readonly<Record<Kind, Inject>>,
): Fault[] {
  const kinds = Object.entries(plan) as [Kind, number][];
  return shuffled(kinds.flatMap(([kind, times]) => Array<Fault>(times).fill({ kind, inject: faults[kind] })));
}

export const KILL: Fault = { kind: 'kill', inject: (workers) => workers.endAny('SIGKILL') };

export const WORKER_FAULTS = {
  kill: KILL.inject,
  terminate: (workers: Workers) => workers.endAny('SIGTERM'),
  'stop for two leases': async (workers: Workers) => {
    const worker = workers.any()?.process;
    worker?.kill('SIGSTOP');
    await pause(2 * LEASE_MS);
    worker?.kill('SIGCONT');
    return worker?.pid;
  },
};

export function networkFaults(proxy: FaultyProxy) {
  const become = (state: NetworkState) => async () => {
    proxy.set(state);
    await pause(300 + Math.random() * LEASE_MS);
    proxy.set('open');
  };
  return { cut: become('cut'), 'black hole': become('black hole'), 'no replies': become('no replies') };
}
