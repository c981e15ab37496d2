// The sealing of dead letters: what opens, what never does, and which keys are refused.
import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ConfigurationError } from 'payment-webhooks';
import { sealWith } from '../../../src/stores/letters/seal.js';

const KEY = randomBytes(32);
const OTHER = randomBytes(32);
const BYTES = Buffer.from('{"customer":"Ada"}');
const OF = ['letter', 'default:live:e-1'];

describe('sealed bytes', () => {
  test('open as they were, whatever they are and belong to', () => {
    const texts = fc.array(fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(fc.uint8Array(), texts, (bytes, belonging) => {
        for (const seal of [sealWith([KEY]), sealWith(undefined)]) {
          const opened = seal.open(seal.seal(bytes, belonging), belonging);
          expect(opened?.equals(bytes)).toBe(true);
        }
      }),
    );
  });

  test('do not open with one bit changed anywhere', () => {
    const sealed = sealWith([KEY]).seal(BYTES, OF);
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(sealWith([KEY]).open(changed, OF)).toBeUndefined();
    }
  });

  test('do not open when they are cut anywhere, longer, or empty', () => {
    const sealed = sealWith([KEY]).seal(BYTES, OF);
    for (let length = 0; length < sealed.length; length += 1)
      expect(sealWith([KEY]).open(sealed.subarray(0, length), OF)).toBeUndefined();
    expect(sealWith([KEY]).open(Buffer.concat([sealed, Buffer.of(0)]), OF)).toBeUndefined();
  });

  test.each([
    ['another text', ['letter', 'default:live:e-2']],
    ['one text less', ['letter']],
    ['one text more', [...OF, '']],
    ['the same letters in other texts', ['letterd', 'efault:live:e-1']],
    ['another order', [...OF].reverse()],
  ])('do not open for %s', (_, belonging) => {
    const sealed = sealWith([KEY]).seal(BYTES, OF);
    expect(sealWith([KEY]).open(sealed, belonging)).toBeUndefined();
    expect(sealWith([KEY]).open(sealed, OF)).toEqual(BYTES);
  });

  test('hold nothing of the bytes, and are different each time', () => {
    const seal = sealWith([KEY]);
    const sealed = Array.from({ length: 100 }, () => seal.seal(BYTES, OF));
    expect(new Set(sealed.map((each) => each.subarray(1, 13).toString('hex'))).size).toBe(100);
    for (const each of sealed) expect(each.includes('Ada')).toBe(false);
    expect(sealWith(undefined).seal(BYTES, OF).includes('Ada')).toBe(true);
  });
});

describe('keys', () => {
  test('rotate: the first seals, and each opens', () => {
    const old = sealWith([KEY]).seal(BYTES, OF);
    const rotated = sealWith([OTHER, KEY]);
    const sealed = rotated.seal(BYTES, OF);
    expect([rotated.open(old, OF), rotated.open(sealed, OF)]).toEqual([BYTES, BYTES]);
    expect(sealWith([OTHER]).open(sealed, OF)).toEqual(BYTES);
    expect(sealWith([KEY]).open(sealed, OF)).toBeUndefined();
    expect(sealWith([OTHER]).open(old, OF)).toBeUndefined();
  });

  test('may be base64 text, or bytes, and the caller may overwrite them', () => {
    const given = Buffer.from(KEY);
    const seal = sealWith([given]);
    given.fill(0);
    const sealed = seal.seal(BYTES, OF);
    expect(sealWith([KEY.toString('base64')]).open(sealed, OF)).toEqual(BYTES);
    expect(sealWith([new Uint8Array(KEY)]).open(sealed, OF)).toEqual(BYTES);
    expect(sealWith([given]).open(sealed, OF)).toBeUndefined();
  });

  test('that are there open nothing unsealed, and without any nothing sealed opens', () => {
    expect(sealWith([KEY]).open(sealWith(undefined).seal(BYTES, OF), OF)).toBeUndefined();
    expect(sealWith(undefined).open(sealWith([KEY]).seal(BYTES, OF), OF)).toBeUndefined();
  });

  test('are not shown when the seal is', () => {
    const shown = inspect(sealWith([KEY]), { depth: 9, showHidden: true });
    for (const encoding of ['hex', 'base64'] as const) expect(shown).not.toContain(KEY.toString(encoding));
  });

  const hex = KEY.toString('hex');
  test.each<[string, unknown, RegExp]>([
    ['an empty array', [], /encryptionKeys is an empty list\. Pass an array of keys, or leave it out/],
    ['one key alone', KEY, /encryptionKeys is not a list/],
    ['text alone', KEY.toString('base64'), /encryptionKeys is not a list/],
    ['null', null, /encryptionKeys is not a list/],
    ['a key that is not set', [undefined], /encryptionKeys\[0\] is undefined\. Pass 32 bytes/],
    ['a hole', new Array(1), /encryptionKeys\[0\] is undefined/],
    ['a number', [KEY, 32], /encryptionKeys\[1\] is of type number/],
    ['31 bytes', [KEY.subarray(1)], /encryptionKeys\[0\] has 31 bytes instead of 32/],
    ['33 bytes', [Buffer.concat([KEY, KEY.subarray(0, 1)])], /has 33 bytes instead of 32/],
    ['empty text', [''], /encryptionKeys\[0\] has 0 bytes instead of 32/],
    ['hexadecimal text', [hex], /encryptionKeys\[0\] has 48 bytes instead of 32/],
    ['a line break at the end', [`${KEY.toString('base64')}\n`], /ends with white space\. Trim it/],
    ['invalid base64', ['pass-word, and more of it'], /encryptionKeys\[0\] is not base64 text/],
  ])('are refused when they are %s, with what to do and without the key', (_, given, message) => {
    const make = () => sealWith(given);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(message);
    for (const secret of [hex, KEY.toString('base64'), KEY.subarray(1).toString('base64'), 'pass-word'])
      expect(make).not.toThrow(secret);
  });

  test('are made by the command that an error shows', () => {
    expect(() => sealWith([''])).toThrow(
      `Make a key: node -e "console.log(require('node:crypto').randomBytes(32).toString('base64'))"`,
    );
  });
});
