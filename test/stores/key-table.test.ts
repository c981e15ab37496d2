import { afterEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { KeyTable } from '../../src/stores/memory/key-table.js';
import { TextColumn } from '../../src/stores/memory/text-column.js';

/** Few, so that they come again; among them what is too long, no Latin-1, and half a surrogate pair. */
const KEYS = [
  '',
  'a',
  'b',
  'ab',
  'é',
  'ÿ',
  'Ā',
  '日',
  '\ud800',
  '\ud801',
  'x'.repeat(63),
  'x'.repeat(64),
  'y'.repeat(300),
];

type Step = { readonly set: string } | { readonly forget: string };

const steps = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({ set: fc.oneof(fc.constantFrom(...KEYS), fc.string({ unit: 'binary' })) }),
    },
    { weight: 1, arbitrary: fc.record({ forget: fc.constantFrom(...KEYS) }) },
  ),
  { maxLength: 400 },
);

afterEach(() => {
  jest.restoreAllMocks();
});

describe('KeyTable', () => {
  test('answers like a Map, whatever is added and deleted', () => {
    fc.assert(
      fc.property(steps, (taken) => behavesLikeMap(taken)),
      { numRuns: 300 },
    );
  });

  test('finds every key while it grows, and none that was deleted', () => {
    const table = new KeyTable<number>();
    const keys = Array.from({ length: 5_000 }, (_, i) => `default:live:${i}`);
    for (const [i, key] of keys.entries()) table.add(key, i);
    for (const [i, key] of keys.entries()) if (i % 3 === 0) table.delete(table.find(key), i);
    for (const [i, key] of keys.entries())
      expect(table.get(table.find(key))).toBe(i % 3 === 0 ? undefined : i);
  });

  test('compares few keys, however many there are', () => {
    const table = new KeyTable<number>();
    const keys = Array.from({ length: 2_000 }, (_, i) => `default:live:${i}`);
    const holds = jest.spyOn(TextColumn.prototype, 'holds');
    for (const [i, key] of keys.entries()) if (table.find(key) === 0) table.add(key, i);
    expect(holds).not.toHaveBeenCalled();
    for (const key of keys) table.find(key);
    expect(holds).toHaveBeenCalledTimes(keys.length);
  });

  test('uses the rows of deleted keys again', () => {
    const table = new KeyTable<string>();
    const rows = new Set<number>();
    for (let i = 0; i < 1_000; i += 1) {
      const row = table.add(`id-${i}`, 'value');
      rows.add(row);
      expect(table.delete(row, 'value')).toBe(true);
    }
    expect([...rows]).toEqual([1]);
  });

  test.each([0, 1])('tells keys apart that share a hash, also when one of them is deleted', (gone) => {
    // Found by trying: FNV-1a gives both the same 32 bits.
    const keys = ['evt_1c0quqh2', 'evt_sfcyat89'];
    const table = new KeyTable<string>();
    for (const key of keys) table.add(key, key);
    expect(keys.map((key) => table.get(table.find(key)))).toEqual(keys);
    table.delete(table.find(keys[gone] as string), keys[gone] as string);
    const left = keys.map((key, i) => (i === gone ? undefined : key));
    expect(keys.map((key) => table.get(table.find(key)))).toEqual(left);
  });

  test('deletes no key that was given the row of another', () => {
    const table = new KeyTable<string>();
    const row = table.add('first', 'value of the first');
    expect(table.delete(row, 'value of the first')).toBe(true);
    expect(table.add('second', 'value of the second')).toBe(row);
    expect(table.delete(row, 'value of the first')).toBe(false);
    expect(table.get(table.find('second'))).toBe('value of the second');
  });

  test('gives a row another value', () => {
    const table = new KeyTable<string>();
    const row = table.add('id', 'claimed');
    table.set(row, 'completed');
    expect(table.get(table.find('id'))).toBe('completed');
  });
});

describe('TextColumn', () => {
  test.each(['', 'a', 'é'.repeat(15), 'x'.repeat(16), '日', '\ud800', 'y'.repeat(1_000)])(
    'reads back %j',
    (text) => {
      const column = new TextColumn(15);
      column.write(0, text);
      expect(column.read(0)).toBe(text);
      expect(column.holds(0, text)).toBe(true);
      for (const other of [`${text}x`, text.slice(1) || 'x', '\ud801', 'x']) {
        expect(column.holds(0, other)).toBe(other === text);
      }
    },
  );

  test.each([
    ['', 0],
    ['x'.repeat(15), 0],
    ['ÿ'.repeat(15), 0],
    ['x'.repeat(16), 1],
    ['Ā', 1],
  ])('keeps %j as a string %i times, until the row is written again', (text, strings) => {
    const column = new TextColumn(15);
    const set = jest.spyOn(Map.prototype, 'set');
    const forget = jest.spyOn(Map.prototype, 'delete');
    column.write(0, text);
    column.write(0, 'another');
    const calls = [set.mock.calls.length, forget.mock.calls.length];
    jest.restoreAllMocks();
    expect(calls).toEqual([strings, strings]);
  });

  test('keeps the rows apart, on every page', () => {
    const column = new TextColumn(15);
    const rows = Array.from({ length: 3_000 }, (_, row) => row);
    for (const row of rows) column.write(row, `row ${row}`);
    expect(rows.filter((row) => column.read(row) !== `row ${row}`)).toEqual([]);
  });

  test('writes a row again, long or short', () => {
    const column = new TextColumn(15);
    for (const text of ['short', 'z'.repeat(100), 'shorter', 'ÿ', '日本', 'longer again']) {
      column.write(7, text);
      expect(column.read(7)).toBe(text);
    }
  });
});

function behavesLikeMap(taken: readonly Step[]): void {
  const map = new Map<string, number>();
  const table = new KeyTable<number>();
  for (const [i, step] of taken.entries()) {
    if ('set' in step) {
      map.set(step.set, i);
      const row = table.find(step.set);
      if (row) table.set(row, i);
      else table.add(step.set, i);
    } else {
      map.delete(step.forget);
      const row = table.find(step.forget);
      if (row) table.delete(row, table.get(row) as number);
    }
    expect(table.get(table.find(KEYS[i % KEYS.length] as string))).toBe(
      map.get(KEYS[i % KEYS.length] as string),
    );
  }
  for (const [key, value] of map) expect(table.get(table.find(key))).toBe(value);
}
