import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseDuration } from '../src/time.js';

const DAY = 86_400_000;

describe('parseDuration', () => {
  test.each([
    ['30d', 30 * DAY],
    ['1 day', DAY],
    ['2 days', 2 * DAY],
    ['1w', 7 * DAY],
    ['2 weeks', 14 * DAY],
    ['12h', DAY / 2],
    ['1 hr', 3_600_000],
    ['2 hrs', 7_200_000],
    ['1 hour', 3_600_000],
    ['5m', 300_000],
    ['1 min', 60_000],
    ['5 mins', 300_000],
    ['5 minutes', 300_000],
    ['10s', 10_000],
    ['1 sec', 1_000],
    ['2 secs', 2_000],
    ['1 second', 1_000],
    ['250ms', 250],
    ['1 millisecond', 1],
    ['2 milliseconds', 2],
    ['1500', 1_500],
    ['1.5h', 5_400_000],
    ['0.5ms', 0.5],
    ['0s', 0],
    ['30D', 30 * DAY],
    ['  30d\n', 30 * DAY],
    [1_500, 1_500],
    [0, 0],
    [0.5, 0.5],
  ])('reads %p as %p milliseconds', (duration, ms) => {
    expect(parseDuration(duration)).toBe(ms);
  });

  const texts = '1d2h d day -1d +1d .5h 1.h 1,5h 1e3 0x10 1mss Infinity forever'.split(' ');
  test.each([
    ...['', ' ', '1  d', '1d 2h', '1 month', '1 year', `${'9'.repeat(40)}d`, ...texts],
    ...[-1, Number.NaN, Number.POSITIVE_INFINITY, 1n],
    ...[true, null, undefined, [30], { days: 30 }, new Date(0)],
  ])('does not take %p for a duration', (value) => {
    expect(parseDuration(value)).toBeUndefined();
  });

  test('is a finite number from 0, or nothing, for any text', () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^\d{1,36}(\.\d+)? ?(ms|s|m|h|d|w)?$/));
    fc.assert(
      fc.property(texts, (value) => {
        const ms = parseDuration(value);
        expect(ms === undefined || (Number.isFinite(ms) && ms >= 0)).toBe(true);
      }),
    );
  });
});
