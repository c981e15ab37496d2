// The texts of the page of dead letters: its URL, how many match, and what comes of a replay.
import { describe, expect, test } from '@jest/globals';
import { type ReplayReport, ReplayTally } from '../../../../src/dead-letters/replay.js';
import { matchesEvent } from '../../../../src/events/event-pattern.js';
import { countOf, countText } from '../../../../src/tools/letters/page/count-text.js';
import {
  formatRoute,
  isFiltered,
  NO_FILTER,
  parseRoute,
  type Route,
} from '../../../../src/tools/letters/page/route.js';
import type { Loaded } from '../../../../src/tools/letters/page/use-letters.js';
import { lettersIn, reportText } from '../../../../src/tools/letters/replay-text.js';

const NOWHERE: Route = { ...NO_FILTER, discarded: false, letter: undefined };

describe('the URL', () => {
  test('holds the filter and the open letter', () => {
    const route = {
      ...{ reason: 'failed', event: 'refund.*', eventId: 'a&b=c', keyId: '0123456789ab', since: '7d' },
      cause: 'ship: TypeError at orders.ts:10',
      ...{ discarded: true, letter: 'l-1' },
    };
    const text =
      '?reason=failed&event=refund.*&eventId=a%26b%3Dc&keyId=0123456789ab&cause=ship%3A+TypeError+at+orders.ts%3A10&since=7d&discarded=true&letter=l-1';
    expect(formatRoute(route)).toBe(text);
    expect(parseRoute(text)).toEqual(route);
  });

  test('is that of the folder without a filter, whatever the path', () => {
    expect(new URL(formatRoute(NOWHERE), 'https://ops.example/a/b/?reason=failed').href).toBe(
      'https://ops.example/a/b/',
    );
    expect(parseRoute('?reason=&event=%20')).toEqual(NOWHERE);
    expect(isFiltered(NOWHERE)).toBe(false);
  });
});

test.each([
  ['refund.succeeded', '*', true],
  ['refund.succeeded', 'refund.*', true],
  ['refund.succeeded', 'refund.succeeded', true],
  ['refunded.x', 'refund.*', false],
  ['refund.failed', 'refund.succeeded', false],
])('%s with the filter %s: %s', (name, pattern, fits) => expect(matchesEvent(pattern, name)).toBe(fits));

describe('the number of letters', () => {
  const groups = [
    { reason: 'failed', eventName: 'refund.failed', count: 1, oldest: '' },
    { reason: 'unknown', eventName: 'refund.made', count: 1_200, oldest: '' },
    { reason: 'unknown', eventName: 'a.b', count: 3, oldest: '' },
  ];
  const loaded = (total: number, filter = {}, discarded = false): Loaded => ({
    ...{ letters: [], next: null, total, discarded, filter: { ...NO_FILTER, ...filter } },
    summary: { total: 1_204, groups, names: [], user: 'ada' },
  });

  test('of a reason is that of the names that fit', () => {
    expect(countOf(loaded(1_204), undefined)).toBe(1_204);
    expect(countOf(loaded(1_204), 'unknown')).toBe(1_203);
    expect(countOf(loaded(1, { reason: 'failed', event: 'refund.*' }), 'unknown')).toBe(1_200);
    expect(countOf(loaded(1, { reason: 'failed', event: 'refund.*' }), 'conflict')).toBe(0);
  });

  test('is said in words', () => {
    expect(countText(loaded(1_204))).toBe('1,204 dead letters');
    expect(countText(loaded(1, { reason: 'failed' }))).toBe('1 matching dead letter');
    expect(countText(loaded(2, {}, true))).toBe('2 discarded dead letters');
  });
});

describe('a report', () => {
  const report = (dryRun: boolean, stopped?: ReplayReport['stopped']) => {
    const tally = new ReplayTally();
    for (const end of ['processed', 'processed', 'stillInvalid', 'conflicts'] as const) tally.add('a.b', end);
    return tally.report(dryRun, stopped);
  };

  test('says what would happen, and what happened', () => {
    expect(reportText(report(true))).toBe('2 would go to a handler, 1 would stay invalid, 1 in conflict.');
    expect(reportText(report(false))).toBe('2 processed, 1 still invalid, 1 in conflict.');
    expect(lettersIn(report(false))).toBe(4);
  });

  test('says why it ended early, and that there was nothing', () => {
    expect(reportText(report(false, 'closing'))).toMatch(/The server is shutting down\. The others can be/);
    expect(reportText(new ReplayTally().report(true, undefined))).toBe('No dead letter matches any more.');
  });
});
