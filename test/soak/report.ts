// The figures of a soak as tables and as a picture.
import { machine, table, today } from '../setup/figures.js';
import { RATE, type StoreName, storeNames } from './merchant.js';
import { bucket, type Panel, plot } from './plot.js';
import {
  drift,
  percent,
  percentile,
  type SoakResult,
  type StoreResult,
  type WorkerResult,
} from './verdict.js';

const TITLES: Readonly<Record<StoreName, string>> = {
  memory: 'Memory',
  redis: 'Redis',
  postgres: 'Postgres',
  transactional: 'Postgres, transactional',
};
const MINUTE_MS = 60_000;
/** At least a few hundred deliveries each. */
const SHORTEST_BUCKET_MS = 10_000;
const BUCKETS = 120;

export function tablesOf({ workers, stores }: SoakResult, minutes: number): string {
  return [
    `Node ${process.version}, ${machine()}, ${today()}. ${minutes} minutes, ${RATE} deliveries a second to each store.`,
    table(
      [
        'worker',
        'heap at first, MB',
        'at the end',
        'handles at first',
        'at the end',
        'most in flight',
        'loop late, ms',
        'unhandled',
      ],
      workers.map(rowOfWorker),
    ),
    table(
      [
        'store',
        'events',
        'requests',
        'p99 at first, ms',
        'at the end',
        'put off',
        'broken',
        'missing',
        'twice',
        'forged',
        'wrong answers',
      ],
      stores.map((result) => rowOfStore(result, minutes)),
    ),
  ].join('\n\n');
}

function rowOfWorker({ store, first, last, samples }: WorkerResult): string[] {
  return [
    TITLES[store],
    (first.heap / 1e6).toFixed(2),
    `${(last.heap / 1e6).toFixed(2)} (${percent(drift(first.heap, last.heap))})`,
    String(first.handles),
    String(last.handles),
    String(Math.max(...samples.map(({ value }) => value.inFlight))),
    // Half of all seconds were better.
    percentile(
      samples.map(({ value }) => value.loopDelay),
      0.5,
    ).toFixed(1),
    String(samples.at(-1)?.value.unhandled),
  ];
}

/** The p99 of the first minute's load and of the last one's, or of the halves of a shorter run. */
function rowOfStore(result: StoreResult, minutes: number): string[] {
  const { balance, attempts, retriesAsked, broken, unexpected, latencies } = result;
  const span = Math.min(1, minutes / 2) * MINUTE_MS;
  const end = minutes * MINUTE_MS;
  const p99 = (from: number, to: number) => {
    const within = latencies.filter(({ at }) => at >= from && at < to);
    return percentile(
      within.flatMap(({ value }) => value),
      0.99,
    ).toFixed(1);
  };
  return [
    TITLES[balance.store],
    balance.events.toLocaleString('en'),
    attempts.toLocaleString('en'),
    p99(0, span),
    p99(end - span, end),
    String(retriesAsked),
    String(broken),
    String(balance.missing),
    String(balance.doubled),
    String(balance.forged),
    String(Object.values(unexpected).reduce((sum, times) => sum + times, 0)),
  ];
}

export function pictureOf({ workers, stores }: SoakResult, minutes: number): string {
  const width = Math.max(SHORTEST_BUCKET_MS, (minutes * MINUTE_MS) / BUCKETS);
  const inMinutes = (points: [number, number][]) =>
    points.map(([ms, value]) => [ms / MINUTE_MS, value] as const);
  const panels = storeNames.flatMap((store): Panel[] => [
    {
      title: `${TITLES[store]}: heap`,
      unit: 'MB',
      lines: workers
        .filter((worker) => worker.store === store)
        .map(({ samples }) => samples.filter(({ value }) => value.collected))
        .map((samples) => ({
          points: samples.map(({ at, value }) => [at / MINUTE_MS, value.heap / 1e6] as const),
        })),
    },
    {
      title: `${TITLES[store]}: p99`,
      unit: 'ms',
      lines: stores
        .filter(({ balance }) => balance.store === store)
        .map(({ latencies }) => latencies.filter(({ value }) => value.length > 0))
        .map((latencies) => ({
          points: inMinutes(bucket(latencies, width, (values) => percentile(values.flat(), 0.99))),
        })),
    },
  ]);
  return plot(panels, `Heap of each worker, and p99 of ordinary deliveries, over ${minutes} minutes`);
}
