// The soak itself: starts everything, loads it, lets it rest after the first minute and at the end, and tells the story.
import { setTimeout as pause } from 'node:timers/promises';
import { type CleanUp, type Field, prepare } from './field.js';
import { balance } from './ledger.js';
import { type PerStore, SENDERS, storeNames, type Tally, WARM_UP_SECONDS } from './merchant.js';
import { percentile, type Rest, type StoreStory, type Story, type Timed } from './verdict.js';

const MINUTE_MS = 60_000;
const STARTING_MS = 10_000;

export interface SoakOptions {
  readonly minutes: number;
  readonly progress: (line: string) => void;
  /** Ends it early; rejects then. */
  readonly signal: AbortSignal;
}

export async function soak(options: SoakOptions): Promise<Story> {
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
    // Stopped while it was starting: what is about to start has to be among the clean-ups first.
    await Promise.race([running.catch(() => {}), pause(STARTING_MS)]);
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

async function watch(field: Field, { minutes, progress, signal }: SoakOptions): Promise<Story> {
  for (const sender of field.senders) sender.deliver('warm up');
  await pause(WARM_UP_SECONDS * 1_000, undefined, { signal });
  await Promise.all(field.senders.map((sender) => sender.rest()));
  const began = performance.now();
  const settled = Math.min(MINUTE_MS, (minutes * MINUTE_MS) / 2);
  const loadUntil = async (end: number) => {
    for (const sender of field.senders) sender.deliver('go');
    for (let now = performance.now(); now < end; now = performance.now()) {
      const minute = Math.floor((now - began) / MINUTE_MS) + 1;
      await pause(Math.min(end, began + minute * MINUTE_MS) - now, undefined, { signal });
      progress(
        `${((performance.now() - began) / MINUTE_MS).toFixed(1)} of ${minutes} minutes: ${stateOf(field)}`,
      );
    }
  };
  await loadUntil(began + settled);
  const first = await rest(field);
  await loadUntil(began + minutes * MINUTE_MS);
  const last = await rest(field);
  return tell(field, { began, first, last });
}

interface Resting {
  readonly rests: readonly Rest[];
  readonly tallies: readonly PerStore<Tally>[];
}

async function rest({ senders, workers }: Field): Promise<Resting> {
  const tallies = await Promise.all(senders.map((sender) => sender.rest()));
  return { tallies, rests: await Promise.all(workers.map((worker) => worker.atRest())) };
}

function stateOf({ workers, senders }: Field): string {
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

interface Course {
  readonly began: number;
  readonly first: Resting;
  readonly last: Resting;
}

async function tell({ pool, workers, senders }: Field, { began, first, last }: Course): Promise<Story> {
  const sent = last.tallies.flatMap((tallies, index) =>
    storeNames.map((store) => ({ prefix: `${store}-${SENDERS[index]}`, made: tallies[store].made })),
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
    stores: storeNames.map((store): StoreStory => {
      const its = balances.find((one) => one.store === store) ?? { store, ...NOTHING };
      const tallies = last.tallies.map((tally) => tally[store]);
      const sum = (of: 'attempts' | 'broken' | 'putOff') =>
        tallies.reduce((total, tally) => total + tally[of], 0);
      const latencies = senders.flatMap((sender) => since(sender.latencies));
      return {
        balance: its,
        attempts: sum('attempts'),
        broken: sum('broken'),
        putOff: sum('putOff'),
        surprises: together(tallies),
        latencies: latencies.map(({ at, value }) => ({ at, value: value[store] })),
      };
    }),
  };
}

function together(tallies: readonly Tally[]): Record<string, number> {
  const all = new Map<string, number>();
  for (const { surprises } of tallies)
    for (const [what, times] of Object.entries(surprises)) all.set(what, (all.get(what) ?? 0) + times);
  return Object.fromEntries(all);
}
