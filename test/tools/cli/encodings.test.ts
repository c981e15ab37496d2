import { describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { fromUtf16, isUtf16 } from '../../../src/tools/cli/encoding.js';
import { hmac, KEY } from '../../setup/delivery.js';
import { simulator } from '../simulator/world.js';
import { fileWith } from './files.js';
import { failed, jsonLines, runCli } from './run-cli.js';

const env = { SERVICE_PRIVATE_KEY: KEY };
const body = JSON.stringify(fixtures.transactionPaid({ payload: { customer: { name: 'Zoë 支払い' } } }));

const little = (text: string) => Buffer.from(text, 'utf16le');
/** What PowerShell, Notepad and other programs write, big-endian and without a mark too. */
const ENCODINGS: readonly (readonly [string, (text: string) => Buffer])[] = [
  ['UTF-16', (text) => little(`\ufeff${text}`)],
  ['UTF-16 with a line break of Windows', (text) => little(`\ufeff${text}\r\n`)],
  ['big-endian UTF-16', (text) => little(`\ufeff${text}`).swap16()],
  ['UTF-16 without a mark', little],
  ['big-endian UTF-16 without a mark', (text) => little(text).swap16()],
];

describe.each(ENCODINGS)('a file in %s', (_, encode) => {
  test('is recognized, and decoded', () => {
    expect(isUtf16(encode(body))).toBe(true);
    expect(fromUtf16(encode(body)).trim()).toBe(body);
  });

  test('is what verify names, from a file and from standard input', async () => {
    const words = ['verify', '--json', '--signature'];
    const path = fileWith(encode(body));
    for (const run of [
      await runCli([...words, hmac(body), '--body', `@${path}`], { env }),
      await runCli([...words, hmac(body)], { env, stdin: encode(body) }),
    ])
      expect(jsonLines(run)).toMatchObject([
        { difference: 'utf_16', message: expect.stringContaining('matches the same text in UTF-8') },
      ]);
    const [other] = jsonLines(await runCli([...words, hmac('other'), '--body', `@${path}`], { env }));
    expect(other).toMatchObject({ difference: 'utf_16', cure: expect.stringContaining('PowerShell') });
  });

  test.each([
    ['sign', '--body', body],
    ['sign', '--key-file', KEY],
    ['verify', '--signature', 'x', '--key-file', KEY],
    ['doctor', 'http://127.0.0.1:1', '--key-file', KEY],
    ['simulate', '--port', '0', '--key-file', 'pri_sim_dev'],
    ['account', '--key-file', 'pri_sim_dev'],
    ['trigger', 'transaction.paid', '--data', body],
    ['learn', '--file', body],
    ['dead-letters', 'list', '--page', 'http://localhost:1/', '--token-file', 'abcdef'],
  ])('is refused by %s %s', async (...words) => {
    const [content = '', option = ''] = [words.pop(), words.at(-1)];
    const path = fileWith(encode(content));
    const value = /^--(?:body|data)$/.test(option) ? `@${path}` : path;
    const reason = new RegExp(`^${option}.* is UTF-16\\. In PowerShell, > writes UTF-16\\. .*UTF-8`);
    expect(await runCli([...words, value], { env, stdin: '{}' })).toEqual(failed(2, reason));
  });

  test.each([[['sign']], [['trigger', 'transaction.paid', '--data', '@-']], [['learn']]])(
    'is refused on standard input by %j',
    async (words) => {
      const run = await runCli(words, { env, stdin: encode(body) });
      expect(run).toEqual(failed(2, /^Standard input is UTF-16\./));
    },
  );
});

test('a body that a signature of UTF-16 belongs to is valid', async () => {
  const bytes = little(`\ufeff${body}`);
  const run = await runCli(['verify', '--signature', hmac(bytes)], { env, stdin: bytes });
  expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('Valid') });
});

describe('a byte-order mark of UTF-8', () => {
  test('is no part of a key, a token or JSON', async () => {
    const marked = (text: string) => fileWith(`\ufeff${text}\r\n`);
    expect((await runCli(['sign', '--body', 'x', '--key-file', marked(KEY)])).stdout).toBe(`${hmac('x')}\n`);
    expect((await runCli(['learn', '--file', marked(body)])).code).toBe(0);
    const service = await simulator();
    const words = ['trigger', 'transaction.paid', '--data', `@${marked(body)}`, '--url', service.baseUrl];
    expect((await runCli(words)).stderr).toContain('webhook');
  });

  test('is signed by sign, which says so', async () => {
    const run = await runCli(['sign'], { env, stdin: `\ufeff${body}` });
    expect(run).toMatchObject({ code: 0, stdout: `${hmac(`\ufeff${body}`)}\n` });
    expect(run.stderr).toContain('byte-order mark (BOM), which is signed too');
    expect((await runCli(['sign'], { env, stdin: body })).stderr).toBe('');
  });

  test('in the middle of a key file, where two files were joined, is named', async () => {
    const path = fileWith(`${KEY}\n\ufeff${KEY}\n`);
    const run = await runCli(['verify', '--signature', 'x', '--key-file', path], { stdin: body });
    expect(run).toEqual(failed(2, 'A key in --key-file begins with a byte-order mark (BOM)'));
  });
});

describe('a character that nobody sees', () => {
  test.each(['\u200b', '\u200d', '\u2060', '\ufeff', '\u00ad'])(
    'in a key or a token is named: %j',
    async (hidden) => {
      const named = /^(?:A key in )?--(?:key|token)-file has an invisible character \(U\+/;
      const file = (text: string) => fileWith(`${text.slice(0, 5)}${hidden}${text.slice(5)}\n`);
      const words = ['dead-letters', 'list', '--page', 'http://localhost:1/', '--token-file', file('abcdef')];
      for (const run of [
        await runCli(words),
        await runCli(['sign', '--body', 'x', '--key-file', file(KEY)]),
      ]) {
        expect(run).toEqual(failed(2, named));
        expect(run.stderr).not.toContain(KEY.slice(6));
      }
    },
  );

  test.each(['\u200b', '\u00a0'])('that was pasted into a body is what verify names: %j', async (hidden) => {
    const spaced = JSON.stringify(JSON.parse(body), null, 1);
    const pasted = hidden === '\u00a0' ? spaced.replaceAll(' ', hidden) : spaced.replace(',', `,${hidden}`);
    const run = await runCli(['verify', '--json', '--signature', hmac(spaced)], {
      env,
      stdin: `${pasted}\n`,
    });
    expect(jsonLines(run)).toMatchObject([{ valid: false, difference: 'invisible_characters' }]);
  });

  test('outside the text of JSON is named', async () => {
    const pasted = fileWith(body.replace(',', ',\u200b'));
    const reason = 'is not JSON, because it has an invisible character (U+200B)';
    const trigger = ['trigger', 'transaction.paid', '--data', `@${pasted}`];
    for (const words of [trigger, ['learn', '--file', pasted]])
      expect(await runCli(words)).toEqual(failed(2, reason));
  });
});

describe('UTF-16', () => {
  test.each(['', '{', '{}', body, `\ufeff${body}`, '\0\0\0\0', 'a\0b'])(
    'is not seen in UTF-8: %j',
    (utf8) => {
      expect(isUtf16(Buffer.from(utf8))).toBe(false);
    },
  );
});
