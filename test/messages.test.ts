// `npm run check -- --messages` prints the messages of the source.
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { messagesOf, messagesPage, readMessages } from './setup/messages.js';
import { ROOT } from './setup/shell.js';

test('the page of messages has each of them under its file', () => {
  const page = messagesPage(readMessages(join(ROOT, 'src')));
  expect(page).toContain('\nsrc/errors.ts\n');
  expect(page).toContain('\n  error: The signature cannot be checked now. Please deliver it again.\n');
});

describe('a message', () => {
  const texts = (code: string) => messagesOf('a.ts', code).map(({ kind, text }) => `${kind}: ${text}`);

  test.each([
    [`new ConfigurationError('port is 0. Pass a port.')`, 'ConfigurationError: port is 0. Pass a port.'],
    [`new HttpError(404, \`No webhook \${id} here.\`)`, 'HttpError: No webhook {…} here.'],
    [`new StoreError(\`it is \${ok ? 'an array' : show(x)}.\`)`, 'StoreError: it is {an array | …}.'],
    [`new StoreError(\`a key\${a ? ' is empty' : ''}\`)`, 'StoreError: a key{ is empty | –}'],
    [`new StoreError('one part, ' + 'other part')`, 'StoreError: one part, other part'],
    [`new Rejection('BODY_TIMEOUT', { hint: 'raise the limit' })`, 'Rejection: raise the limit'],
    [`const more = { hint: 'raise the limit' }`, 'hint: raise the limit'],
    [`HttpError.invalid({ url: ['Pass a URL.'] })`, 'HttpError: Pass a URL.'],
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
