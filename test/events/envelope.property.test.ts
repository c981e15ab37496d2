// The two ways to look at an envelope: the quick one decides, and the schema has to agree with it.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isEnvelope } from '../../src/events/envelope.js';
import { envelope } from '../../src/events/schemas.js';

const fits = {
  id: fc.stringMatching(/^[!-~]{1,255}$/),
  event_name: fc.stringMatching(/^[a-z_]{1,20}\.[a-z_]{1,20}$/),
  sandbox: fc.boolean(),
  payload: fc.object(),
};
const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(undefined, '', 'a b', 'é', 'transaction', '.paid', 'transaction.', '\u0000', {}, []),
  fc.integer({ min: 253, max: 258 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 253, max: 258 }).map((length) => `x.${'y'.repeat(length - 2)}`),
);
const fields = Object.keys(fits) as (keyof typeof fits)[];

describe('isEnvelope', () => {
  test('accepts what the schema accepts', () => {
    fc.assert(
      fc.property(fc.record({ ...fits, other: fc.jsonValue() }), (event) => {
        expect([isEnvelope(event), envelope.safeParse(event).success]).toEqual([true, true]);
      }),
    );
  });

  test('agrees with the schema on an event with one field changed or left out', () => {
    const results = new Set<boolean>();
    fc.assert(
      fc.property(fc.record(fits), fc.constantFrom(...fields), anything, (event, field, value) => {
        const changed = { ...event, [field]: value };
        results.add(isEnvelope(changed));
        expect(isEnvelope(changed)).toBe(envelope.safeParse(changed).success);
        const { [field]: _, ...others } = event;
        expect([isEnvelope(others), envelope.safeParse(others).success]).toEqual([false, false]);
      }),
      { numRuns: 500 },
    );
    expect(results.size).toBe(2);
  });

  test('agrees with the schema on anything else', () => {
    fc.assert(
      fc.property(anything, (value) => expect(isEnvelope(value)).toBe(envelope.safeParse(value).success)),
    );
  });
});
