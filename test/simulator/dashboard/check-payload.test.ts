import { describe, expect, test } from '@jest/globals';
import { checkPayload } from '../../../src/simulator/dashboard/sidebar/check-payload.js';

const SAMPLE = { transaction: { id: 't1', amount: '149.90', status: 1, base: null }, tags: ['a'] };
const typed = (text: string) => checkPayload(text, SAMPLE);

describe('a payload that is being typed', () => {
  test('is fine when it is as the sample', () => {
    const payload = structuredClone(SAMPLE);
    expect(typed(JSON.stringify(payload))).toEqual({ fine: true, payload, remark: undefined });
  });

  test.each([
    ['{\n  "a": 1,\n}', 'Not JSON: look at line 3, column 1.'],
    ['{"a": nope}', /^Not JSON: look at line 1, column \d+\.$/],
    ['{"a": 1', 'Not JSON: look at line 1, column 8.'],
    ['  ', 'Empty: a payload is an object, { … }.'],
    ['[1]', 'A payload is an object: { … }.'],
    ['null', 'A payload is an object: { … }.'],
    ['"text"', 'A payload is an object: { … }.'],
  ])('%j is refused, with the place', (text, problem) => {
    expect(typed(text)).toEqual({
      fine: false,
      problem: typeof problem === 'string' ? problem : expect.stringMatching(problem),
    });
  });

  test('may differ from the sample, and is told how', () => {
    const payload = { transaction: { amount: 149.9, status: '1', base: 'EUR' }, tags: {}, more: true };
    expect(typed(JSON.stringify(payload))).toEqual({
      fine: true,
      payload,
      remark:
        'no transaction.id, transaction.amount is a number instead of text, transaction.status is text instead of a number, …',
    });
  });

  test('is not compared when the event has no sample', () => {
    expect(checkPayload('{"refund": 1}', undefined)).toMatchObject({ fine: true, remark: undefined });
  });
});
