// How sure a median is: a hierarchical bootstrap over epochs and the rounds within them.
import { median, seeded } from './numbers.js';

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
export function estimate(
  epochs: readonly (readonly number[])[],
  random: () => number = seeded(1),
): Estimate | undefined {
  const measured = epochs.filter((rounds) => rounds.length > 0);
  if (measured.length === 0) return undefined;
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
