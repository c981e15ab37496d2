// Holds docs/project/messages.md to the messages of the source.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { COMMAND, messagesOf, messagesPage, readMessages } from './setup/messages.js';
import { ROOT } from './setup/shell.js';

const FILE = join(ROOT, 'docs/project/messages.md');

test('docs/project/messages.md is up to date', () => {
  const page = messagesPage(readMessages(join(ROOT, 'src')));
  if (process.env.UPDATE_DOCS) {
    mkdirSync(dirname(FILE), { recursive: true });
    writeFileSync(FILE, page);
  }
  const written = readFileSync(FILE, 'utf8');
  const stale = `docs/project/messages.md is out of date. Write it again: ${COMMAND}`;
  expect(written === page ? 'up to date' : stale).toBe('up to date');
});

describe('a message', () => {
  const texts = (code: string) => messagesOf('a.ts', code).map(({ kind, text }) => `${kind}: ${text}`);

  test.each([
    [`new ConfigurationError('port is 0. Give a port.')`, 'ConfigurationError: port is 0. Give a port.'],
    [`new HttpError(404, \`No webhook \${id} here.\`)`, 'HttpError: No webhook {…} here.'],
    [`new StoreError(\`it is \${ok ? 'an array' : show(x)}.\`)`, 'StoreError: it is {an array | …}.'],
    [`new StoreError(\`a key\${a ? ' is empty' : ''}\`)`, 'StoreError: a key{ is empty | –}'],
    [`new StoreError('one part, ' + 'other part')`, 'StoreError: one part, other part'],
    [`new Rejection('BODY_TIMEOUT', { hint: 'raise the limit' })`, 'Rejection: raise the limit'],
    [`const more = { hint: 'raise the limit' }`, 'hint: raise the limit'],
    [`HttpError.invalid({ url: ['Give a URL.'] })`, 'HttpError: Give a URL.'],
    [`writeLog(log, 'warn', {}, 'the store is slow')`, 'log: the store is slow'],
    [`const TEXT = 'not a number'; new RangeError(TEXT)`, 'RangeError: not a number'],
    [`new StoreError(why()); function why() { return 'it is down'; }`, 'StoreError: it is down'],
  ])('is found in %s', (code, message) => {
    expect(texts(code)).toEqual([message]);
  });

  test.each([
    `new Map([['a key', 'a value']])`,
    `new StoreError('CODE')`,
    `use('no message')`,
    `const text = 'a text'; function f(text) { throw new StoreError(text); }`,
  ])('is not found in %s', (code) => {
    expect(texts(code)).toEqual([]);
  });
});
