// The suites of docs/testing.md under each test runner, with the packages, files and command that the page shows for it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { codeBlocks } from '../setup/markdown.js';
import { ROOT } from '../setup/shell.js';
import { consumer } from './consumer.js';
import { runsHere } from './node-version.js';

interface Setup {
  /** Heading of the section in the page. */
  readonly section: string;
  /** Which version is meant, where the page leaves it open. */
  readonly versions: Readonly<Record<string, string>>;
  /** The oldest Node that these versions run on. */
  readonly node?: string;
}

const JEST_29 = { jest: '29', '@jest/globals': '29' };
const JEST_30 = { jest: '30', '@jest/globals': '30' };

const SETUPS: readonly Setup[] = [
  { section: 'Jest with swc', versions: JEST_29 },
  { section: 'Jest with swc', versions: JEST_30 },
  { section: 'Jest with ts-jest', versions: JEST_29 },
  { section: 'Jest with ts-jest', versions: JEST_30 },
  { section: 'Jest with ES modules', versions: JEST_29 },
  { section: 'Jest with ES modules', versions: JEST_30 },
  { section: 'Vitest', versions: { vitest: '4' } },
  { section: 'Vitest', versions: { vitest: '5' }, node: '22.12' },
  { section: 'node:test', versions: {} },
];

const PAGE = join(ROOT, 'docs/testing.md');
const blocks = codeBlocks(PAGE);

/** The file that a block is, by its first line: `// app.ts`. */
function fileOf({ text }: { text: string }): string {
  return /^\/\/ (\S+)\n/.exec(text)?.[1] ?? '';
}

/** What the section says to import from instead of Jest. */
const INSTEAD: Readonly<Record<string, string>> = { Vitest: 'vitest', 'node:test': 'node:test' };

/** Every file of the page. The command for node:test names the one suite that needs no `expect`. */
function filesFor(section: string): [file: string, text: string][] {
  return blocks
    .filter((block) => block.language === 'ts' && fileOf(block) !== '')
    .map((block) => [
      fileOf(block),
      block.text.replace('@jest/globals', INSTEAD[section] ?? '@jest/globals'),
    ]);
}

/** What the section says: what to install, which files to write, what to type. */
function readSection({ section, versions }: Setup) {
  const own = blocks.filter(({ heading }) => heading === section);
  const [install = '', command = '', ...more] = own
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text);
  expect(more).toEqual([]);
  const packages = install.replace('npm install --save-dev', '').trim().split(/\s+/);
  expect(packages).toEqual(expect.arrayContaining(Object.keys(versions)));
  return {
    packages: packages.map((name) => (versions[name] ? `${name}@${versions[name]}` : name)),
    files: own.filter(({ language }) => language !== 'sh').map((block) => [fileOf(block), block.text]),
    command,
  };
}

/** How many suites passed, in the words of the runner; node:test counts tests, and its suite has one. */
const PASSED = /(?:Test Suites:|Test Files) +(\d+) passed|(?:#|ℹ) pass (\d+)/;

function nameOf({ section, versions }: Setup): string {
  const shown = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [section, ...shown.filter((one) => !one.includes('globals'))].join(', ');
}

describe('the page', () => {
  test('shows a setup for each runner here, and no other', () => {
    const [, part = ''] = readFileSync(PAGE, 'utf8').split('\n## Set up your test runner\n');
    const headings = [...(part.split('\n## ')[0] ?? '').matchAll(/^### (.*)$/gm)].map(
      ([, heading]) => heading,
    );
    expect(headings).toEqual([...new Set(SETUPS.map(({ section }) => section))]);
  });
});

describe('the suites of the page pass with its setup for', () => {
  for (const setup of SETUPS) {
    const name = nameOf(setup);
    const run = runsHere(setup.node) ? test : test.skip;
    run(
      runsHere(setup.node) ? name : `${name} (needs Node ${setup.node})`,
      async () => {
        const { packages, files, command } = readSection(setup);
        const project = await consumer(name.replace(/\W+/g, '-').toLowerCase(), ['express', ...packages]);
        const copied = filesFor(setup.section);
        for (const [file = '', text = ''] of [...copied, ...files]) project.write(file, text);
        const { code, stdout, stderr } = await project.shell(command);
        const output = stripVTControlCharacters(stdout + stderr);
        const [, some, only] = PASSED.exec(output) ?? [];
        expect({ code, passed: Number(some ?? only), output }).toEqual({
          code: 0,
          passed: setup.section === 'node:test' ? 1 : copied.length - 1,
          output,
        });
      },
      180_000,
    );
  }
});
