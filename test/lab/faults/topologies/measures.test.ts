// What the campaigns on topologies count: how long a fault was felt, and what a store forgot.
import { describe, expect, test } from '@jest/globals';
import type { InjectedFault } from '../nemesis.js';
import type { Attempt } from '../post.js';
import type { Sent } from '../sender.js';
import { countUndone, measureOutage } from './measures.js';
import { type Confirmed, wasForgotten } from './witness.js';

const faultAt = (from: number): InjectedFault => ({
  kind: 'topology',
  from,
  until: from + 5_000,
});
const answered = (answeredAt: number, status: number, code = 'STORE_UNAVAILABLE'): Attempt => ({
  at: answeredAt - 100,
  answeredAt,
  status,
  body: status === 503 ? `{"message":"Try again.","code":"${code}"}` : '{"message":"Accepted."}',
});
const sent = (...attempts: Attempt[]): Sent => ({ id: String(attempts[0]?.at), genuine: true, attempts });

describe('an outage', () => {
  const faults = [faultAt(10_000), faultAt(30_000)];

  test('ends with the first event that is accepted after it was refused, and with the last refusal', () => {
    const history = [
      sent(answered(10_500, 503), answered(12_000, 503), answered(13_000, 200)),
      sent(answered(10_600, 503), answered(14_500, 503, 'CLAIM_LOST'), answered(15_000, 200)),
      sent(answered(11_000, 200)),
      sent(answered(30_100, 503), answered(31_000, 200)),
    ];
    expect(measureOutage(history, faults)).toEqual({ refused: 5, untilAccepted: 3, untilLastRefusal: 4.5 });
  });

  test('is that of the fault before it was answered, also when the delivery began before the fault', () => {
    const history = [sent(answered(30_050, 503), answered(32_000, 200))];
    expect(measureOutage(history, faults)).toEqual({ refused: 1, untilAccepted: 2, untilLastRefusal: 0.05 });
  });

  test('does not count what is refused for another reason', () => {
    const history = [
      sent(answered(10_500, 503, 'IN_PROGRESS'), answered(10_600, 500), answered(12_000, 200)),
    ];
    expect(measureOutage(history, faults)).toEqual({ refused: 0, untilAccepted: 0, untilLastRefusal: 0 });
  });
});

describe('a store', () => {
  const step = (name: Confirmed['step'], attempt: number): Confirmed => ({
    event: 'a',
    step: name,
    attempt,
  });

  test.each<[string, boolean, Confirmed[]]>([
    ['one claim and its completion', false, [step('claim', 1), step('complete', 1)]],
    ['a claim after a lease that ended', false, [step('claim', 1), step('complete', 2), step('claim', 2)]],
    ['claims that were never completed', false, [step('claim', 1), step('claim', 2)]],
    ['the same number twice', true, [step('claim', 1), step('complete', 1), step('claim', 1)]],
    ['a claim after a completion', true, [step('claim', 1), step('complete', 1), step('claim', 2)]],
  ])('that confirmed %s: forgot it is %p', (_name, forgot, steps) => {
    expect(wasForgotten(steps)).toBe(forgot);
  });
});

test('an event whose row is gone, or was written again after the 2xx, was undone', () => {
  const delivered = (id: string, answeredAt: number, status = 200): Sent => ({
    ...{ id, genuine: true },
    attempts: [answered(answeredAt, status)],
  });
  const row = (event: string, at: number) => ({ event, worker: 1, attempt: 1, at });
  const all = [
    ...[delivered('kept', 100), delivered('gone', 100), delivered('again', 100), delivered('again', 300)],
    delivered('refused', 100, 503),
  ];
  expect(countUndone(all, [row('kept', 98), row('again', 250)])).toBe(2);
  expect(countUndone([delivered('twice', 300), delivered('twice', 100)], [row('twice', 98)])).toBe(0);
});
