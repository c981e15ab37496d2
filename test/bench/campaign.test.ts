// A run that continues where the last one stopped, and stops before its time is over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { complete } from './campaign.js';
import type { Measured } from './epoch.js';
import type { Experiment } from './experiment.js';
import { Series } from './series.js';

const EPOCH_S = 120;

let folder: string;
/** Milliseconds. */
let now: number;
let measured: string[];
let said: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payment-webhooks-campaign-'));
  [now, measured, said] = [0, [], []];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function series(
  name: string,
  outcome: () => Partial<Measured> | undefined = () => ({}),
  seconds = EPOCH_S,
): Series {
  const experiment: Experiment = {
    name,
    title: name,
    contestants: [],
    key: {},
    expectedSeconds: seconds,
    measure: async () => {
      measured.push(name);
      now += seconds * 1_000;
      const special = outcome();
      return special && { rounds: [{ ours: { share: 1 } }], dropped: {}, ...special };
    },
  };
  return new Series(experiment, folder);
}

const run = (all: readonly Series[], { epochs = 3, minutes = 100 } = {}) =>
  complete(all, { epochs, minutes, now: () => now++ }, (text) => said.push(text));

test('the series that was measured least is next', async () => {
  expect(await run([series('accept')], { epochs: 1 })).toBe(true);
  expect(await run([series('accept'), series('reject')])).toBe(true);
  expect(measured).toEqual(['accept', 'reject', 'accept', 'reject', 'accept', 'reject']);
});

test('a run stops before an epoch that would not fit, and the next run goes on', async () => {
  expect(await run([series('accept')], { epochs: 5, minutes: 5 })).toBe(false);
  expect(measured).toHaveLength(2);
  expect(await run([series('accept')], { epochs: 5, minutes: 7 })).toBe(true);
  expect(measured).toHaveLength(5);
});

test('the time that is left goes to a series that fits into it', async () => {
  const all = [series('accept'), series('reject', undefined, 30)];
  expect(await run(all, { minutes: 3.4 })).toBe(false);
  expect(measured).toEqual(['accept', 'reject', 'reject']);
});

test('a run measures one epoch, however short its time is', async () => {
  expect(await run([series('accept')], { minutes: 0.1 })).toBe(false);
  expect(measured).toHaveLength(1);
});

test('epochs that are there are not measured again', async () => {
  await run([series('accept')]);
  expect(await run([series('accept')])).toBe(true);
  expect(measured).toHaveLength(3);
});

test('a series that is restarted begins with its first epoch', async () => {
  await run([series('accept')]);
  const again = series('accept');
  again.restart();
  expect(await run([again])).toBe(true);
  expect(measured).toHaveLength(6);
});

test('the time that is left is said', async () => {
  await run([series('accept')]);
  expect(said).toEqual([
    'accept, epoch 1 of 3; about 6 min to go',
    'accept, epoch 2 of 3; about 4 min to go',
    'accept, epoch 3 of 3; about 2 min to go',
  ]);
});

test('an epoch that was disturbed from its beginning to its end is measured again', async () => {
  let disturbed = true;
  const noisy = series('accept', () => {
    const share = disturbed ? 0.5 : 1;
    disturbed = false;
    return { rounds: [{ ours: { share } }] };
  });
  expect(await run([noisy], { epochs: 1 })).toBe(true);
  expect(measured).toHaveLength(2);
  expect(said[1]).toBe(
    'accept, epoch 1 of 1: discarded, as ours never had its CPU to itself. Is something else running?',
  );
});

test('an epoch whose time was up is neither kept nor begun again', async () => {
  expect(await run([series('accept', () => undefined)])).toBe(false);
  expect(measured).toHaveLength(1);
  expect(said[1]).toBe('accept, epoch 1 of 3: left out, as the time is up.');
  expect(series('accept').epochs).toEqual([]);
});

test('a series that is always disturbed does not hold up another', async () => {
  const noisy = series('accept', () => ({ rounds: [{ ours: { share: 0.5 } }] }));
  expect(await run([noisy, series('reject')], { minutes: 13 })).toBe(false);
  expect(measured).toEqual(['accept', 'reject', 'accept', 'reject', 'accept', 'reject']);
});

test('a contestant that was dropped in one epoch stays dropped', async () => {
  let first = true;
  const all = series('accept', () => {
    const dropped = first ? { svix: 'it answered nothing' } : {};
    first = false;
    return { dropped: dropped as Record<string, string> };
  });
  await run([all]);
  expect(all.dropped).toEqual({ svix: 'it answered nothing' });
});
