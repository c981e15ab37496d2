// Times, sizes and captured text, as the pages show them.
import { describe, expect, test } from '@jest/globals';
import {
  formatBytes,
  formatDuration,
  formatPause,
  formatTime,
  formatTimeExactly,
  shortId,
  shortUrl,
  showInvisible,
} from '../../../../src/tools/web/components/format.js';

describe('times and sizes', () => {
  test.each([
    [0.4, '0.4 ms'],
    [12.3, '12 ms'],
    [999, '999 ms'],
    [1_240, '1.24 s'],
    [125_000, '2 m 5 s'],
  ])('%d ms took %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  test.each([
    [3_001, '4 s'],
    [80_000, '1 m 20 s'],
    [60_000, '1 m'],
    [9_000_000, '2 h 30 m'],
    [36_000_000, '10 h'],
    [200_000_000, '2 d 7 h'],
    [0, '0 s'],
  ])('a pause of %d ms is %s', (ms, text) => expect(formatPause(ms)).toBe(text));

  test('a pause can be said in one unit', () => {
    expect(formatPause(9_000_000, 1)).toBe('2 h');
  });

  test('the day is written only when it is not today', () => {
    const time = new Date(2026, 0, 15, 9, 30, 5, 7);
    expect(formatTime(time.toISOString(), new Date(2026, 0, 15))).toBe('09:30:05');
    expect(formatTime(time.toISOString(), new Date(2026, 0, 16))).toBe('15 Jan, 09:30:05');
    expect(formatTimeExactly(time.toISOString())).toMatch(/09:30:05\.007$/);
  });

  test.each([
    [1, '1 byte'],
    [980, '980 bytes'],
    [1_240, '1.2 KB'],
    [5_000_000, '5.0 MB'],
  ])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  test('ids and URLs are shortened', () => {
    expect(shortId('7f1c22aa-0000-4000-8000-000000000001')).toBe('7f1c22aa');
    expect(shortId('order-1')).toBe('order-1');
    expect(shortUrl('http://localhost:3000/hooks')).toBe('localhost:3000/hooks');
    expect(shortUrl('https://example.test/hooks')).toBe('https://example.test/hooks');
  });
});

describe('a captured text', () => {
  test('shows the characters that a browser would hide or reorder', () => {
    expect(showInvisible('a\0b\x1b[31m')).toBe('a␀b␛[31m');
    expect(showInvisible('\u202egnp.exe\ufeff\u200b')).toBe('⟨U+202E⟩gnp.exe⟨U+FEFF⟩⟨U+200B⟩');
    expect(showInvisible('\x7f\x85\u2028')).toBe('⟨U+007F⟩⟨U+0085⟩⟨U+2028⟩');
    expect(showInvisible('pay\u200dpal')).toBe('pay⟨U+200D⟩pal');
  });

  test('is otherwise unchanged', () => {
    const text = '{\n\t"name": "Ærøskøbing ✓ 漢字 🙂 👨‍👩‍👧‍👦 👩🏽‍🚀 ❤️‍🔥 <img onerror=1>"\n}';
    expect(showInvisible(text)).toBe(text);
  });
});
