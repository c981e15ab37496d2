// A campaign without faults: whether anything grows in the workers while they receive for minutes.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from './campaign.js';
import type { Campaign } from './environment.js';
import type { Mode } from './merchant.js';
import type { Workers } from './workers.js';

/** How far heap and handles may move between the end of the first phase and that of the second. */
const TOLERANCE = 0.05;
/** Handles come one by one, so that 5 % of a few would be less than one. */
const SPARE_HANDLES = 1;
/** Before the first look: the code that Node compiles for what runs often is part of the heap. */
const WARM_UP_S = 60;
/** Longer than a pool of pg keeps a client that nobody uses. */
const IDLE_MS = 12_000;
const CONCURRENCY = 4;

/** What a worker holds when it has nothing to do. */
interface Rest {
  readonly heap: number;
  readonly handles: number;
}

export async function runSoak(
  mode: Mode,
  minutes: number,
  progress: (line: string) => void,
): Promise<Campaign & { readonly heaps: readonly string[] }> {
  const grown: string[] = [];
  const heaps: string[] = [];
  const campaign = await runCampaign({
    ...{ mode, plan: {}, events: 0, concurrency: CONCURRENCY, workers: 2, progress },
    drive: async (sender, workers) => {
      const deliver = async (seconds: number) => {
        const until = performance.now() + seconds * 1_000;
        await sender.deliver(CONCURRENCY, (events) => {
          if (events % 1_000 === 0) progress(`${mode}: ${sender.history.length} deliveries`);
          return performance.now() >= until;
        });
      };
      await deliver(WARM_UP_S);
      const first = await restOf(workers);
      await deliver(minutes * 60);
      for (const [index, last] of (await restOf(workers)).entries()) {
        const before = first[index] as Rest;
        const heap = `${megabytes(before)} to ${megabytes(last)} MB`;
        const handles = `${before.handles} to ${last.handles}`;
        heaps.push(`${heap}, ${handles} handles`);
        if (Math.abs(last.heap / before.heap - 1) > TOLERANCE)
          grown.push(`the heap of a worker went from ${heap}`);
        if (Math.abs(last.handles - before.handles) > SPARE_HANDLES)
          grown.push(`the handles of a worker went from ${handles}`);
      }
    },
  });
  return { ...campaign, heaps, violations: [...campaign.violations, ...grown] };
}

function megabytes({ heap }: Rest): string {
  return (heap / 1e6).toFixed(2);
}

async function restOf(workers: Workers): Promise<Rest[]> {
  await pause(IDLE_MS);
  return Promise.all(
    workers.all().map(async ({ process }) => {
      const answer = once(process, 'message');
      process.send('rest');
      return (await answer)[0] as Rest;
    }),
  );
}
