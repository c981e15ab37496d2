// Test files that fail, in a folder of their own: the real Jest runs them with the runner and the last lines of this package.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'rerun-')));
  const config = {
    runner: resolve('test/setup/rerun-failed.js'),
    reporters: [resolve('test/setup/closing-line.js')],
    transform: {},
  };
  writeFileSync(join(folder, 'jest.config.json'), JSON.stringify(config));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A file of one test, which fails so many times. */
function fails(name: string, times: number): void {
  const runs = JSON.stringify(join(folder, name));
  writeFileSync(
    join(folder, `${name}.test.js`),
    `test('${name}', () => {
      require('node:fs').appendFileSync(${runs}, '.');
      if (require('node:fs').readFileSync(${runs}, 'utf8').length <= ${times}) throw new Error('too early');
    });`,
  );
}

const runsOf = (name: string) => readFileSync(join(folder, name), 'utf8').length;

function jest(rerun?: string) {
  const { status, stdout } = spawnSync(process.execPath, [resolve('node_modules/jest/bin/jest.js')], {
    cwd: folder,
    env: { ...process.env, RERUN_FAILED: rerun },
    encoding: 'utf8',
  });
  return { status, lines: stdout.trim().split('\n') };
}

test('a file that passes when it runs again is counted as passed, and named', () => {
  fails('steady', 0);
  fails('shaken', 1);
  expect(jest('2')).toEqual({
    status: 0,
    lines: [
      'passed when it ran again: failed: shaken.test.js, shaken: Error: too early',
      '2 passed, 0 failed',
    ],
  });
  expect([runsOf('steady'), runsOf('shaken')]).toEqual([1, 2]);
});

test('a file that fails twice has failed', () => {
  fails('shaken', 1);
  fails('broken', 9);
  expect(jest('2')).toEqual({
    status: 1,
    lines: [
      'passed when it ran again: failed: shaken.test.js, shaken: Error: too early',
      'failed: broken.test.js, broken: Error: too early',
      '1 passed, 1 failed',
    ],
  });
  expect(runsOf('broken')).toBe(2);
});

test.each([
  ['more files failed', '1'],
  ['nobody asked for it', undefined],
])('none runs again if %s', (_, rerun) => {
  fails('shaken', 1);
  fails('broken', 9);
  const { status, lines } = jest(rerun);
  expect(status).toBe(1);
  expect(lines.at(-1)).toBe('0 passed, 2 failed');
  expect([runsOf('shaken'), runsOf('broken')]).toEqual([1, 1]);
});
