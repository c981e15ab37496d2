// One, two and four receivers on one Redis: deliveries a second, and the CPU that each part has used for them.
import { cpus } from 'node:os';
import { startRedis } from '../setup/services.js';
import { deliverOnce, type Effort, enter, type Spent, type Window, warmUp } from './costs.js';
import { moveTo } from './prepare.js';
import type { Surroundings } from './server.js';

const PROCESSES = [1, 2, 4];

/** CPU seconds of one second. */
export type Scaled = Spent & {
  readonly processes: number;
  readonly perSecond: number;
  /** CPUs that something else on the machine had. */
  readonly others: number;
};

export async function measureScaling(
  effort: Effort,
  { progress, ...surroundings }: Surroundings & { readonly progress: (text: string) => void },
): Promise<Scaled[]> {
  // Not `availableParallelism()`, which counts only the CPU that this process was moved to.
  const all = `0-${cpus().length - 1}`;
  moveTo(all);
  const redis = await startRedis();
  const scaled: Scaled[] = [];
  try {
    for (const processes of PROCESSES) {
      progress(`${processes} processes`);
      const env = { BENCH_REDIS_URL: redis.url };
      const entered = await enter('ours-redis', processes, { ...surroundings, cpus: all, env });
      const target = { ...entered, storePid: redis.pid };
      try {
        await warmUp(target, effort);
        const windows: Scaled[] = [];
        while (windows.length < effort.windows) {
          const busy = busyCpus();
          windows.push(scale(await deliverOnce(target, effort.seconds), processes, () => busyCpus() - busy));
        }
        scaled.push(middle(windows));
      } finally {
        await Promise.all(entered.servers.map((server) => server.stop()));
      }
    }
  } finally {
    await redis.stop();
  }
  return scaled;
}

function scale(window: Window, processes: number, busy: () => number): Scaled {
  const { deliveries, seconds, receiver, server, sender } = window;
  const each = { receiver: receiver / seconds, server: server / seconds, sender: sender / seconds };
  const ours = each.receiver + each.server + each.sender;
  return {
    processes,
    perSecond: deliveries / seconds,
    ...each,
    others: Math.max(0, busy() / seconds - ours),
  };
}

/** The window of the median rate. */
function middle(windows: readonly Scaled[]): Scaled {
  const sorted = [...windows].sort((one, other) => one.perSecond - other.perSecond);
  return sorted[Math.floor(sorted.length / 2)] as Scaled;
}

/** Seconds that the CPUs of the machine have worked so far. */
function busyCpus(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1_000;
}
