// The bar of a command in terminals of several widths.
import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { progressBar } from '../../../src/tools/cli/print.js';

/** What the bar writes to standard error, without the sequence that erases the line. */
function shown(terminal: { readonly isTTY?: boolean; readonly columns?: number }): string {
  const stream = () => new PassThrough();
  const stderr = Object.assign(stream(), terminal);
  const bar = progressBar({ stdin: stream(), stdout: stream(), stderr, env: {} });
  bar.show(1_200, 1_200, '1199 processed, 1 failed');
  return String(stderr.read() ?? '').replace('\r\u001b[K', '');
}

const WHOLE = '[########################] 1200 of 1200, 1199 processed, 1 failed';

test('fits into one line of the terminal, because only that line is erased', () => {
  expect(shown({ isTTY: true, columns: 60 })).toBe(WHOLE.slice(0, 59));
  expect(shown({ isTTY: true, columns: 80 })).toBe(WHOLE);
});

test('is whole where the width is not known, and not there without a terminal', () => {
  expect(shown({ isTTY: true })).toBe(WHOLE);
  expect(shown({ isTTY: true, columns: 0 })).toBe(WHOLE);
  expect(shown({ columns: 80 })).toBe('');
});
