// Whether a soak passed: nothing grew, no rejection was unhandled, and the ledger is exact.
import type { Balance } from './ledger.js';
import type { Sample, StoreName } from './merchant.js';

/** How far heap and handles may move after the first minute. */
export const TOLERANCE = 0.05;

export interface Timed<Value> {
  /** Milliseconds of a clock that never goes back. */
  readonly at: number;
  readonly value: Value;
}

/** What a worker holds when it has nothing to do. */
export interface Rest {
  readonly heap: number;
  readonly handles: number;
}

export interface WorkerResult {
  readonly store: StoreName;
  readonly first: Rest;
  readonly last: Rest;
  readonly samples: readonly Timed<Sample>[];
}

export interface StoreResult {
  readonly balance: Balance;
  readonly attempts: number;
  readonly broken: number;
  readonly retriesAsked: number;
  readonly unexpected: Readonly<Record<string, number>>;
  /** Milliseconds that ordinary deliveries took, by the second. */
  readonly latencies: readonly Timed<readonly number[]>[];
}

export interface SoakResult {
  readonly workers: readonly WorkerResult[];
  readonly stores: readonly StoreResult[];
}

/** One sentence for each failure. */
export function failuresOf({ workers, stores }: SoakResult): string[] {
  return [...workers.flatMap(failuresOfWorker), ...stores.flatMap(failuresOfStore)];
}

/** 0.05 where it grew by 5 %. */
export function drift(first: number, last: number): number {
  return (last - first) / first;
}

export function percent(share: number): string {
  const rounded = (share * 100).toFixed(1);
  return `${share > 0 ? '+' : ''}${rounded === '-0.0' ? '0.0' : rounded} %`;
}

/** The value that this share of the values does not exceed; 0 without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

function failuresOfWorker({ store, first, last, samples }: WorkerResult): string[] {
  const moved = (['heap', 'handles'] as const)
    .map((what) => ({ what, by: drift(first[what], last[what]) }))
    .filter(({ by }) => !(Math.abs(by) <= TOLERANCE))
    .map(({ what, by }) => `${what} of a worker with ${store} moved by ${percent(by)}`);
  const unhandled = samples.at(-1)?.value.unhandled ?? Number.NaN;
  return unhandled === 0 ? moved : [...moved, `${unhandled} unhandled rejections at ${store}`];
}

function failuresOfStore({ balance, unexpected }: StoreResult): string[] {
  const { store, events, missing, doubled, forged } = balance;
  const wrong = Object.entries(unexpected).map(
    ([answer, times]) => `${store} answered ${times} times: ${answer}`,
  );
  const counts = [
    [missing, 'events have no row in the ledger'],
    [doubled, 'events have several rows in the ledger'],
    [forged, 'rows of the ledger belong to no event that was signed'],
  ] as const;
  return [
    ...(events > 0 ? [] : [`nothing was sent to ${store}`]),
    ...counts.filter(([number]) => number > 0).map(([number, what]) => `${store}: ${number} ${what}`),
    ...wrong,
  ];
}
