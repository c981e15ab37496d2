// Holds docs/api.md to what each door of the package exports, and to what a receiver has.
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { memoryDeadLetters, receiver } from 'payment-webhooks';
import { DOORS } from '../setup/doors.js';
import { sectionOf, tableBelow } from '../setup/markdown.js';
import { ROOT } from '../setup/shell.js';

const PAGE = join(ROOT, 'docs/api.md');

/** The names in the first column: `on` of a cell like `on(pattern, handler)` in backticks. */
const namesBelow = (heading: string) =>
  tableBelow(PAGE, heading).map(([cell = '']) => /^`(\w+)/.exec(cell)?.[1] ?? cell);

function typesBelow(heading: string): string[] {
  const [, list = ''] = sectionOf(PAGE, heading).split('\nTypes:');
  return [...list.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
}

describe.each(Object.entries(DOORS))('docs/api.md has of %s', (door, { values, types }) => {
  const heading = `## ${door.replace('.', 'payment-webhooks')}`;

  test('everything that can be imported, and nothing else', () => {
    expect(namesBelow(heading).sort()).toEqual([...values].sort());
  });

  test('every type, and no other', () => {
    const shared = door.startsWith('./stores/') ? typesBelow('## The store contracts') : [];
    expect([...typesBelow(heading), ...shared].sort()).toEqual([...new Set(types)].sort());
  });
});

const hooks = receiver({ privateKey: 'pri_example', deadLetters: memoryDeadLetters(), logger: false });

test('docs/api.md has every member of a receiver', () => {
  expect(namesBelow('### The receiver').sort()).toEqual(['hooks', ...Object.keys(hooks)].sort());
});

test('docs/api.md has every member of deadLetters', () => {
  expect(namesBelow('### Dead letters').sort()).toEqual(Object.keys(hooks.deadLetters).sort());
});
