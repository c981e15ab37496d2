// The receiver through thousands of orders of events, and the bugs that such a search has to find.
import { describe, expect, test } from '@jest/globals';
import { needing } from '../../setup/platform.js';
import { BUGS, type Bug } from './bugs.js';
import { search } from './search.js';

/** Of the search. Those for the bugs end when they have found them. */
const SEARCH_MS = 25_000;

const HOLD = 'P1, P4, KEPT and END hold in random orders of deliveries, crashes, answers and replays';

async function holds(backend: 'memory' | 'sqlite'): Promise<void> {
  const seed = Date.now() % 1_000_000;
  const found = await search({ backend, seed, runs: Number.POSITIVE_INFINITY, ms: SEARCH_MS });
  // To replay: npm run test:interleavings -- --seed SEED --path PATH
  expect({ seed, ...found }).toMatchObject({ violations: [] });
  expect(found.runs).toBeGreaterThan(100);
}

test(`${HOLD}, in memory`, () => holds('memory'), 120_000);

needing('SQLite').test(
  `${HOLD}, by the SQL of the package, and writes of once are made once`,
  () => holds('sqlite'),
  120_000,
);

async function findsBug(bug: Bug): Promise<void> {
  const { backend, seed = 0, breaks } = bug;
  const { violations } = await search({ bug, backend, seed, runs: 5_000, ms: 60_000 });
  expect(violations).toEqual(expect.arrayContaining([expect.stringMatching(breaks)]));
}

describe('the search finds that', () => {
  const inSql = ({ backend }: Bug) => backend === 'sqlite';
  const searched = BUGS.filter(({ seed }) => seed !== undefined);
  test.each(searched.filter((bug) => !inSql(bug)))('$what', findsBug, 120_000);
  needing('SQLite').test.each(searched.filter(inSql))('$what', findsBug, 120_000);
});
