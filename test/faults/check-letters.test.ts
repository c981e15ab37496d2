// The check of a campaign must find what a broken receiver, store or replay would leave behind.
import { describe, expect, test } from '@jest/globals';
import type { DeadLetter } from 'payment-webhooks';
import { checkLetters, type LetterHistory } from './check-letters.js';

const row = (event_id: string, worker = 1, version = 1) => ({ event_id, worker, version });
const letter = (eventId: string, reason: DeadLetter['reason']) => ({ eventId, reason }) as DeadLetter;

const GOOD: LetterHistory = {
  transactional: true,
  sent: [
    { id: 'unknown', reason: 'unknown', accepted: true },
    { id: 'given-up', reason: 'failed', accepted: false },
    { id: 'conflict', reason: 'conflict', accepted: true },
    { id: 'live', reason: 'none', accepted: true },
  ],
  attempts: 7,
  began: new Set(),
  rows: [row('unknown'), row('conflict'), row('live')],
  kept: 3,
  left: [letter('conflict', 'conflict')],
  killed: new Set([2]),
  unexplainedExits: [],
};

describe('the check of a campaign of dead letters', () => {
  test('is content with a good history', () => {
    expect(checkLetters(GOOD)).toMatchObject({ events: 4, lost: 0, doubled: 0, violations: [] });
  });

  test.each<[string, Partial<LetterHistory>, string]>([
    ['an event that was accepted and did not run', { rows: GOOD.rows.slice(1) }, '1 events were accepted'],
    ['an event whose handler began', { began: new Set(['given-up']) }, '1 events were accepted'],
    ['two rows in one transaction', { rows: [...GOOD.rows, row('unknown')] }, '1 events have two rows'],
    [
      'a second run that no kill explains',
      { transactional: false, rows: [...GOOD.rows, row('unknown', 2)] },
      '1 events ran twice, and no kill',
    ],
    ['a conflict that was run', { rows: [...GOOD.rows, row('conflict', 2, 2)] }, '1 conflicts were run'],
    ['a conflict without a letter', { left: [] }, '1 conflicts have no letter'],
    ['a conflict with two', { left: [...GOOD.left, ...GOOD.left] }, '1 conflicts were kept twice'],
    ['a letter that is left', { left: [...GOOD.left, letter('unknown', 'unknown')] }, '1 letters are left'],
    ['a row of nobody', { rows: [...GOOD.rows, row('forged')] }, '1 rows belong to no event'],
    [
      'a live event without an answer',
      { sent: [...GOOD.sent, { id: 'x', reason: 'none', accepted: false }] },
      '1 live events',
    ],
    ['a worker that ended by itself', { unexplainedExits: ['a worker ended'] }, 'a worker ended'],
  ])('finds %s', (_, change, violation) => {
    const { violations } = checkLetters({ ...GOOD, ...change });
    expect(violations).toContainEqual(expect.stringContaining(violation));
  });

  test('allows a second run whose first was killed, where claim and row are two writes', () => {
    const rows = [row('unknown', 2), row('unknown', 1), row('conflict'), row('live')];
    expect(checkLetters({ ...GOOD, transactional: false, rows })).toMatchObject({
      doubled: 1,
      violations: [],
    });
  });
});
