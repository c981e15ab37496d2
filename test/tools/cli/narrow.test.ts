// How commands print where there is no wide terminal with colours: 60 columns, a pipe, and NO_COLOR.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { commands } from '../../../src/tools/cli/commands.js';
import { main } from '../../../src/tools/cli/main.js';
import { against } from './against.js';
import { fileWith } from './files.js';

const KEY = 'pri_live_4f9d21c07ab8';

/** What a command prints on standard output, on a terminal with these columns or in a pipe. */
async function printed(argv: readonly string[], columns?: number, more: Record<string, string> = {}) {
  const on = columns === undefined ? {} : { isTTY: true, columns };
  const stream = () => Object.assign(new PassThrough(), on);
  const [stdout, stderr] = [stream(), stream()];
  let text = '';
  stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  stderr.resume();
  const env = { SERVICE_PRIVATE_KEY: KEY, ...more };
  await main(argv, { stdin: new PassThrough().end(), stdout, stderr, env });
  stdout.end();
  await once(stdout, 'end');
  return text;
}

const GROUPS = [
  ...new Set(commands.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0] ?? ''] : []))),
];
const HELPS = ['', ...GROUPS, ...commands.map(({ name }) => name)].map((name) =>
  [...name.split(' '), '--help'].filter(Boolean),
);

/** Without what is to be copied in one piece: usage and examples. */
const toRead = (help: string) =>
  help.split('\n').filter((line) => !/^ {2}(?:\S.*)?payment-webhooks |^Usage: /.test(line));

describe('at 60 columns', () => {
  test.each(HELPS)('the help of %s %s %s has no longer line to read, and says the same', async (...words) => {
    const help = await printed(words, 60);
    expect(toRead(help).filter((line) => line.length > 60)).toEqual([]);
    const wide = await printed(words, 200);
    expect(help.replace(/[\s#]+/g, ' ')).toBe(wide.replace(/[\s#]+/g, ' '));
    expect(help).toContain('\nExamples\n');
  });

  test('a row of a table that is too wide becomes a paragraph', async () => {
    const { service } = await against('off', 200, 500);
    await service.trigger('transaction.paid', {}, { count: 2 });
    const env = { SERVICE_SIM_URL: service.baseUrl };
    const list = await printed(['deliveries', 'list'], 60, env);
    const [first = '', second = ''] = list.split('\n\n');
    expect(first.split('\n').map((line) => line.replace(/ .*/, ''))).toEqual([
      ...['ID', 'STATUS', 'EVENT', 'EVENT', 'TO', 'ANSWER', 'MS', 'ATTEMPTS'],
    ]);
    expect([first, second].map((each) => /^STATUS +(\w+)$/m.exec(each)?.[1]).sort()).toEqual([
      'delivered',
      'failed',
    ]);
    expect(Math.max(...list.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(60);
    expect(await printed(['deliveries', 'list'], 200, env)).toMatch(/^ID +STATUS +EVENT +EVENT ID +TO /);
  });
});

test('in a pipe a table keeps a row per line, whatever its width, and nothing is coloured', async () => {
  const { service } = await against('off', 200);
  await service.trigger('transaction.paid');
  const list = await printed(['deliveries', 'list'], undefined, { SERVICE_SIM_URL: service.baseUrl });
  expect(list.trimEnd().split('\n')).toHaveLength(2);
  expect(list).not.toContain('\u001b');
});

test('colours are on a terminal, and never with NO_COLOR', async () => {
  const words = ['verify', '--body', `@${fileWith('{}')}`, '--signature', '0'.repeat(64)];
  const [coloured, plain, piped] = [
    await printed(words, 80),
    await printed(words, 80, { NO_COLOR: '1' }),
    await printed(words),
  ];
  expect(coloured).toContain('\u001b[31mNot valid:\u001b[39m Wrong key');
  expect(plain).toBe(piped);
  expect(plain).not.toContain('\u001b');
});
