// Epochs on disk: read again after a run was cut off, and never mixed with those of another build.
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Epoch } from './epoch.js';
import { EpochFile } from './epoch-file.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payment-webhooks-epochs-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const key = { node: 'v24.0.0', build: 'aaa', rounds: 4 };
const open = (changed = {}) => new EpochFile(folder, { name: 'accept', key: { ...key, ...changed } });
const epoch = (seconds: number): Epoch => ({ seconds, rounds: [{ ours: { cpuNs: seconds } }], dropped: {} });

test('epochs are read back in their order', () => {
  open().append(epoch(1));
  open().append(epoch(2));
  expect(open().read()).toEqual([epoch(1), epoch(2)]);
});

test('there are none before the first', () => {
  expect(open().read()).toEqual([]);
});

test('a last line that was cut off is left out, and does not swallow the next epoch', () => {
  open().append(epoch(1));
  appendFileSync(open().path, JSON.stringify(epoch(2)).slice(0, 25));
  expect(open().read()).toEqual([epoch(1)]);
  open().append(epoch(3));
  open().append(epoch(4));
  expect(open().read()).toEqual([epoch(1), epoch(3), epoch(4)]);
});

test('deleted epochs are gone, also when there were none', () => {
  open().append(epoch(1));
  open().delete();
  open().delete();
  expect(open().read()).toEqual([]);
});

test.each([
  ['the build', { build: 'bbb' }],
  ['Node', { node: 'v24.0.1' }],
  ['the machine', { machine: '4 × other' }],
  ['the number of rounds', { rounds: 2 }],
])('%s is part of the key', (_what, changed) => {
  open().append(epoch(1));
  expect(open(changed).read()).toEqual([]);
});

test('the order of what makes up the key is not', () => {
  open().append(epoch(1));
  const reversed = { rounds: 4, build: 'aaa', node: 'v24.0.0' };
  expect(new EpochFile(folder, { name: 'accept', key: reversed }).read()).toEqual([epoch(1)]);
});
