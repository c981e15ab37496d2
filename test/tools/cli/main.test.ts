import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { commands } from '../../../src/tools/cli/commands.js';
import { painter, printable, table } from '../../../src/tools/cli/print.js';
import { failed, runCli } from './run-cli.js';

const { version } = JSON.parse(readFileSync(join(__dirname, '../../../package.json'), 'utf8'));

describe('help', () => {
  test.each([['--help'], ['-h'], ['help']])('%s lists every command, exit code 0', async (word) => {
    const { code, stdout, stderr } = await runCli([word]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const { name, summary } of commands) {
      expect(stdout).toContain(`  ${name}`);
      expect(stdout.replace(/\s+/g, ' ')).toContain(summary);
    }
    expect(stdout).toContain('Exit codes');
  });

  test('without a command it goes to stderr, exit code 2', async () => {
    expect(await runCli([])).toEqual(failed(2, 'Usage: payment-webhooks <command>'));
  });

  test.each(commands.map(({ name }) => [name]))(
    'of `%s` has its usage, options and examples',
    async (name) => {
      const words = name.split(' ');
      for (const argv of [
        [...words, '--help'],
        ['help', ...words],
        [...words, '-h'],
      ]) {
        const { code, stdout } = await runCli(argv);
        expect(code).toBe(0);
        expect(stdout).toContain(`Usage: payment-webhooks ${name}`);
        expect(stdout).toContain('--help');
        expect(stdout).toContain(`Examples\n  # `);
      }
    },
  );

  test.each(commands.filter(({ name }) => name.includes(' ')).map(({ name }) => [name]))(
    'of `%s` is found by its last word, or that word is said to mean several commands',
    async (name) => {
      const word = name.split(' ').at(-1) ?? '';
      const meant = commands.filter((other) => other.name.endsWith(` ${word}`)).map((other) => other.name);
      for (const argv of [
        [word, '--help'],
        ['help', word],
        [word, '-h'],
      ]) {
        const run = await runCli(argv);
        if (meant.length === 1) expect(run).toEqual(await runCli([name, '--help'].join(' ').split(' ')));
        else expect(run).toEqual(failed(2, `Did you mean ${meant.map((one) => `"${one}"`).join(' or ')}?`));
      }
    },
  );

  test('lists the commands by topic, each below its heading', async () => {
    const { stdout } = await runCli(['--help']);
    for (const { name, topic } of commands) {
      const [, under = ''] = stdout.split(`\n${topic}\n`);
      expect(under.split('\n\n')[0]).toContain(`  ${name}  `);
    }
  });

  test.each(['deliveries', 'webhooks', 'dead-letters', 'keys'])(
    'of the group `%s` is its own: its commands and an example of each',
    async (group) => {
      const { code, stdout } = await runCli([group, '--help']);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Usage: payment-webhooks ${group} <command> \\[options\\]\n`));
      for (const { name, summary } of commands) {
        const isMember = name.startsWith(`${group} `);
        expect([name, stdout.includes(`  ${name}  `)]).toEqual([name, isMember]);
        if (isMember) expect(stdout).toContain(summary);
        expect([name, stdout.includes(`\n  payment-webhooks ${name}`)]).toEqual([name, isMember]);
      }
      expect((await runCli(['help', group])).stdout).toBe(stdout);
    },
  );

  test('no line is wider than 80 columns, but for examples', async () => {
    for (const { name } of commands) {
      const { stdout } = await runCli([...name.split(' '), '--help']);
      const [described = ''] = stdout.split('Examples');
      expect(described.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  test.each(['--version', '-V'])('%s prints the version of the package', async (flag) => {
    expect(await runCli([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('wrong usage is exit code 2, with a reason and the way to help', () => {
  test.each<[string[], string, string]>([
    [['webhook'], 'There is no command "webhook". Did you mean "webhooks"?', ''],
    [['sing'], 'Did you mean "sign"?', ''],
    [['webhooks'], '`webhooks` needs one of list, create', 'webhooks'],
    [['webhooks', 'ls'], '`webhooks` needs one of list', 'webhooks'],
    [['webhooks', 'lsit'], 'Did you mean "list"?', 'webhooks'],
    [['webhooks', 'create'], '`webhooks create` needs URL', 'webhooks create'],
    [['webhooks', 'delete', 'a', 'b'], 'takes no argument "b"', 'webhooks delete'],
    [
      ['sign', '--boddy', 'x'],
      'Unknown option --boddy. Did you mean "--body"? `sign` takes --body, --key-file, --json, --help.',
      'sign',
    ],
    [['sign', '-x'], 'Unknown option -x. `sign` takes --body,', 'sign'],
    [['sign', '--body'], '--body needs a value, such as --body @event.json.', 'sign'],
    [['sign', '--key-file', '--body'], '--key-file needs a value, such as --key-file key.txt.', 'sign'],
    [
      ['simulate', '--port', '--forward', '3000'],
      '--port needs a value, such as --port 4747. A value that begins with a hyphen is written --port=-x.',
      'simulate',
    ],
    [['sign', '--json=5'], '--json takes no value.', 'sign'],
    [['resend'], 'There is no command "resend". Did you mean "deliveries resend"?', ''],
    [['resnd', 'x'], 'Did you mean "deliveries resend"?', ''],
    [['ensure', 'x'], 'Did you mean "webhooks ensure"?', ''],
    [['resnd', '--help'], 'Did you mean "deliveries resend"?', ''],
    [['help', 'nothing'], 'There is no command "nothing".', ''],
    [['list'], 'Did you mean "deliveries list" or "dead-letters list" or "webhooks list"?', ''],
    [['trigger', 'transaction.paid', '--fault', 'tcsh'], '--fault "tcsh" is not one of ', 'trigger'],
    [['doctor', 'localhost'], 'URL "localhost" is not the URL of an endpoint', 'doctor'],
  ])('%j', async (argv, message, help) => {
    const run = await runCli(argv, { env: { SERVICE_PRIVATE_KEY: 'pri_x' } });
    expect(run).toEqual(failed(2, new RegExp(`See payment-webhooks ${help && `${help} `}--help\n$`)));
    expect(run.stderr).toContain(message);
  });

  test('is JSON with --json', async () => {
    const { code, stdout, stderr } = await runCli(['--json', 'sign']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(JSON.parse(stderr).error.message).toContain('Put the command first');
  });

  test.each(commands.map((row) => [row.name, row] as const))(
    'an option of `%s` without its value is told what to type',
    async (name, { load }) => {
      const { options, arguments: positionals } = await load();
      for (const [option, { type }] of Object.entries(options)) {
        if (type === 'boolean') continue;
        const words = [...name.split(' '), ...positionals.map(() => 'x'), `--${option}`];
        const message = new RegExp(`^--${option} needs a value, such as --${option} (?:[^ "]+|"[^"]+")\\.\n`);
        expect(await runCli(words, { env: { SERVICE_PRIVATE_KEY: 'pri_x' } })).toEqual(failed(2, message));
      }
    },
  );

  test.each([['--key'], ['--private-key'], ['--token'], ['--secret'], ['--access-token']])(
    'a credential after %s is refused with the reason, and not repeated',
    async (flag) => {
      for (const argv of [
        ['sign', flag, 'pri_c4nary'],
        ['account', '--live', `${flag}=pri_c4nary`],
        ['doctor', 'http://localhost:1', flag, 'pri_c4nary'],
      ]) {
        const run = await runCli(argv);
        expect(run).toEqual(failed(2, 'every user of this machine'));
        expect(run.stderr).not.toContain('c4nary');
      }
    },
  );
});

describe('colours', () => {
  const paint = (isTTY: boolean, env: Record<string, string>) => painter({ isTTY }, env)('red', 'x');

  test('are for terminals only, and never with NO_COLOR', () => {
    expect(paint(true, {})).toBe('\u001b[31mx\u001b[39m');
    expect(paint(true, { NO_COLOR: '' })).toBe('\u001b[31mx\u001b[39m');
    for (const plain of [paint(false, {}), paint(true, { NO_COLOR: '1' }), paint(true, { TERM: 'dumb' })]) {
      expect(plain).toBe('x');
    }
  });

  test('are in what commands print', async () => {
    const verify = async (tty: boolean, more = {}) => {
      const setting = { env: { SERVICE_PRIVATE_KEY: 'pri_x', ...more }, tty };
      return (await runCli(['verify', '--signature', 'x', '--body', 'y'], setting)).stdout;
    };
    expect(await verify(true)).toContain('\u001b[31m');
    expect(await verify(true, { NO_COLOR: '1' })).not.toContain('\u001b');
    expect(await verify(false)).not.toContain('\u001b');
  });
});

describe('tables', () => {
  test('are as wide as they need to be', () => {
    const rows = [
      ['a', 'b'],
      ['longer', ''],
    ];
    expect(table(rows)).toBe('a       b\nlonger');
    expect(table([])).toBe('');
  });

  // As many dead letters may be listed.
  test('may be very long', () => {
    const rows = Array.from({ length: 150_000 }, (_, index) => [`${index}`, 'x']);
    expect(table(rows).split('\n')).toHaveLength(150_000);
  });

  test('show control characters', () => {
    expect(printable('a\u0000\u009b\u2028\ud800é支')).toBe('a\\u0000\\u009b\\u2028\\ud800é支');
  });
});
