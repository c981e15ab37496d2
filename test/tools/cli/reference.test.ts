// One table of commands: help, docs/cli.md, and what the docs type.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { commands, findCommand } from '../../../src/tools/cli/commands.js';
import { BEGIN, cliReference, END } from '../../setup/cli-reference.js';
import { codeBlocks } from '../../setup/markdown.js';
import { ROOT } from '../../setup/shell.js';
import { runCli } from './run-cli.js';

const FILE = join(ROOT, 'docs/cli.md');
const ROWS = commands.map((row) => [row.name, row] as const);

describe('the table of commands, the help and docs/cli.md', () => {
  test('are one: the doc is what the table says', () => {
    const page = readFileSync(FILE, 'utf8');
    const [before = '', rest = ''] = page.split(BEGIN);
    const [written = '', after = ''] = rest.split(END);
    const reference = cliReference();
    if (process.env.UPDATE_DOCS) writeFileSync(FILE, before + reference + after);
    else expect(BEGIN + written + END).toBe(reference);
  });

  test.each(ROWS)('know `%s` and its options', async (name, { load }) => {
    const { options, arguments: positionals, examples, about } = await load();
    const { stdout: help } = await runCli([...name.split(' '), '--help']);
    const oneLine = help.replace(/\s+/g, ' ');
    expect(oneLine).toContain(about);
    for (const [option, { about: text }] of Object.entries(options)) {
      expect(oneLine).toContain(`--${option}`);
      expect(oneLine).toContain(text);
    }
    for (const argument of positionals) expect(oneLine).toContain(`${argument.name} ${argument.about}`);
    for (const line of Object.keys(examples)) expect(help).toContain(line);
  });

  test.each(ROWS)('give examples of `%s` that can be read', async (name, { load }) => {
    const { examples, options } = await load();
    for (const line of Object.keys(examples)) {
      const [, typed = ''] = /payment-webhooks (.*?)(?: \||\)| >| <|$)/.exec(line) ?? [];
      expect(typed).toMatch(new RegExp(`^${name}(?= |$)`));
      for (const [, option = ''] of typed.matchAll(/--([\w-]+)/g))
        expect(Object.keys(options)).toContain(option);
    }
  });

  test('know every command and option that a doc or an example types', async () => {
    const files = ['docs', 'examples'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    );
    const typed = ['README.md', ...files.filter((name) => name.endsWith('.md'))].flatMap((name) =>
      codeBlocks(join(ROOT, name))
        .filter(({ language }) => language === 'sh')
        .flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'))
        .flatMap((line) => /\bnpx payment-webhooks (.*?)(?: \||\)| >| <| {2}|$)/.exec(line)?.[1] ?? []),
    );
    expect(typed.length).toBeGreaterThan(20);
    for (const line of typed) {
      const found = findCommand(line.split(' '));
      expect([line, found?.row.name]).toEqual([line, expect.any(String)]);
      const { options } = (await found?.row.load()) ?? { options: {} };
      const flags = [...line.matchAll(/ --([\w-]+)/g)].map(([, name]) => name);
      expect([line, ['help', ...Object.keys(options)]]).toEqual([line, expect.arrayContaining(flags)]);
    }
  });
});
