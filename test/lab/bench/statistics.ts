// Medians, seeded random numbers, and the confidence interval of a median by a hierarchical bootstrap.

const RESAMPLES = 2_000;
/** 2.5 % of the resampled medians are left out at each end: a 95 % interval. */
const TAIL = 0.025;

export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The median of all values, with its 95 % interval; `undefined` without a value.
 *
 * Two processes of one build differ by 5 to 10 %, so the rounds of one epoch are not independent of each other.
 * Each resample therefore draws epochs first, then rounds within each epoch it drew.
 *
 * @param epochs the values of each epoch, one for each round
 */
export function estimate(epochs: readonly (readonly number[])[]): Estimate | undefined {
  const measured = epochs.filter((rounds) => rounds.length > 0);
  if (measured.length === 0) return undefined;
  const random = seeded(1);
  const medians = Float64Array.from({ length: RESAMPLES }, () =>
    median(draw(measured, random).flatMap((rounds) => draw(rounds, random))),
  ).sort();
  const at = (share: number) => medians[Math.round(share * (RESAMPLES - 1))] as number;
  return { median: median(measured.flat()), low: at(TAIL), high: at(1 - TAIL) };
}

/** As many items as there are, each drawn from all of them. */
function draw<Item>(items: readonly Item[], random: () => number): Item[] {
  return items.map(() => items[Math.floor(random() * items.length)] as Item);
}

/** The mean of the two middle values when there is an even number of them; `NaN` for none. */
export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Numbers from 0 up to 1, by mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function shuffled<Item>(items: readonly Item[], random: () => number = Math.random): Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
