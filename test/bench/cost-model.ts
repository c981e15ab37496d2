// The cost model of docs/project/capacity.md: what a rate of deliveries needs, from what one delivery costs.

/** Seconds of a CPU, and bytes. The letters are those of docs/project/capacity.md. */
export interface Costs {
  /** c: of a receiver's process for one delivery. */
  readonly receiver: number;
  /** s: of the store's server for claim and completion of one event, and for pruning its row where that is needed. */
  readonly server: number;
  /** m: of the store for one remembered id. */
  readonly bytes: number;
}

export interface Demand {
  /** r: deliveries a second. */
  readonly rate: number;
  /** d: share of duplicates. */
  readonly repeated: number;
  /** h: CPU seconds of the handlers for one event. */
  readonly handlers: number;
  /** H: seconds from the claim to the end of the handlers. */
  readonly held: number;
  /** u: how busy a CPU may be. */
  readonly busy: number;
  /** R: seconds for which ids are remembered. */
  readonly retention: number;
}

export interface Need {
  /** Of one CPU each. */
  readonly processes: number;
  readonly serverCpus: number;
  readonly atOnce: number;
  readonly ids: number;
  readonly bytes: number;
}

export function need({ receiver, server, bytes }: Costs, demand: Demand): Need {
  const { rate, repeated, handlers, held, busy, retention } = demand;
  const ids = rate * (1 - repeated) * retention;
  return {
    processes: (rate * (receiver + (1 - repeated) * handlers)) / busy,
    serverCpus: (rate * server) / busy,
    atOnce: rate * held,
    ids,
    bytes: ids * bytes,
  };
}

/** One of anything at the least, and no half ones. */
export function whole(number: number): number {
  return Math.max(1, Math.ceil(number));
}

export interface Limits {
  readonly processes: number;
  /** Of the machine, which receivers, store and sender share. */
  readonly cpus: number;
  /** CPU seconds of the sender for one delivery. */
  readonly sender: number;
}

/** Deliveries a second when nothing waits: each process has one CPU at most, and all together those of the machine. */
export function mostPerSecond(
  { receiver, server }: Omit<Costs, 'bytes'>,
  { processes, cpus, sender }: Limits,
): number {
  return Math.min(processes / receiver, 1 / server, cpus / (receiver + server + sender));
}
