// The verdict on soaks in which one detail at a time is wrong.
import { describe, expect, test } from '@jest/globals';
import type { Sample } from './merchant.js';
import { drift, failuresOf, percent, percentile, type StoreResult, type WorkerResult } from './verdict.js';

const sample: Sample = {
  kind: 'sample',
  heap: 16e6,
  collected: true,
  handles: 9,
  loopDelay: 1,
  inFlight: 3,
  unhandled: 0,
};
const worker: WorkerResult = {
  store: 'redis',
  first: { heap: 15e6, handles: 20 },
  last: { heap: 15.7e6, handles: 21 },
  samples: [{ at: 0, value: sample }],
};
const store: StoreResult = {
  balance: { store: 'redis', events: 1_000, missing: 0, doubled: 0, forged: 0 },
  attempts: 1_400,
  broken: 0,
  retriesAsked: 0,
  unexpected: {},
  latencies: [],
};
const failures = (wrong: Partial<WorkerResult>, wrongStore: Partial<StoreResult> = {}) =>
  failuresOf({ workers: [{ ...worker, ...wrong }], stores: [{ ...store, ...wrongStore }] });

describe('a soak', () => {
  test('has shown what it should when nothing moved by more than 5 % and the ledger is exact', () => {
    expect(failures({})).toEqual([]);
  });

  test.each([
    ['grew', { heap: 15.76e6, handles: 20 }, 'heap of a worker with redis moved by +5.1 %'],
    ['shrank', { heap: 14.2e6, handles: 20 }, 'heap of a worker with redis moved by -5.3 %'],
    ['kept handles', { heap: 15e6, handles: 22 }, 'handles of a worker with redis moved by +10.0 %'],
    ['was not measured', { heap: Number.NaN, handles: 20 }, 'heap of a worker with redis moved by NaN %'],
  ])('fails when a worker %s', (_how, last, failure) => {
    expect(failures({ last })).toEqual([failure]);
  });

  test('fails for an unhandled rejection, and for a worker without a sample', () => {
    const samples = [{ at: 0, value: { ...sample, unhandled: 1 } }];
    expect(failures({ samples })).toEqual(['1 unhandled rejections at redis']);
    expect(failures({ samples: [] })).toEqual(['NaN unhandled rejections at redis']);
  });

  test.each([
    ['missing', 'redis: 2 events have no row in the ledger'],
    ['doubled', 'redis: 2 events have several rows in the ledger'],
    ['forged', 'redis: 2 rows of the ledger belong to no event that was signed'],
  ])('fails for a ledger with %s rows', (what, failure) => {
    expect(failures({}, { balance: { ...store.balance, [what]: 2 } })).toEqual([failure]);
  });

  test('fails for a wrong answer, and for a store to which nothing was sent', () => {
    expect(failures({}, { unexpected: { '404 ': 3 } })).toEqual(['redis answered 3 times: 404 ']);
    expect(failures({}, { balance: { ...store.balance, events: 0 } })).toEqual(['nothing was sent to redis']);
  });
});

describe('the statistics', () => {
  test('give the smallest value that is not below that share of all', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([50, 99, 100]);
    expect(percentile([7], 0.01)).toBe(7);
    expect(percentile([], 0.99)).toBe(0);
  });

  test('say by how much something moved', () => {
    expect([percent(drift(200, 210)), percent(drift(200, 190)), percent(drift(200, 199.99))]).toEqual([
      '+5.0 %',
      '-5.0 %',
      '0.0 %',
    ]);
  });
});
