import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const project = resolve(__dirname, '../..');
const page = readFileSync(join(project, 'docs/testing.md'), 'utf8');
const files = [...page.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)];

describe('docs/testing.md', () => {
  let folder: string;

  function run(...args: string[]): string {
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    return stdout + stderr;
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'docs-testing-'));
    for (const [, name, code] of files) writeFileSync(join(folder, `${name}`), `${code}`);
    symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(project, 'tsconfig.json'), include: ['*.ts'] }),
    );
    writeFileSync(
      join(folder, 'jest.config.js'),
      `import config from ${JSON.stringify(join(project, 'jest.config.js'))};
       const here = (text) => text.replace('<rootDir>', ${JSON.stringify(project)});
       const moduleNameMapper = Object.fromEntries(
         Object.entries(config.moduleNameMapper).map(([name, path]) => [name, here(path)]),
       );
       const { transform } = config;
       export default { transform, moduleNameMapper, testMatch: ['**/{paid,refused,receive}.test.ts'] };`,
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has each of its code blocks checked here', () => {
    expect(files).toHaveLength((page.match(/^```/gm) ?? []).length / 2);
    expect(files.map(([, name]) => name)).toEqual([
      'app.ts',
      'paid.test.ts',
      'refused.test.ts',
      'deliver.test.ts',
      'receive.test.ts',
    ]);
  });

  test('shows code that fits its types', () => {
    expect(run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.json')).toBe('');
  }, 60_000);

  test('shows tests that pass in Jest', () => {
    const output = run('node_modules/jest/bin/jest.js');
    expect(output).toContain('Test Suites: 3 passed, 3 total');
    expect(output).toMatch(/Tests: +\d+ passed, \d+ total/);
  }, 60_000);

  test('shows a test that passes in the runner of Node', () => {
    expect(run('--import', 'tsx', '--test', 'deliver.test.ts')).toMatch(/pass 1\n.*fail 0/);
  }, 60_000);
});
