// The interval around a median, on values whose true median is known.
import { describe, expect, test } from '@jest/globals';
import { estimate } from './bootstrap.js';
import { median } from './median.js';
import { seeded } from './random.js';

/** Around 0, with most values between -1 and 1. */
function noise(random: () => number): number {
  return random() + random() + random() - 1.5;
}

/** Ratios around `ratio`: each epoch is off by its processes, each round by a little more. */
function synthetic(
  ratio: number,
  { epochs = 8, rounds = 4, perEpoch = 0.05, perRound = 0.03, seed = 1 } = {},
): number[][] {
  const random = seeded(seed);
  return Array.from({ length: epochs }, () => {
    const ofProcess = 1 + perEpoch * noise(random);
    return Array.from({ length: rounds }, () => ratio * ofProcess * (1 + perRound * noise(random)));
  });
}

const widthOf = (epochs: number[][]) => {
  const { low = 0, high = 0 } = estimate(epochs) ?? {};
  return high - low;
};

describe('the median', () => {
  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[7], 7],
  ])('of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });

  test('of nothing is not a number', () => {
    expect(median([])).toBeNaN();
  });
});

describe('the interval', () => {
  test('holds the known ratio in nine of ten runs or more', () => {
    const seeds = Array.from({ length: 40 }, (_, seed) => seed);
    const holding = seeds.filter((seed) => {
      const { low, high } = estimate(synthetic(1.2, { seed })) ?? { low: 0, high: 0 };
      return low <= 1.2 && 1.2 <= high;
    });
    expect(holding.length).toBeGreaterThanOrEqual(36);
  });

  test('does not hold a ratio that is far off', () => {
    const { low, high } = estimate(synthetic(1.2)) ?? { low: 1, high: 1 };
    expect(low).toBeGreaterThan(1.1);
    expect(high).toBeLessThan(1.3);
  });

  test('is the same each time', () => {
    expect(estimate(synthetic(1))).toEqual(estimate(synthetic(1)));
  });

  test('is narrower with more epochs, but not with more rounds when epochs differ', () => {
    const perRound = 0.001;
    const few = widthOf(synthetic(1, { perRound }));
    expect(widthOf(synthetic(1, { perRound, epochs: 64 }))).toBeLessThan(few / 2);
    expect(widthOf(synthetic(1, { perRound, rounds: 32 }))).toBeGreaterThan(few / 2);
  });

  test('is a point when all values are the same', () => {
    expect(estimate([[1.5, 1.5], [1.5]])).toEqual({ median: 1.5, low: 1.5, high: 1.5 });
  });

  test('leaves out epochs without a value', () => {
    expect(estimate([[], [2, 2], []])).toEqual({ median: 2, low: 2, high: 2 });
  });

  test('does not exist without a value', () => {
    expect(estimate([[], []])).toBeUndefined();
    expect(estimate([])).toBeUndefined();
  });
});
