import { expect, test } from '@jest/globals';
import { ranAtOnce } from './runs.js';
import { countUndone } from './undone.js';

const sent = (id: string, answeredAt: number, status = 200) => ({
  id,
  genuine: true,
  attempts: [{ at: answeredAt - 5, answeredAt, status, body: '' }],
});
const row = (event_id: string, at: number) => ({ event_id, worker: 1, attempt: 1, at });

test('an event whose row is gone, or was written again after the 2xx, was undone', () => {
  const all = [
    sent('kept', 100),
    sent('gone', 100),
    sent('again', 100),
    sent('again', 300),
    sent('refused', 100, 503),
  ];
  expect(countUndone(all, [row('kept', 98), row('again', 250)])).toBe(2);
  expect(countUndone([sent('twice', 300), sent('twice', 100)], [row('twice', 98)])).toBe(0);
});

const killed = new Map([[2, 120]]);
const run = (worker: number, began: number, ended: number | null) => ({
  event_id: 'e',
  worker,
  began,
  ended,
});

test('two runs of an event are at once when the second begins before the first has ended or was killed', () => {
  expect(ranAtOnce([run(1, 100, 150), run(3, 150, 180)], killed)).toBe(false);
  expect(ranAtOnce([run(1, 100, 150), run(3, 149, 180)], killed)).toBe(true);
  expect(ranAtOnce([run(2, 100, null), run(3, 121, 180)], killed)).toBe(false);
  expect(ranAtOnce([run(2, 100, null), run(3, 119, 180)], killed)).toBe(true);
  expect(ranAtOnce([run(1, 100, null), run(3, 5_000, 5_010)], killed)).toBe(true);
});
