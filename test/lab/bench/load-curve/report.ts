// The figures under load as a table, each store and distance a row, and what they say of the gate.
import { table } from '../../../setup/figures.js';
import { estimate, median } from '../statistics.js';
import { intervalOf, verdictOn } from '../verdict.js';
import { DISTANCES, type Figures, type Result, STORES, type StoreName } from './cell.js';
import { MAX_P99 } from './limits.js';

/** The least that is wanted of the largest rate, by hand = 1. */
const GATES: Readonly<Record<StoreName, number>> = {
  memory: 0.75,
  redis: 0.8,
  postgres: 1,
  once: 0.95,
  mysql: 0.95,
};
export const TITLES: Readonly<Record<StoreName, string>> = {
  memory: 'memory',
  redis: 'Redis',
  postgres: 'Postgres',
  once: 'Postgres, `once`',
  mysql: 'MariaDB',
};

const HEAD = [
  'store, distance',
  'p50, × by hand',
  'p99, × by hand',
  'p99.9, × by hand',
  `largest rate with p99 below ${MAX_P99} ms, × by hand`,
  '95 % interval',
  'of the CPU',
  '× memory',
];

export interface Group {
  readonly store: StoreName;
  readonly ms: number;
  /** One of each epoch. */
  readonly results: readonly Result[];
}

export function groupsOf(results: readonly Result[]): Group[] {
  return STORES.flatMap((store) =>
    DISTANCES.map((ms) => ({
      store,
      ms,
      results: results.filter((result) => result.store === store && result.ms === ms),
    })),
  ).filter((group) => group.results.length > 0);
}

export function loadReport(groups: readonly Group[]): string {
  const limitOf = (group: Group | undefined) => median((group?.results ?? []).map(({ ours }) => ours.rate));
  const memory = limitOf(groups.find(({ store }) => store === 'memory'));
  const rows = groups.map((group) => {
    const tail = (name: keyof Figures['tail']) =>
      median(group.results.map(({ ours, byHand }) => ours.tail[name] / byHand.tail[name])).toFixed(2);
    const limit = limitRatio(group);
    return [
      `${TITLES[group.store]}${group.store === 'memory' ? '' : `, ${group.ms} ms`}`,
      tail('p50'),
      tail('p99'),
      tail('p999'),
      limit?.median.toFixed(2) ?? '',
      intervalOf(limit),
      `${Math.round(100 * median(group.results.map(({ ours }) => ours.busy)))} %`,
      Number.isNaN(memory) ? '' : (limitOf(group) / memory).toFixed(2),
    ];
  });
  return table(HEAD, rows);
}

function limitRatio({ results }: Group) {
  return estimate(results.map(({ ours, byHand }) => [ours.rate / byHand.rate]));
}

export function missedLimits(groups: readonly Group[]): string[] {
  return groups.flatMap((group) => {
    const limit = limitRatio(group);
    const gate = GATES[group.store];
    if (!limit || verdictOn(limit, gate, true) !== 'missed') return [];
    return `Gate missed: largest rate with ${TITLES[group.store]} at ${group.ms} ms: ${intervalOf(limit)} is beyond ≥ ${gate}`;
  });
}
