import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { builtInEventNames } from '../../../src/events/event.js';
import { commands } from '../../../src/tools/cli/commands.js';
import { needing } from '../../setup/platform.js';
import { fileWith, folder } from './files.js';
import { runCli } from './run-cli.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

beforeAll(async () => {
  fileWith('{}', 'event.json');
  for (const shell of SHELLS) {
    const { code, stdout } = await runCli(['completion', shell]);
    expect(code).toBe(0);
    fileWith(stdout, `script.${shell}`);
  }
});

/** What the shell offers for a command line, of which the last word is still being typed. */
const ASK: Readonly<Record<Shell, (line: string) => string[]>> = {
  bash: (line) => {
    const words = line.split(' ').map((word) => `'${word}'`);
    const code = `source script.bash; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _payment_webhooks; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return lines(execFileSync('bash', ['--norc', '-c', code], { cwd: folder }));
  },
  zsh: (line) => {
    // The functions that talk to zsh's own editor stand in as ones that print what they are given.
    const code = `
      compdef() { :; }
      compadd() { shift; print -l -- "$@"; }
      _describe() { print -l -- "\${(@)\${(P@)@[-1]}%%:*}"; }
      _files() { print -l -- *; }
      source script.zsh
      words=("\${(@s: :)LINE}"); CURRENT=$#words; PREFIX=$words[-1]
      _payment_webhooks`;
    const env = { PATH: process.env.PATH, LINE: line };
    return lines(execFileSync('zsh', ['-f', '-c', code], { cwd: folder, env }));
  },
  fish: (line) => {
    const words = ['--no-config', '-c', `source script.fish; complete -C '${line}'`];
    return lines(execFileSync('fish', words, { cwd: folder })).map((row) => row.split('\t')[0] ?? '');
  },
};

const lines = (output: Buffer) => output.toString().split('\n').filter(Boolean);

const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
const groups = firstWords.filter((word) => commands.some(({ name }) => name.startsWith(`${word} `)));

for (const shell of SHELLS) needing(shell).describe(shell, () => testsOf(shell));

function testsOf(shell: Shell): void {
  const offered = (line: string) => ASK[shell](`payment-webhooks ${line}`);

  test('reads the script', () => {
    execFileSync(shell, ['-n', join(folder, `script.${shell}`)]);
  });

  test('offers every command', () => {
    expect(offered('')).toEqual(expect.arrayContaining(firstWords));
    for (const group of groups) {
      const members = commands.filter(({ name }) => name.startsWith(`${group} `));
      expect(offered(`${group} `).sort()).toEqual(members.map(({ name }) => name.split(' ')[1]).sort());
    }
  });

  test('offers every option of every command', async () => {
    for (const { name, load } of commands) {
      const { options } = await load();
      const flags = [...Object.keys(options), 'help'].map((option) => `--${option}`);
      expect(offered(`${name} --`).sort()).toEqual(flags.sort());
    }
  });

  test('offers the names of events, the shells, and files', () => {
    expect(offered('webhooks create --events ')).toEqual(builtInEventNames);
    expect(offered('completion ').sort()).toEqual([...SHELLS].sort());
    expect(offered('sign --key-file ')).toContain('event.json');
    expect(offered('webhooks list --url ')).toEqual([]);
  });
}
