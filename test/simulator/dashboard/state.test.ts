import { describe, expect, test } from '@jest/globals';
import { announcement } from '../../../src/simulator/dashboard/live/announcement.js';
import { type Message, reduce, START } from '../../../src/simulator/dashboard/live/state.js';
import type { Settings } from '../../../src/simulator/dashboard/live/wire.js';
import { last, row } from './rows.js';

const known = (...messages: Message[]) => messages.reduce(reduce, START);
const lists = (...rows: ReturnType<typeof row>[]): Message => ({
  type: 'lists',
  data: { rows, webhooks: [], faults: [], samples: [] },
});
const ids = (...messages: Message[]) => known(...messages).rows.map(({ id }) => id);

describe('what the page knows', () => {
  test('new deliveries, which are told oldest first, are listed newest first', () => {
    const news: Message = { type: 'deliveries', data: [row({ id: 'c' }), row({ id: 'd' })] };
    expect(ids(lists(row({ id: 'b' }), row({ id: 'a' })), news)).toEqual(['d', 'c', 'b', 'a']);
  });

  test('a delivery that changed stays in its place, and the others stay the same objects', () => {
    const before = known(lists(row({ id: 'b' }), row({ id: 'a', status: 'pending' })));
    const changed = row({ id: 'a', status: 'failed' });
    const now = reduce(before, { type: 'deliveries', data: [changed] });
    expect(now.rows[0]).toBe(before.rows[0]);
    expect(now.rows[1]).toBe(changed);
  });

  test('deliveries that made room are gone', () => {
    expect(ids(lists(row({ id: 'b' }), row({ id: 'a' })), { type: 'removed', data: ['a', 'x'] })).toEqual([
      'b',
    ]);
  });

  test('a reset forgets everything but the settings', () => {
    const state = known(lists(row()), { type: 'reset' });
    expect([state.rows, state.webhooks, state.faults, state.loaded]).toEqual([[], [], [], true]);
  });

  test('a connection that breaks off is said, and what was there stays until the lists come anew', () => {
    const lost = known(lists(row()), { type: 'lost' });
    expect([lost.link, lost.rows.length]).toEqual(['lost', 1]);
    expect(reduce(lost, lists()).link).toBe('live');
  });

  test('the clock of the simulator is read against that of the browser, and a manual one is followed', () => {
    const settings = { now: '2026-01-15T09:30:05.000Z' } as Settings;
    const at = Date.parse('2026-01-15T09:30:00.000Z');
    const state = known({ type: 'hello', data: settings, at });
    expect(state.skew).toBe(5_000);
    const advanced = reduce(state, { type: 'clock', data: { now: '2026-01-15T10:00:00.000Z' } });
    expect(advanced.settings?.now).toBe('2026-01-15T10:00:00.000Z');
  });
});

describe('what a screen reader is told', () => {
  test('nothing, when nothing settled', () => {
    const before = [row({ status: 'pending', attempts: 0 })];
    expect(announcement(before, before)).toBe('');
    expect(announcement(before, [row({ status: 'in_flight', attempts: 0 })])).toBe('');
  });

  test('how a delivery settled, with the answer', () => {
    const before = [row({ status: 'in_flight', attempts: 0 })];
    const refused = row({ status: 'retrying', last: last({ status: null, error: 'ECONNREFUSED' }) });
    expect(announcement(before, [refused])).toBe('transaction.paid will be retried: ECONNREFUSED.');
    expect(announcement([], [row({ last: last({ status: 200 }) })])).toBe('transaction.paid delivered: 200.');
  });

  test('that the next attempt failed too, though the status is the same', () => {
    const failed = (attempts: number) => [row({ status: 'retrying', attempts, last: last({ status: 500 }) })];
    expect(announcement(failed(1), failed(2))).toBe('transaction.paid will be retried: 500.');
  });

  test('of a burst only the sums', () => {
    const burst = ['a', 'b', 'c', 'd'].map((id) => row({ id, status: id === 'd' ? 'failed' : 'delivered' }));
    expect(announcement([], burst)).toBe('3 delivered. 1 failed.');
  });
});
