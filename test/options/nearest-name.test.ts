import { describe, expect, test } from '@jest/globals';
import { didYouMean, nearestName } from '../../src/misuse.js';

const NAMES = ['limit', 'timeout', 'bodyTimeout', 'storeTimeout', 'sandbox', 'store'];

describe('nearestName', () => {
  test.each([
    ['limits', 'limit'],
    ['limt', 'limit'],
    ['lmiit', 'limit'],
    ['LIMIT', 'limit'],
    ['timeOut', 'timeout'],
    ['bodytimeout', 'bodyTimeout'],
    ['body_timeout', 'bodyTimeout'],
    ['sotre', 'store'],
    ['limit', 'limit'],
  ])('takes %p for %p', (typed, meant) => {
    expect(nearestName(typed, NAMES)).toBe(meant);
  });

  test.each([['retention'], ['x'], [''], ['constructor'], ['privateKey']])(
    'has no idea what %p means',
    (typed) => {
      expect(nearestName(typed, NAMES)).toBeUndefined();
    },
  );

  test('prefers the closest, and of equally close ones the first', () => {
    expect(nearestName('storeTimeou', ['store', 'bodyTimeout', 'storeTimeout'])).toBe('storeTimeout');
    expect(nearestName('ac', ['ab', 'ad'])).toBe('ab');
  });

  test('allows more slips in a longer name, and two in a short one', () => {
    expect(nearestName('abcdefghi', ['abcdefxyz'])).toBe('abcdefxyz');
    expect(nearestName('abcdefghi', ['abcdewxyz'])).toBeUndefined();
    expect(nearestName('abcd', ['abxy'])).toBe('abxy');
    expect(nearestName('abcd', ['axyz'])).toBeUndefined();
  });

  test('compares no text that is too long to be a slip, however long the names are', () => {
    const [long, longer] = ['x'.repeat(1_000_000), `${'x'.repeat(1_000_000)}y`];
    expect(nearestName(long, [longer, 'limit'])).toBeUndefined();
    expect(nearestName('limits', [longer, 'limit'])).toBe('limit');
  });

  test('compares texts of a hundred characters, which is longer than any name there is', () => {
    const name = 'resource.'.padEnd(100, 'action');
    expect(nearestName(name.replace('source', 'suorce'), [name])).toBe(name);
    expect(nearestName(`${name}s`, [name])).toBeUndefined();
  });

  test('takes names from anything that can be walked', () => {
    expect(nearestName('transaction.payd', new Map([['transaction.paid', 1]]).keys())).toBe(
      'transaction.paid',
    );
    expect(nearestName('limit', [])).toBeUndefined();
  });
});

describe('didYouMean', () => {
  test('asks, behind a space, or says nothing', () => {
    expect(didYouMean('limits', NAMES)).toBe(' Did you mean "limit"?');
    expect(didYouMean('retention', NAMES)).toBe('');
  });
});
