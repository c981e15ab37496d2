// The tables of the cost model: the same figures in the measured part as in what follows from it.
import { expect, test } from '@jest/globals';
import { large, markdownOf } from './scale-report.js';

const redis = { receiver: 100e-6, server: 20e-6, bytes: 300 };
const costs = {
  memory: { receiver: 80e-6, server: 0, bytes: 310 },
  redis,
  postgres: { receiver: 150e-6, server: 200e-6, bytes: 340 },
  transactional: { receiver: 200e-6, server: 300e-6, bytes: 340 },
  prune: 9e-6,
  sender: 30e-6,
};
const scaled = [
  { processes: 1, perSecond: 9_000, receiver: 0.95, server: 0.2, sender: 0.3, others: 0.01 },
  { processes: 4, perSecond: 12_000, receiver: 1.3, server: 0.25, sender: 0.4, others: 0.01 },
];
const text = markdownOf({ costs, scaled, bodyBytes: 1_024, cpus: 2 });
const rows = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
/** The cells of every row of that name, without it. */
const row = (name: string) => rows.filter((cells) => cells[1] === name).map((cells) => cells.slice(2, -1));

test('costs are in microseconds and bytes', () => {
  expect(row('Redis')).toEqual([['100', '20', '300']]);
  expect(row('memory')).toEqual([['80', '', '310']]);
});

test('a run stands beside what the model says', () => {
  expect(row('1')).toEqual([['9,000', '10,000', '0.95', '0.90', '0.20', '0.18']]);
  expect(row('4')).toEqual([['12,000', '13,333', '1.30', '1.20', '0.25', '0.24']]);
});

test('three rates are computed from the costs above', () => {
  expect(row('**Redis**: receivers')).toEqual([['1', '2', '20']]);
  expect(row('shards, for their CPU')).toEqual([['1', '1', '4']]);
  expect(row('shards, for their memory, 30 days')).toEqual([['25', '243', '2,430']]);
  expect(row('memory of all shards, 2 days')).toEqual([['51.8 GB', '518 GB', '5.18 TB']]);
  expect(row('CPUs of the server')).toEqual([
    ['1', '4', '40'],
    ['1', '6', '60'],
  ]);
  expect(row('connections that prune')).toEqual([['1', '1', '2']]);
  expect(row('partitions, 2 days')).toEqual([['4', '35', '346']]);
  expect(row('connections')).toEqual([['200', '2,000', '20,000']]);
});

test('a run beside other work is called a sketch', () => {
  const disturbed = scaled.map((one) => ({ ...one, others: 0.4 }));
  expect(text).not.toContain('sketch');
  expect(markdownOf({ costs, scaled: disturbed, bodyBytes: 1_024, cpus: 2 })).toContain(
    'take it for a sketch',
  );
});

test('large numbers have three digits and a unit', () => {
  expect([1_000, 172_800_000, 2.592e9, 84.6e12].map(large)).toEqual(['1 k', '173 M', '2.59 G', '84.6 T']);
});
