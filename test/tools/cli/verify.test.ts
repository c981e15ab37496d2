import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { hmac, KEY } from '../../setup/delivery.js';
import { fileWith } from './files.js';
import { failed, runCli } from './run-cli.js';

const env = { SERVICE_PRIVATE_KEY: KEY };
const event = fixtures.transactionPaid({
  payload: { customer: { name: 'Zoë 支払い' }, metadata: { url: 'https://x.example/<a>&b' } },
});
const body = JSON.stringify(event);
const BOM = '\ufeff';

async function verdict(stdin: string | Buffer, signature: string, args: string[] = []) {
  const words = ['verify', '--signature', signature, '--json', ...args];
  const { code, stdout, stderr } = await runCli(words, { env, stdin });
  expect(stderr).toBe('');
  return { code, ...JSON.parse(stdout) };
}

describe('verify', () => {
  test('says that a signature belongs to a body, exit code 0', async () => {
    expect(await verdict(body, hmac(body))).toEqual({ code: 0, valid: true, keyIndex: 0 });
    const { stdout } = await runCli(['verify', '--signature', hmac(body), '--body', body], { env });
    expect(stdout).toBe('Valid: the signature belongs to this body.\n');
  });

  const php = body
    .replaceAll('/', '\\/')
    .replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const python = '{"id": "x", "list": [1, 2, {"a": null}], "empty": {}, "text": "a,\\nb: {"}';

  async function expectFinding(received: string, signature: string, [difference, message]: [string, string]) {
    const found = await verdict(received, signature);
    expect(Object.keys(found)).toEqual(['code', 'valid', 'difference', 'message', 'cure']);
    expect(found).toMatchObject({ code: 1, valid: false, difference });
    expect(found.message).toContain(message);
    expect(found.cure.length).toBeGreaterThan(20);
  }
  const base64 = (signature: string) => Buffer.from(signature, 'hex').toString('base64');

  test.each<[string, string, (signature: string) => string, string]>([
    ['upper case', 'upper_case', (s) => s.toUpperCase(), 'in upper case'],
    ['mixed case', 'upper_case', (s) => s.slice(0, 32) + s.slice(32).toUpperCase(), 'upper case'],
    ['a signature cut short', 'truncated', (s) => s.slice(0, 40), '40 of 64 digits, and those are right'],
    ['another signature cut short', 'truncated', () => 'abc', '3 of 64 digits.'],
    ['a prefix', 'signature_form', (s) => `sha256=${s}`, 'though it contains the right ones'],
    ['white space', 'signature_form', (s) => ` ${s}`, 'though it contains the right ones'],
    ['rubbish behind it', 'signature_form', (s) => `${s}zz`, 'though it contains the right ones'],
    ['base64', 'signature_form', base64, 'in base64'],
    ['something else', 'signature_form', () => 'hello', 'not exactly 64 hexadecimal digits.'],
    ['nothing', 'signature_missing', () => '', 'no signature'],
  ])('names what is wrong with a signature, %s: %s', async (_, difference, change, message) => {
    await expectFinding(body, change(hmac(body)), [difference, message]);
  });

  const indented = (space: number | string) => JSON.stringify(event, null, space);
  test.each<[string, string, string, string, string]>([
    ['a body cut short', 'truncated', body, body.slice(0, 300), 'ends early, after'],
    ['a body cut inside a text', 'truncated', '{"a":"bc"}', '{"a":"b', 'ends early, after 7 bytes'],
    ['a BOM that came', 'bom', body, BOM + body, 'without a byte-order mark'],
    ['a BOM that went', 'bom', BOM + body, body, 'with a byte-order mark'],
    ['a newline that came', 'trailing_newline', body, `${body}\n`, 'without its trailing newline'],
    ['newlines that came', 'trailing_newline', body, `${body}\r\n\n`, 'without its trailing newline'],
    ['a newline that went', 'trailing_newline', `${body}\n`, body, 'with another trailing newline'],
    ['a newline that changed', 'trailing_newline', `${body}\r\n`, `${body}\n`, 'trailing newline'],
    ['JSON spread out', 'reserialised', body, indented(2), 'without spaces'],
    ['JSON spread out, and a newline', 'reserialised', body, `${indented('\t')}\n`, 'without'],
    ['JSON pressed together', 'reserialised', indented(4), body, 'by four spaces'],
    ['JSON from a file of tabs', 'reserialised', `${indented('\t')}\n`, body, 'by tabs'],
    ['JSON of PHP', 'reserialised', php, body, 'as PHP writes it'],
    ['JSON of Python', 'reserialised', python, JSON.stringify(JSON.parse(python)), 'as Python writes it'],
    ['JSON of Go', 'reserialised', '{"a":"\\u003cb\\u003e\\u0026"}', '{"a":"<b>&"}', 'as Go writes it'],
    ['another body', 'wrong_key', body, body.replace('149.90', '1.00'), 'were not signed with this key'],
    ['a body that is not JSON', 'wrong_key', body, 'id=1&name=2', 'Wrong key'],
    ['no body', 'wrong_key', body, '', 'Wrong key'],
  ])('names what became of a body, %s: %s', async (_, difference, signed, received, message) => {
    await expectFinding(received, hmac(signed), [difference, message]);
  });

  const zstd = Buffer.from('28b52ffd2408410000', 'hex');
  test.each<[string, string | Buffer, string]>([
    ['gzip', gzipSync(body), 'compressed with gzip. The signature matches'],
    ['zlib', deflateSync(body), 'compressed with zlib. The signature matches'],
    ['zstd', zstd, 'compressed with zstd, and deliveries are plain JSON'],
    ['gzip that is cut', gzipSync(body).subarray(0, 40), 'compressed with gzip, and deliveries'],
    ['gzip of gigabytes', gzipSync(Buffer.alloc(20_000_000)), 'compressed with gzip, and deliveries'],
    ['base64', Buffer.from(body).toString('base64'), 'base64. The signature matches'],
    [
      'base64 with line breaks',
      Buffer.from(body).toString('base64').replace(/.{76}/g, '$&\n'),
      'base64. The',
    ],
    [
      'base64 as a JSON string',
      `"${Buffer.from(body).toString('base64')}"\n`,
      'base64. The signature matches',
    ],
    ['JSON in a JSON string', JSON.stringify(body), 'a JSON string with a document in it. The signature'],
  ])('names what the body was encoded with, exit code 1: %s', async (_, received, message) => {
    const found = await verdict(received, hmac(body));
    expect(found).toMatchObject({
      code: 1,
      difference: 'encoded',
      message: expect.stringContaining(message),
    });
  });

  test.each([
    ['another key', 'pri_other', 'this key made no'],
    ['the key with a line break', `${KEY}\n`, 'with a line break at its end'],
    ['the key with a colon', `${KEY}:`, 'with a colon at its end'],
    ['the key in quotes', `"${KEY}"`, 'in quotes'],
  ])('names %s: wrong_key', async (name, key, message) => {
    const found = await verdict(body, hmac(body, key));
    expect(found).toMatchObject({ code: 1, valid: false, difference: 'wrong_key' });
    expect(found.message).toContain(name === 'another key' ? 'were not signed with this key' : message);
    expect(JSON.stringify(found)).not.toContain(KEY);
  });

  test('prints the difference and the fix for a person', async () => {
    const run = await runCli(['verify', '--signature', hmac(body).toUpperCase()], { env, stdin: body });
    const stdout = expect.stringMatching(/^Not valid: The digits are right, but in upper case\.\n.+\n$/);
    expect(run).toEqual({ code: 1, stdout, stderr: '' });
  });

  test('survives a document so deep that nothing can write it', async () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    expect(await verdict(deep, hmac('other'))).toMatchObject({ code: 1, difference: 'wrong_key' });
  });

  // Minutes to days for a scan that begins again at each of them.
  describe('reads a body of 1 MB in linear time', () => {
    const size = 1_000_000;
    const lists = (inside: string) => '['.repeat(200) + inside + ']'.repeat(200);

    test.each<[string, string, string]>([
      ['escaped quotes in a text that never ends', `{"a":"${'\\"'.repeat(size / 2)}`, 'truncated'],
      ['quotes', `{${'"'.repeat(size)}`, 'truncated'],
      ['backslashes', `{"${'\\'.repeat(size)}`, 'truncated'],
      ['line breaks', `{${'\r\n'.repeat(size / 2)}}`, 'wrong_key'],
      ['line breaks at the end', `{}${'\n'.repeat(size)}x`, 'wrong_key'],
      ['brackets that are not closed', '['.repeat(size), 'truncated'],
      ['numbers deep inside of lists', lists(`1${',1'.repeat(size / 2)}`), 'wrong_key'],
      ['white space', `{${' '.repeat(size)}`, 'truncated'],
    ])('%s', async (_, received, difference) => {
      expect(await verdict(received, hmac('other'))).toMatchObject({ code: 1, difference });
    });

    test('line breaks that were added', async () => {
      const found = await verdict(body + '\n'.repeat(size), hmac(body));
      expect(found).toMatchObject({ code: 1, difference: 'trailing_newline' });
    });

    test('a key file of line breaks', async () => {
      const keys = fileWith(`${KEY}${'\n'.repeat(size)}x\n`);
      const args = ['verify', '--signature', hmac(body), '--key-file', keys];
      expect(await runCli(args, { stdin: body })).toMatchObject({ code: 2 });
    });
  });

  describe('with several keys in a file', () => {
    const keys = fileWith('pri_new\npri_old\n');

    test('says which of them it was', async () => {
      const args = ['verify', '--signature', hmac(body, 'pri_old'), '--key-file', keys];
      const stdout = 'Valid: the signature belongs to this body. It was made with key 2 of 2.\n';
      expect(await runCli(args, { stdin: body })).toMatchObject({ code: 0, stdout });
    });

    test('says that it was none of them', async () => {
      const found = await verdict(body, hmac(body), ['--key-file', keys]);
      expect(found.message).toContain('were not signed with any of these keys');
    });
  });

  test('is refused without a key, with exit code 2', async () => {
    expect(await runCli(['verify', '--signature', 'x'])).toEqual(failed(2, 'SERVICE_PRIVATE_KEY'));
  });
});
