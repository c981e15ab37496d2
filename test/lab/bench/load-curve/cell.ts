// One cell: both receivers with one store at one distance, in fresh processes, at the same rate and then up to their limits.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startMariadb, startPostgres, startRedis } from '../../../setup/services.js';
import { UsageError } from '../options.js';
import { type Server, serve } from '../server.js';
import { median, seeded, shuffled } from '../statistics.js';
import { deliverAt } from './arrivals.js';
import { type Limit, largestRate, MAX_P99, NOT_ANSWERED } from './limits.js';

/** What is remembered where. With `once` handlers write inside it; by hand, the whole delivery is a transaction. */
export const STORES = ['memory', 'redis', 'postgres', 'once', 'mysql'] as const;
export type StoreName = (typeof STORES)[number];
/** Milliseconds to the store and back. */
export const DISTANCES = [0, 1, 5] as const;
export const CONTESTANTS = { ours: 'load-ours', byHand: 'load-by-hand' } as const;
export type Side = keyof typeof CONTESTANTS;

/** Of both, below what the slowest of them takes. */
export const SAME_RATE = 250;
/** Windows of each, in turns, of which the middle counts: one hiccup of the machine is in one of them. */
const TAIL_ROUNDS = 3;
const WARM_UP_RATE = 2_000;
const WARM_UP_SECONDS = 8;

export interface Cell {
  readonly store: StoreName;
  readonly ms: number;
  readonly epoch: number;
}

export interface Tail {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

export interface Figures extends Limit {
  /** At {@link SAME_RATE}. */
  readonly tail: Tail;
  /** The part of its CPU that it used at its limit. */
  readonly busy: number;
}

export type Result = Cell & Readonly<Record<Side, Figures>>;

export interface Length {
  /** Of a window. */
  readonly seconds: number;
  /** Folder of the build under test. */
  readonly build: string;
  readonly say: (text: string) => void;
}

export async function measureCell(cell: Cell, { seconds, build, say }: Length): Promise<Result> {
  const store = cell.store === 'memory' ? undefined : await openStore(cell.store);
  const random = seeded(cell.epoch);
  const servers = new Map<Side, Server>();
  const order = shuffled(Object.keys(CONTESTANTS) as Side[], random);
  try {
    for (const side of order) {
      const url = store && { BENCH_STORE_URL: store.url };
      const env = { BENCH_PACKAGE: build, BENCH_STORE: cell.store, ...url };
      servers.set(side, await serve(CONTESTANTS[side], { node: process.execPath, env }));
    }
    const serverOf = (side: Side) => servers.get(side) as Server;
    const sending = (side: Side, rate: number, long = seconds) =>
      deliverAt({ port: serverOf(side).port, rate, seconds: long, random });
    for (const side of order) {
      say(`${side}: warming up`);
      await sending(side, WARM_UP_RATE, WARM_UP_SECONDS);
    }
    store?.setDistance(cell.ms);
    const tails: Record<Side, Tail[]> = { ours: [], byHand: [] };
    for (let round = 0; round < TAIL_ROUNDS; round += 1) {
      for (const side of order) {
        say(`${side}: ${SAME_RATE} a second`);
        const { histogram, failed } = await sending(side, SAME_RATE, 2 * seconds);
        if (failed > 0)
          throw new UsageError(
            `${side} did not answer ${failed} deliveries at ${SAME_RATE} a second. Run it when the machine is idle.`,
          );
        const at = (share: number) => histogram.percentile(share) / 1_000;
        tails[side].push({ p50: at(50), p99: at(99), p999: at(99.9) });
      }
    }
    const figures = {} as Record<Side, Figures>;
    for (const side of order) {
      const server = serverOf(side);
      let busy = 0;
      const limit = await largestRate(async (rate) => {
        say(`${side}: ${rate} a second`);
        const [startedAt, before] = [performance.now(), server.cpu()];
        const { histogram, failed, overloaded } = await sending(side, rate);
        const p99 = failed > 0 || overloaded ? NOT_ANSWERED : histogram.percentile(99) / 1_000;
        if (p99 <= MAX_P99) busy = (server.cpu() - before) / 1e6 / (performance.now() - startedAt);
        return { rate, p99 };
      });
      figures[side] = { ...limit, busy, tail: middleOf(tails[side]) };
    }
    return { ...cell, ...figures };
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
    await store?.stop();
  }
}

function middleOf(tails: readonly Tail[]): Tail {
  const middle = (name: keyof Tail) => median(tails.map((tail) => tail[name]));
  return { p50: middle('p50'), p99: middle('p99'), p999: middle('p999') };
}

const SERVERS = {
  redis: () => startRedis(),
  postgres: () => startPostgres(),
  once: () => startPostgres(),
  // Each commit is on disk, as in Postgres.
  mysql: () => startMariadb(['--innodb-flush-log-at-trx-commit=1']),
};

/** Starts the store behind a proxy that delays its answers, as if it were further away. */
async function openStore(name: keyof typeof SERVERS) {
  const server = await SERVERS[name]();
  const proxy = fork(fileURLToPath(new URL('distance-proxy.js', import.meta.url)), [String(server.port)]);
  const [port] = (await once(proxy, 'message')) as [number];
  return {
    url: Object.assign(new URL(server.url), { port }).href,
    /** Delays every answer from now on, by these milliseconds and what the timers of Node add. */
    setDistance: (ms: number) => void proxy.send(ms),
    async stop() {
      proxy.disconnect();
      if (proxy.exitCode === null) await once(proxy, 'exit');
      await server.stop();
    },
  };
}
