// The receiver through thousands of orders of events, and the bugs that such a search has to find.
import { describe, expect, test } from '@jest/globals';
import { BUGS } from './bugs.js';
import { search } from './search.js';

/** Of the search. Those for the bugs end when they have found them. */
const SEARCH_MS = 25_000;

test('P1, P4, KEPT and END hold in random orders of deliveries, crashes, answers and replays', async () => {
  const seed = Date.now() % 1_000_000;
  const found = await search({ seed, runs: Number.POSITIVE_INFINITY, ms: SEARCH_MS });
  // To replay: npm run test:interleavings -- --seed SEED --path PATH
  expect({ seed, ...found }).toMatchObject({ violations: [] });
  expect(found.runs).toBeGreaterThan(100);
}, 120_000);

describe('the search finds that', () => {
  test.each(BUGS)(
    '$what',
    async (bug) => {
      const { violations } = await search({ bug, seed: bug.seed, runs: 5_000, ms: 60_000 });
      expect(violations).toEqual(expect.arrayContaining([expect.stringMatching(bug.breaks)]));
    },
    120_000,
  );
});
