// The key of a build: it changes with the code, and with nothing else.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { buildOfCommit, hashOfCode } from './build.js';
import { UsageError } from './options.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payment-webhooks-build-'));
  mkdirSync(join(folder, 'stores'));
  write('index.js', 'one');
  write('stores/memory.js', 'two');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

test.each([
  ['index.js', 'other'],
  ['stores/memory.js', 'other'],
  ['stores/new.js', ''],
])('another %s makes another build', (name, text) => {
  const before = hashOfCode(folder);
  write(name, text);
  expect(hashOfCode(folder)).not.toBe(before);
});

test('the same code and other declarations make the same build', () => {
  const before = hashOfCode(folder);
  write('index.js', 'one');
  write('index.d.ts', 'declare');
  expect(hashOfCode(folder)).toBe(before);
});

test('something that is no commit is refused before anything is built', () => {
  expect(() => buildOfCommit('no-such-commit', () => {})).toThrow(UsageError);
  expect(() => buildOfCommit('--all', () => {})).toThrow('--ab: "--all" is not a commit of this repository.');
});
