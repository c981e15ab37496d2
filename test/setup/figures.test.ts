// Where figures go in a page, and that the pages have such places.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { table, writeFigures } from './figures.js';

describe('figures', () => {
  let folder: string;
  let page: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'payment-webhooks-figures-'));
    page = join(folder, 'page.md');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('replace what is between the marks of their name, and nothing else', () => {
    writeFileSync(
      page,
      'A\n<!-- one: begin -->\nold\n<!-- one: end -->\nB\n<!-- two: begin -->\n<!-- two: end -->\n',
    );
    writeFigures(pathToFileURL(page), 'one', '$& new');
    expect(readFileSync(page, 'utf8')).toBe(
      'A\n<!-- one: begin -->\n$& new\n<!-- one: end -->\nB\n<!-- two: begin -->\n<!-- two: end -->\n',
    );
  });

  test('go nowhere when the page has no such marks', () => {
    expect(() => writeFigures(pathToFileURL(page), 'three', 'new')).toThrow('has no marks');
  });

  test('stand in columns, words to the left and numbers to the right', () => {
    expect(table(['store', 'c'], [['memory', '1,000']])).toBe(
      '| store  |     c |\n| ------ | ----: |\n| memory | 1,000 |',
    );
  });

  // A campaign that has run for an hour must not find that its table has no place.
  const campaigns = readFileSync(join(__dirname, '../lab/faults/run.ts'), 'utf8');
  const marks = [...campaigns.matchAll(/(?:mark: |writeTable\()'([\w-]+)'/g)].map(([, mark = '']) => mark);

  test.each([
    ['docs/project/benchmarks.md', 'load'],
    ...marks.map((mark) => ['test/lab/faults/figures.md', mark] as const),
  ])('have a place in %s for %s', (name, mark) => {
    const text = readFileSync(join(__dirname, '../..', name), 'utf8');
    expect(text).toMatch(new RegExp(`<!-- ${mark}: begin -->\\n[^]*\\n<!-- ${mark}: end -->\\n`));
  });
});
