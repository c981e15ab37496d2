// The simulator's choices in docs/what-is-documented.md have a home; what is documented has a test of the name that
// docs/project/conformance.md gives.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { OPTIONS } from '../../src/simulator/settings.js';

const ROOT = join(__dirname, '../..');
/** The rows of the tables below a heading of a page, each cell as the code in it. */
function codeBelow(doc: string, heading: string): string[][][] {
  const page = readFileSync(join(ROOT, doc), 'utf8');
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const lines = (section.split('\n## ')[0] ?? '').split('\n');
  const rows = lines.filter((line, index) => line.startsWith('| ') && !lines[index + 1]?.startsWith('| ---'));
  return rows
    .filter((row) => !row.startsWith('| ---'))
    .map((row) =>
      row
        .split(' | ')
        .slice(0, 4)
        .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)),
    );
}

test('each choice of the simulator has a home in the code, and options that exist', () => {
  const rows = codeBelow('docs/what-is-documented.md', 'Open, and chosen by the simulator');
  expect(rows.length).toBeGreaterThan(15);
  for (const [, , home = [], options = []] of rows) {
    expect(home.map((file) => [file, existsSync(join(ROOT, file))])).toEqual([[home[0], true]]);
    expect(options.filter((option) => !(option in OPTIONS))).toEqual([]);
  }
});

test('each documented row has a test of the name that it gives', () => {
  const files = readdirSync(__dirname).filter(
    (name) => name.endsWith('.test.ts') && name !== 'documented.test.ts',
  );
  const tests = [...files, '../cli/simulate.test.ts']
    .map((name) => readFileSync(join(__dirname, name), 'utf8'))
    .join('\n');
  const rows = codeBelow('docs/project/conformance.md', 'Where the simulator is held to what is documented');
  expect(rows.length).toBeGreaterThan(25);
  expect(rows.filter(([, named = []]) => named.length === 0)).toEqual([]);
  const names = rows.flatMap(([, named = []]) => named);
  expect(names.filter((name) => !tests.includes(`'${name}'`))).toEqual([]);
});
