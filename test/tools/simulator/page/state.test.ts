import { describe, expect, test } from '@jest/globals';
import type { Settings } from '../../../../src/tools/simulator/page/api.js';
import { initialState, type Message, reduce } from '../../../../src/tools/simulator/page/state.js';
import { announcement } from '../../../../src/tools/simulator/page/texts.js';
import { last, row } from './rows.js';

const known = (...messages: Message[]) => messages.reduce(reduce, initialState);
const lists = (...rows: ReturnType<typeof row>[]): Message => ({
  type: 'lists',
  data: { rows, older: 0, webhooks: [], faults: [], samples: [] },
});
const ids = (...messages: Message[]) => known(...messages).rows.map(({ id }) => id);

describe('the state of the page', () => {
  test('new deliveries, which arrive oldest first, are listed newest first', () => {
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

  test('removed deliveries are not listed', () => {
    const left = ids(lists(row({ id: 'b' }), row({ id: 'a' })), { type: 'removed', data: ['a', 'x'] });
    expect(left).toEqual(['b']);
  });

  test('a reset removes everything but the settings', () => {
    const state = known(lists(row()), { type: 'reset' });
    expect([state.rows, state.webhooks, state.faults, state.loaded]).toEqual([[], [], [], true]);
  });

  test('a lost connection keeps the lists until they are loaded again', () => {
    const lost = known(lists(row()), { type: 'lost' });
    expect([lost.connection, lost.rows.length]).toEqual(['lost', 1]);
    expect(reduce(lost, lists()).connection).toBe('live');
  });

  test('the clock of the simulator is compared with that of the browser, and a manual one is followed', () => {
    const settings = { now: '2026-01-15T09:30:05.000Z' } as Settings;
    const at = Date.parse('2026-01-15T09:30:00.000Z');
    const state = known({ type: 'hello', data: settings, at });
    expect(state.skew).toBe(5_000);
    const advanced = reduce(state, { type: 'clock', data: { now: '2026-01-15T10:00:00.000Z' } });
    expect(advanced.settings?.now).toBe('2026-01-15T10:00:00.000Z');
  });
});

describe('the announcement for screen readers', () => {
  test('is empty when nothing settled', () => {
    const before = [row({ status: 'pending', attempts: 0 })];
    expect(announcement(before, before)).toBe('');
    expect(announcement(before, [row({ status: 'in_flight', attempts: 0 })])).toBe('');
  });

  test('says how a delivery settled, with the response', () => {
    const before = [row({ status: 'in_flight', attempts: 0 })];
    const refused = row({ status: 'retrying', last: last({ status: null, error: 'ECONNREFUSED' }) });
    expect(announcement(before, [refused])).toBe('transaction.paid will be retried: ECONNREFUSED.');
    expect(announcement([], [row({ last: last({ status: 200 }) })])).toBe('transaction.paid delivered: 200.');
  });

  test('says that the next attempt failed too, though the status is the same', () => {
    const failed = (attempts: number) => [row({ status: 'retrying', attempts, last: last({ status: 500 }) })];
    expect(announcement(failed(1), failed(2))).toBe('transaction.paid will be retried: 500.');
  });

  test('of a burst is the counts', () => {
    const burst = ['a', 'b', 'c', 'd'].map((id) => row({ id, status: id === 'd' ? 'failed' : 'delivered' }));
    expect(announcement([], burst)).toBe('3 delivered. 1 failed.');
  });
});
