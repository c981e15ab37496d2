// Holds the source, the docs, the examples and the names of tests to the words of the project.
import { describe, expect, test } from '@jest/globals';
import { ROOT } from './setup/shell.js';
import { findWords, inTestNames, textFiles, wordsOf } from './setup/words.js';

const PLACES = ['.github', 'README.md', 'docs', 'examples', 'src', 'test'];

test('no text and no name has a word that the project does not use', () => {
  const files = PLACES.flatMap((place) => textFiles(ROOT, place));
  expect(files.length).toBeGreaterThan(50);
  const found = files.flatMap((file) => wordsOf(ROOT, file));
  expect(found.map(({ where, word, write }) => `${where}: ${word} -> ${write}`)).toEqual([]);
});

describe('a word', () => {
  const words = (text: string) => findWords('a.ts', text).map(({ word }) => word);

  test.each([
    ['While Redis is away, mend it.', ['mend', 'is away']],
    ['Whoever calls it again gets a claim that is none.', ['Whoever', 'is none']],
    ['A delivery that comes again starts anew.', ['anew', 'comes again']],
    ["It doesn't let go of the key.", ['let go of', "doesn't"]],
    ['new CourierTools(testCourier, courier_url, couriers)', ['Courier']],
    ['import { keyRing } from "./key-ring.js";', ['keyRing']],
    ['const trial = new Trial(store);', ['Trial']],
    ['record: { verb: lastWords(), at: epoch() }', ['lastWords', 'epoch()']],
  ])('is found in %s', (text, expected) => {
    expect(words(text).sort()).toEqual([...expected].sort());
  });

  test.each([
    'We recommend to run it away from the database.',
    'There is none of them, and none of the keys fit.',
    'Asking the store takes a round trip. Traffic grows. A secure battle.',
    'The trial ended; a bid was owned, and it allowed a loan.',
  ])('is not found in %s', (text) => {
    expect(words(text)).toEqual([]);
  });

  test('is found with its file and line, and with what to write instead', () => {
    expect(findWords('src/a.ts', '// One.\n// It is away.')).toEqual([
      { where: 'src/a.ts:2', word: 'is away', write: 'is down' },
    ]);
  });

  test('is found in the names of tests, and not in what they test', () => {
    const text = [
      "describe('a courier', () => {",
      "  test.each([['mend']])('is %s anew', () => use('courier'));",
      '});',
    ].join('\n');
    expect(inTestNames('test/a.test.ts', text).map(({ where, word }) => `${where} ${word}`)).toEqual([
      'test/a.test.ts:1 courier',
      'test/a.test.ts:2 anew',
    ]);
  });
});
