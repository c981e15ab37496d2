// Pairing within a round: noise of the machine cancels, windows that say nothing are left out.
import { expect, test } from '@jest/globals';
import { estimate } from './bootstrap.js';
import { disturbedContestant, type Epoch, type Round } from './epoch.js';
import { paired, ratioOf, valuesOf } from './pairing.js';
import { seeded } from './random.js';

const PAIR = ['mine', 'theirs'] as const;
const cpu = ratioOf('cpuNs');
const epochOf = (...rounds: Round[]): Epoch => ({ seconds: 1, rounds, dropped: {} });

test('noise that is common to a round cancels', () => {
  const random = seeded(1);
  const rounds = Array.from({ length: 4 }, () => {
    const slowness = 1 + 4 * random();
    return { mine: { cpuNs: 110 * slowness }, theirs: { cpuNs: 100 * slowness } };
  });
  const { median = 0, low = 0, high = 0 } = estimate(paired([epochOf(...rounds)], PAIR, cpu)) ?? {};
  for (const value of [median, low, high]) expect(value).toBeCloseTo(1.1);
});

test('each round gives one value, kept apart by epoch', () => {
  const round = (ratio: number) => ({ mine: { cpuNs: ratio }, theirs: { cpuNs: 1 } });
  expect(paired([epochOf(round(2), round(3)), epochOf(round(4))], PAIR, cpu)).toEqual([[2, 3], [4]]);
});

test('a round without one of the two is left out', () => {
  const rounds = [{ mine: { cpuNs: 1 } }, { theirs: { cpuNs: 1 } }, {}];
  expect(paired([epochOf(...rounds)], PAIR, cpu)).toEqual([[]]);
});

test('a round in which one of the two was disturbed is left out', () => {
  const round = (share: number) => ({ mine: { cpuNs: 3, share }, theirs: { cpuNs: 1, share: 1 } });
  const epochs = [epochOf(round(0.949), round(0.95))];
  expect(paired(epochs, PAIR, cpu)).toEqual([[3]]);
  expect(valuesOf(epochs, 'mine', 'cpuNs')).toEqual([3]);
});

test('a contestant that waits for a store is never disturbed', () => {
  expect(paired([epochOf({ mine: { cpuNs: 3 }, theirs: { cpuNs: 1 } })], PAIR, cpu)).toEqual([[3]]);
});

test('figures are added up before they are compared', () => {
  const compare = ratioOf('clientUs', 'serverUs');
  expect(compare({ clientUs: 3, serverUs: 5 }, { clientUs: 1, serverUs: 3 })).toBe(2);
});

test('a missing figure gives no ratio', () => {
  expect(cpu({ requestsPerSecond: 1 }, { cpuNs: 1 })).toBeUndefined();
  expect(cpu({ cpuNs: 1 }, { cpuNs: 0 })).toBeUndefined();
});

test('an epoch in which a contestant was always disturbed is found', () => {
  const [quiet, busy] = [{ share: 1 }, { share: 0.5 }];
  expect(disturbedContestant(epochOf({ mine: quiet, theirs: busy }, { mine: busy, theirs: busy }))).toBe(
    'theirs',
  );
  expect(
    disturbedContestant(epochOf({ mine: quiet, theirs: busy }, { mine: busy, theirs: quiet })),
  ).toBeUndefined();
});
