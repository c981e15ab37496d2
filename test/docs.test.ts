// Runs what the docs show, and holds their tables and links to the code. docs/project/contributing.md has the conventions.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CLIENT_OPTIONS } from '../src/client/options.js';
import { LEVELS } from '../src/deliveries/delivery-log.js';
import { ANSWERS } from '../src/errors.js';
import { RECEIVER_OPTIONS } from '../src/options/options.js';
import { isOfExample, type Snippet, TSCONFIG, writeSnippets, writeTsconfig } from './setup/doc-blocks.js';
import { listFiles } from './setup/list-files.js';
import { codeBlocks, codesIn, tableBelow as tableIn } from './setup/markdown.js';
import { node, ROOT, tsx } from './setup/shell.js';

const DOCS = [
  'README.md',
  ...listFiles(join(ROOT, 'docs')).map((name) => `docs/${name}`),
  'examples/README.md',
  ...readdirSync(join(ROOT, 'examples'))
    .filter((name) => name !== 'README.md')
    .map((name) => `examples/${name}/README.md`),
].filter((name) => name.endsWith('.md'));

const read = (doc: string) => readFileSync(join(ROOT, doc), 'utf8');
const snippets = writeSnippets(DOCS);
const marked = (mark: string) =>
  snippets
    .filter((snippet) => snippet.mark === mark)
    .map((snippet) => [`${snippet.doc}:${snippet.line}`, snippet] as const);

describe('the TypeScript of the docs', () => {
  beforeAll(writeTsconfig);

  test('compiles, every block of it', async () => {
    expect(snippets.length).toBeGreaterThan(10);
    const { stdout } = await node([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', TSCONFIG]);
    expect(stdout).toBe('');
  }, 90_000);

  test('has no mark but those that mean something', () => {
    const marks = new Set(snippets.map(({ mark }) => mark));
    expect([...marks].filter((mark) => !['', 'fragment', 'run'].includes(mark))).toEqual([]);
  });

  const ofExamples = DOCS.flatMap((doc) => codeBlocks(join(ROOT, doc)).filter(isOfExample));

  test.each(ofExamples.map((block) => [block.mark, block.text]))(
    'is that of the example: %s',
    (file, text) => {
      expect(read(file)).toContain(text);
    },
  );

  test('name the adapter of each SQL client', () => {
    const files = readdirSync(join(ROOT, 'examples/sql-clients'));
    const adapters = files.filter((file) =>
      read(`examples/sql-clients/${file}`).includes('satisfies SqlDatabase'),
    );
    const named = [...read('docs/sql.md').matchAll(/\]\(\.\.\/examples\/sql-clients\/([\w-]+\.ts)\)/g)];
    expect(named.map(([, file]) => file).sort()).toEqual(adapters.sort());
    expect(adapters).toHaveLength(8);
  });

  test.each(marked('run'))(
    'prints what the doc shows: %s',
    async (_where, { file, shown }: Snippet) => {
      const { code, stdout, stderr } = await tsx([file]);
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: shown, stderr: '' });
    },
    90_000,
  );

  test('passes where it is a suite for Jest', async () => {
    const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
    const files = suitesOf('@jest/globals').map(({ file }) => file);
    // None of them needs a server.
    const config = '--config=test/setup/jest.portable.config.js';
    const match = '--testMatch=**/.scratch/docs/**/*.test.ts';
    // By path: as a pattern, a path of Windows is full of escapes.
    const args = [config, match, '--reporters=default', '--runTestsByPath', ...files];
    const { code, stderr } = await node([jest, ...args]);
    expect(stderr).toContain(`Test Suites: ${files.length} passed`);
    expect(code).toBe(0);
  }, 90_000);

  test('passes where it is a suite for node:test', async () => {
    for (const { file } of suitesOf('node:test')) expect(await tsx([file])).toMatchObject({ code: 0 });
  }, 90_000);
});

function suitesOf(runner: string): Snippet[] {
  return snippets.filter(({ file, text }) => file.endsWith('.test.ts') && text.includes(`'${runner}'`));
}

