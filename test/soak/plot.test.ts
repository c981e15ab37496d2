// The drawing: where lines, scales and words are.
import { expect, test } from '@jest/globals';
import { bucket, pathOf, plot, roundUp } from './plot.js';

test('a scale ends at a round number that is not less than the largest value', () => {
  expect([0.7, 1, 1.01, 2.2, 4, 6, 15.9, 101, 2_500].map(roundUp)).toEqual([
    1, 1, 2, 2.5, 5, 10, 20, 200, 2_500,
  ]);
  expect([0, Number.NaN].map(roundUp)).toEqual([1, 1]);
});

test('the largest minute and value are at the upper right corner, and 0 at the lower left', () => {
  const frame = { left: 10, top: 20, width: 100, height: 50, most: [30, 8] } as const;
  const points = [
    [0, 0],
    [15, 2],
    [30, 8],
  ] as const;
  expect(pathOf(points, frame)).toBe('M10.0 70.0L60.0 57.5L110.0 20.0');
});

test('values are gathered by stretches of time, each in its middle, and an empty stretch has none', () => {
  const timed = [
    [0, 1],
    [9.9, 3],
    [10, 5],
    [39, 7],
  ].map(([at = 0, value = 0]) => ({ at, value }));
  expect(bucket(timed, 10, (values) => Math.max(...values))).toEqual([
    [5, 3],
    [15, 5],
    [35, 7],
  ]);
});

test('a picture has a line for each process, tells what it shows, and has colours for light and dark', () => {
  const points = [
    [0, 1],
    [1, 2],
  ] as const;
  const panel = { title: 'Heap < 5 & rising', unit: 'MB', lines: [{ points }, { points }] };
  const picture = plot([panel, panel, panel], 'Heap over time');
  expect(picture.match(/<path class="line[01]" d="M/g)).toHaveLength(6);
  expect(picture).toContain('<title>Heap over time</title>');
  expect(picture).toContain('Heap &#60; 5 &#38; rising, MB');
  expect(picture).toContain('@media (prefers-color-scheme: dark)');
  expect(picture).toContain('viewBox="0 0 840 340"');
  expect(picture).not.toMatch(/NaN|undefined|Infinity/);
});

test('a picture of nothing is still one', () => {
  const picture = plot([{ title: 'Heap', unit: 'MB', lines: [{ points: [] }] }], 'Nothing');
  expect(picture).not.toMatch(/NaN|undefined|Infinity/);
});
