// docs/project/conformance.md: the simulator's choices have a home in the code, and what is documented has a test of
// the name that it gives.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { SIMULATOR_OPTIONS } from '../../../src/tools/simulator/settings.js';

const ROOT = join(__dirname, '../../..');
const page = readFileSync(join(ROOT, 'docs/project/conformance.md'), 'utf8');

/** The rows of the tables below a heading, each cell as the code in it. */
function codeBelow(heading: string): string[][][] {
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
  const rows = codeBelow('Open, and chosen by the simulator');
  expect(rows.length).toBeGreaterThan(20);
  for (const [, , home = [], options = []] of rows) {
    expect(home.map((file) => [file, existsSync(join(ROOT, file))])).toEqual([[home[0], true]]);
    expect(options.filter((option) => !SIMULATOR_OPTIONS.names.includes(option))).toEqual([]);
  }
});

test('each documented row has a test of the name that it gives', () => {
  const files = readdirSync(__dirname).filter(
    (name) => name.endsWith('.test.ts') && name !== 'documented.test.ts',
  );
  const tests = [...files, '../cli/simulate.test.ts']
    .map((name) => readFileSync(join(__dirname, name), 'utf8'))
    .join('\n');
  const rows = codeBelow('Where the simulator is held to what is documented');
  expect(rows.length).toBeGreaterThan(25);
  expect(rows.filter(([, named = []]) => named.length === 0)).toEqual([]);
  const names = rows.flatMap(([, named = []]) => named);
  expect(names.filter((name) => !tests.includes(`'${name}'`))).toEqual([]);
});