describe('docs/errors.md', () => {
  const sections = read('docs/errors.md')
    .split(/^## /m)
    .slice(1)
    .map((section) => section.split('\n').filter(Boolean));

  test('has one heading for each code, in the order of the table', () => {
    expect(sections.map(([heading]) => heading)).toEqual(Object.keys(ANSWERS));
  });

  test.each(Object.entries(ANSWERS))(
    'says of %s what is answered and logged',
    (code, { status, message }) => {
      const [, line, log] = sections.find(([heading]) => heading === code) ?? [];
      const sent = code !== 'BODY_ABORTED' && code !== 'CONFIGURATION_INVALID';
      if (sent) {
        expect(line).toBe(`${status} "${message}"`);
        expect(log).toContain(`Log: \`${LEVELS[code as keyof typeof LEVELS]}\``);
      } else expect(line).toMatch(/^Never sent: /);
    },
  );
});

test('docs/troubleshooting.md names every code that is answered 503', () => {
  const [, section = ''] = read('docs/troubleshooting.md').split('The answer was 503.');
  const named = codesIn(section.split('\n### ')[0]).filter((code) => /^[A-Z_]+$/.test(code));
  const unavailable = Object.entries(ANSWERS).filter(([, { status }]) => status === 503);
  expect(named.sort()).toEqual(unavailable.map(([code]) => code).sort());
});

test('the commands of the docs send a body with curl as JSON, and not as the form that curl says it is', () => {
  const commands = DOCS.flatMap((doc) =>
    codeBlocks(join(ROOT, doc))
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n')),
  ).filter((line) => /\bcurl\b.* --data/.test(line));
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.filter((line) => !line.includes("-H 'Content-Type: application/json'"))).toEqual([]);
});

const tableBelow = (doc: string, heading: string) => tableIn(join(ROOT, doc), heading);

