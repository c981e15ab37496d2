// The soak: starts everything, sends the load, measures at rest after the first minute and at the end.
import { setTimeout as pause } from 'node:timers/promises';
import { balance } from './ledger.js';
import { type PerStore, SENDERS, storeNames, type Totals, WARM_UP_SECONDS } from './merchant.js';
import { type CleanUp, prepare, type Setup } from './prepare.js';
import { percentile, type Rest, type SoakResult, type StoreResult, type Timed } from './verdict.js';

const MINUTE_MS = 60_000;
const STARTING_MS = 10_000;

export interface SoakOptions {
  readonly minutes: number;
  readonly progress: (line: string) => void;
  /** Ends the soak early, which then rejects. */
  readonly signal: AbortSignal;
}

export async function soak(options: SoakOptions): Promise<SoakResult> {
  const cleanUps: CleanUp[] = [];
  const fallen = new AbortController();
  const signal = AbortSignal.any([options.signal, fallen.signal]);
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const failed = (why: string) => fallen.abort(new Error(why));
  const run = async () => watch(await prepare(failed, cleanUps), { ...options, signal });
  const running = run();
  try {
    return await Promise.race([running, ended]);
  } finally {
    // Stopped while it was starting: wait until everything that is starting has its clean-up.
    await Promise.race([running.catch(() => {}), pause(STARTING_MS)]);
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

async function watch(setup: Setup, { minutes, progress, signal }: SoakOptions): Promise<SoakResult> {
  for (const sender of setup.senders) sender.deliver('warm up');
  await pause(WARM_UP_SECONDS * 1_000, undefined, { signal });
  await Promise.all(setup.senders.map((sender) => sender.rest()));
  const began = performance.now();
  const settled = Math.min(MINUTE_MS, (minutes * MINUTE_MS) / 2);
  const loadUntil = async (end: number) => {
    for (const sender of setup.senders) sender.deliver('go');
    for (let now = performance.now(); now < end; now = performance.now()) {
      const minute = Math.floor((now - began) / MINUTE_MS) + 1;
      await pause(Math.min(end, began + minute * MINUTE_MS) - now, undefined, { signal });
      progress(
        `${((performance.now() - began) / MINUTE_MS).toFixed(1)} of ${minutes} minutes: ${stateOf(setup)}`,
      );
    }
  };
  await loadUntil(began + settled);
  const first = await rest(setup);
  await loadUntil(began + minutes * MINUTE_MS);
  const last = await rest(setup);
  return tell(setup, { began, first, last });
}

interface Resting {
  readonly rests: readonly Rest[];
  readonly allTotals: readonly PerStore<Totals>[];
}

async function rest({ senders, workers }: Setup): Promise<Resting> {
  const allTotals = await Promise.all(senders.map((sender) => sender.rest()));
  return { allTotals, rests: await Promise.all(workers.map((worker) => worker.atRest())) };
}

function stateOf({ workers, senders }: Setup): string {
  const now = workers.map(({ samples }) => samples.at(-1)?.value);
  const sum = (of: 'inFlight' | 'unhandled') => now.reduce((total, sample) => total + (sample?.[of] ?? 0), 0);
  const heaps = workers.map(
    ({ samples }) => samples.findLast(({ value }) => value.collected)?.value.heap ?? 0,
  );
  const latencies = senders.flatMap((sender) =>
    sender.latencies.slice(-60).flatMap(({ value }) => Object.values(value).flat()),
  );
  return [
    `heap ${heaps.map((heap) => (heap / 1e6).toFixed(1)).join(' ')} MB`,
    `p99 ${percentile(latencies, 0.99).toFixed(0)} ms`,
    `${sum('inFlight')} in flight`,
    `${sum('unhandled')} unhandled`,
  ].join(', ');
}

const NOTHING = { events: 0, missing: 0, doubled: 0, forged: 0 };

interface Measured {
  readonly began: number;
  readonly first: Resting;
  readonly last: Resting;
}

async function tell(
  { pool, workers, senders }: Setup,
  { began, first, last }: Measured,
): Promise<SoakResult> {
  const sent = last.allTotals.flatMap((allTotals, index) =>
    storeNames.map((store) => ({ prefix: `${store}-${SENDERS[index]}`, made: allTotals[store].made })),
  );
  const balances = await balance(pool, sent);
  const since = <Value>(timed: readonly Timed<Value>[]) =>
    timed.filter(({ at }) => at >= began).map(({ at, value }) => ({ at: at - began, value }));
  return {
    workers: workers.map(({ store, samples }, index) => ({
      store,
      first: first.rests[index] as Rest,
      last: last.rests[index] as Rest,
      samples: since(samples),
    })),
    stores: storeNames.map((store): StoreResult => {
      const its = balances.find((one) => one.store === store) ?? { store, ...NOTHING };
      const allTotals = last.allTotals.map((totals) => totals[store]);
      const sum = (of: 'attempts' | 'broken' | 'retriesAsked') =>
        allTotals.reduce((total, totals) => total + totals[of], 0);
      const latencies = senders.flatMap((sender) => since(sender.latencies));
      return {
        balance: its,
        attempts: sum('attempts'),
        broken: sum('broken'),
        retriesAsked: sum('retriesAsked'),
        unexpected: together(allTotals),
        latencies: latencies.map(({ at, value }) => ({ at, value: value[store] })),
      };
    }),
  };
}

function together(allTotals: readonly Totals[]): Record<string, number> {
  const all = new Map<string, number>();
  for (const { unexpected } of allTotals)
    for (const [what, times] of Object.entries(unexpected)) all.set(what, (all.get(what) ?? 0) + times);
  return Object.fromEntries(all);
}
