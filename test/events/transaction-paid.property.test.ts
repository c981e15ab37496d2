// The two ways to look at a payload of `transaction.paid`: the quick one decides, and the schema has to agree with it.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { transactionPaidPayload } from 'payment-webhooks/verify';
import { declareEvents } from '../../src/events/event.js';
import { fitsTransactionPaid } from '../../src/events/transaction.js';
import { fixtures } from '../../src/fixtures/fixture.js';

type Path = readonly string[];

/** The way to every field of the documented sample, and to some that are not documented. */
const paths: Path[] = [
  ...pathsIn(fixtures.transactionPaid().payload),
  ['note'],
  ['transaction', 'note'],
  ['customer', 'note'],
];
const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(undefined, null, '', 'a b', 'é', '\u0000', 'x'.repeat(255), 'x'.repeat(256)),
  fc.constantFrom([], {}, [{}], 0, -1, 1.5, Number.POSITIVE_INFINITY, Number.NaN, true, '1'),
);

function pathsIn(value: unknown, way: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) => [[...way, key], ...pathsIn(field, [...way, key])]);
}

/** A copy with one field replaced; `undefined` leaves it out. */
function changed(payload: unknown, [key = '', ...rest]: Path, value: unknown): unknown {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return payload;
  const fields = new Map<string, unknown>(Object.entries(payload));
  const replaced = rest.length === 0 ? value : changed(fields.get(key), rest, value);
  if (replaced === undefined) fields.delete(key);
  else fields.set(key, replaced);
  return Object.fromEntries(fields);
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;
const hasEmptyList = (payload: unknown): boolean =>
  Object.entries(payload ?? {}).some(
    ([key, value]) =>
      (['token', 'customer', 'metadata', 'payment_method', 'card'].includes(key) && isEmptyList(value)) ||
      (key === 'payment_method' && hasEmptyList(value)),
  );

describe('a payload of transaction.paid', () => {
  test('with up to three fields changed or left out fits exactly where the schema accepts it as it is', () => {
    const change = fc.tuple(fc.constantFrom(...paths), anything);
    const results = new Set<boolean>();
    fc.assert(
      fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
        let payload: unknown = fixtures.transactionPaid().payload;
        for (const [path, value] of changes) payload = changed(payload, path, value);
        const before = structuredClone(payload);
        const quick = fitsTransactionPaid(payload);
        const { success, data } = transactionPaidPayload.safeParse(payload);
        expect(quick).toBe(success && !hasEmptyList(payload));
        if (quick) expect(data).toStrictEqual(payload);
        // Neither writes on what it was given: `rawBody` and the event of the next handler are made from it.
        expect(payload).toStrictEqual(before);
        results.add(quick);
      }),
      { numRuns: 2_000 },
    );
    expect(results.size).toBe(2);
  });

  test('is no payload at all: both say so', () => {
    fc.assert(
      fc.property(anything, (value) =>
        expect(fitsTransactionPaid(value)).toBe(transactionPaidPayload.safeParse(value).success),
      ),
    );
  });

  test('that fits comes back as the very same object', async () => {
    const { payload } = fixtures.transactionPaid();
    const result = await declareEvents().get('transaction.paid')?.['~standard'].validate(payload);
    expect(result && 'value' in result && result.value).toBe(payload);
  });
});