describe('what there is to read', () => {
  const guides = readdirSync(join(ROOT, 'docs')).filter(
    (name) => name.endsWith('.md') && name !== 'changelog.md',
  );

  test('is a README of at most 150 lines', () => {
    expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
  });

  const wordsOf = (doc: string) => read(doc).split(/\s+/).filter(Boolean).length;

  test('is at most 16,000 words, README and guides together', () => {
    // Of these one reads a row or a section, which a code or a name leads to.
    const reference = [
      'api',
      'cli',
      'client',
      'errors',
      'options',
      'skill',
      'troubleshooting',
      'what-is-documented',
    ];
    const whole = guides.filter((name) => !reference.includes(name.replace('.md', '')));
    const words = ['README.md', ...whole.map((name) => `docs/${name}`)].map(wordsOf);
    expect(words.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(16_000);
  });

  test.each(guides)('is at most 1,500 words of %s', (name) => {
    expect(wordsOf(`docs/${name}`)).toBeLessThanOrEqual(1_500);
  });

  test('is at most 9,000 words for maintainers', () => {
    const pages = readdirSync(join(ROOT, 'docs/project')).filter((name) => name.endsWith('.md'));
    const words = pages.map((name) => wordsOf(`docs/project/${name}`));
    expect(words.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(9_000);
  });

  test('has a date for each decision, and the oldest of each part first', () => {
    const parts = read('docs/project/decisions.md').split(/^## .*$/m).slice(1);
    const entries = parts.map((part) => part.trim().split('\n\n'));
    expect(entries.flat().filter((entry) => !/^\d{4}-\d\d-\d\d: \*\*/.test(entry))).toEqual([]);
    const dates = entries.map((part) => part.map((entry) => entry.slice(0, 10)));
    expect(dates).toEqual(dates.map((part) => [...part].sort()));
    expect(dates.flat().length).toBeGreaterThan(40);
  });

  test.each(guides)('shows code before 100 words of %s have passed', (name) => {
    const [before, ...code] = read(`docs/${name}`).split('\n```');
    expect(code.length).toBeGreaterThan(0);
    expect(before?.split(/\s+/).length).toBeLessThan(100);
  });
});

describe('what is installed', () => {
  const { version } = JSON.parse(read('package.json'));
  const texts = DOCS.filter((doc) => !doc.startsWith('docs/project/')).map(
    (doc) => [doc, read(doc)] as const,
  );

  test('is the file of this version, wherever one is named', () => {
    const named = texts.flatMap(([doc, text]) =>
      [...text.matchAll(/payment-webhooks-([\w.-]+)\.tgz/g)].map(([, other]) => [doc, other]),
    );
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter(([, other]) => other !== version)).toEqual([]);
  });

  test('is never the name alone, which is not on npm, but in examples, whose index says so', () => {
    const byName = texts
      .filter(([, text]) => /npm install (?:[-\w]+ )*payment-webhooks\s/.test(text))
      .map(([doc]) => doc);
    expect(byName.filter((doc) => !/^examples\/[^/]+\/README\.md$/.test(doc))).toEqual([]);
    expect(read('examples/README.md')).toContain('The package is not on npm yet');
  });
});

describe('for coding agents', () => {
  const made = (how: string) => node(['test/setup/llms.js', how], { cwd: ROOT });

  test('docs/llms.txt is what `npm run docs:llms` makes of the guides', async () => {
    const { code, stdout } = await made('--print');
    expect(code).toBe(0);
    expect(stdout).toContain('- [Receive safely](receive.md)');
    expect(read('docs/llms.txt')).toBe(stdout);
  });

  test('the README and every guide are printed as one text', async () => {
    const { stdout } = await made('--full');
    for (const guide of ['README.md', 'docs/skill.md', 'docs/errors.md', 'docs/migrating.md'])
      expect(stdout).toContain(`<!-- ${guide} -->\n\n${read(guide)}`);
  });

  test('docs/skill.md is at most 150 lines', () => {
    expect(read('docs/skill.md').split('\n').length).toBeLessThanOrEqual(150);
  });
});

test('docs/options.md has a row for each option, with its default', () => {
  const rows = tableBelow('docs/options.md', '# Options of receiver()').map(([name, value]) => [
    codesIn(name)[0],
    codesIn(value)[0],
  ]);
  expect(rows.map(([name]) => name)).toEqual(RECEIVER_OPTIONS.names);
  for (const [name, fallback] of Object.entries(RECEIVER_OPTIONS.fallbacks)) {
    if (fallback === undefined) continue;
    const shown = new Map(rows as [string, string][]).get(name);
    expect([name, shown]).toEqual([
      name,
      typeof fallback === 'string' ? `'${fallback}'` : withUnderscores(fallback as number | boolean),
    ]);
  }
});

test('docs/delivery.md has every code that is sent in its table of answers, with its status', () => {
  const rows = tableBelow('docs/delivery.md', '## Answers').flatMap(([status, , codes]) =>
    codesIn(codes).map((code) => [code, Number(status)]),
  );
  const sent = Object.entries(ANSWERS).filter(
    ([code]) => code !== 'BODY_ABORTED' && code !== 'CONFIGURATION_INVALID',
  );
  const shown = rows.filter(([code]) => /^[A-Z_]+$/.test(String(code)));
  expect(new Map(shown as [string, number][])).toEqual(
    new Map(sent.map(([code, { status }]) => [code, status])),
  );
});

function withUnderscores(value: number | boolean): string {
  return value.toLocaleString('en').replaceAll(',', '_');
}

describe('docs/what-is-documented.md', () => {
  const rows = tableBelow('docs/what-is-documented.md', '## Not documented, and our choice');

  test('has the choices', () => expect(rows.length).toBeGreaterThan(20));

  test('names options that exist', () => {
    const options = rows.flatMap(([, , option]) => codesIn(option)).filter((name) => !name.includes('('));
    const known = [...RECEIVER_OPTIONS.names, ...CLIENT_OPTIONS.names, 'retention'];
    expect(options.filter((option) => !known.includes(option))).toEqual([]);
  });
});

const links = DOCS.flatMap((doc) => {
  const text = read(doc).replace(/^```.*?^```$/gms, '');
  return [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(
    ([, path = '', anchor]) => [doc, path, anchor] as const,
  );
});

test('links between the docs lead to files and headings that exist', () => {
  expect(links.length).toBeGreaterThan(10);
  const broken = links.filter(([doc, path, anchor]) => {
    const target = path === '' ? doc : join(dirname(doc), path);
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});

/** As GitHub makes them of headings. */
function anchorsOf(doc: string): string[] {
  return [...read(doc).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}
