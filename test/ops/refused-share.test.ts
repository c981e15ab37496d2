import { describe, expect, test } from '@jest/globals';
import { RefusedShare } from '../../src/ops/health-checks.js';

const WINDOW = 60_000;

describe('the share of refused deliveries', () => {
  test('is of all deliveries while the process is younger than the window', () => {
    const share = new RefusedShare(WINDOW, 1_000);
    expect(share.since({ authentic: 3, refused: 1 }, 2_000)).toEqual({ authentic: 3, refused: 1 });
    expect(share.since({ authentic: 5, refused: 2 }, 60_999)).toEqual({ authentic: 5, refused: 2 });
  });

  test('forgets what is older than the window, as it goes on', () => {
    const share = new RefusedShare(WINDOW, 0);
    // One refusal each second for a minute, then one authentic delivery each second.
    for (let second = 1; second <= 60; second += 1)
      share.since({ authentic: 0, refused: second }, second * 1_000);
    const at = (second: number) => share.since({ authentic: second - 60, refused: 60 }, second * 1_000);
    for (let second = 61; second < 90; second += 1) at(second);
    expect(at(90)).toEqual({ authentic: 30, refused: 30 });
    for (let second = 91; second < 120; second += 1) at(second);
    expect(at(120)).toEqual({ authentic: 60, refused: 0 });
  });

  test('is of all since somebody last asked, if that is longer ago than the window', () => {
    const share = new RefusedShare(WINDOW, 0);
    share.since({ authentic: 10, refused: 10 }, 30_000);
    expect(share.since({ authentic: 11, refused: 19 }, 930_000)).toEqual({ authentic: 1, refused: 9 });
  });

  test('costs the same memory however often somebody asks', () => {
    const share = new RefusedShare(WINDOW, 0);
    // Were every question remembered, the base of the last one would be a millisecond off and the list 120,000 long.
    for (let ms = 1; ms <= 120_000; ms += 1) share.since({ authentic: ms, refused: 0 }, ms);
    const { authentic } = share.since({ authentic: 120_000, refused: 0 }, 120_000);
    expect(authentic).toBeGreaterThanOrEqual(WINDOW);
    expect(authentic).toBeLessThanOrEqual(WINDOW + WINDOW / 60);
  });
});
