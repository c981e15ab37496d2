import { describe, expect, test } from '@jest/globals';
import { checkPayload } from '../../../../src/tools/simulator/page/check-payload.js';

const SAMPLE = { transaction: { id: 't1', amount: '149.90', status: 1, base: null }, tags: ['a'] };
const typed = (text: string) => checkPayload(text, SAMPLE);

describe('checkPayload', () => {
  test('accepts the sample', () => {
    const payload = structuredClone(SAMPLE);
    expect(typed(JSON.stringify(payload))).toEqual({ valid: true, payload, difference: undefined });
  });

  test.each([
    ['{\n  "a": 1,\n}', /^Invalid JSON at line 3, column 1\.$/],
    ['{"a": nope}', /^Invalid JSON at line 1, column \d+\.$/],
    ['{"a": 1', /^Invalid JSON at line 1, column 8\.$/],
    ['  ', /^The payload is empty\. Enter an object: \{ … \}\.$/],
    ['[1]', /^The payload must be an object: \{ … \}\.$/],
    ['null', /^The payload must be an object: \{ … \}\.$/],
    ['"text"', /^The payload must be an object: \{ … \}\.$/],
  ])('refuses %j, with the position', (text, problem) => {
    expect(typed(text)).toEqual({ valid: false, problem: expect.stringMatching(problem) });
  });

  test('accepts what differs from the sample, and says how', () => {
    const payload = { transaction: { amount: 149.9, status: '1', base: 'EUR' }, tags: {}, more: true };
    const difference =
      'transaction.id is missing, transaction.amount is a number instead of a string, transaction.status is a string instead of a number, …';
    expect(typed(JSON.stringify(payload))).toEqual({ valid: true, payload, difference });
  });

  test('compares nothing when the event has no sample', () => {
    expect(checkPayload('{"refund": 1}', undefined)).toMatchObject({ valid: true, difference: undefined });
  });
});
