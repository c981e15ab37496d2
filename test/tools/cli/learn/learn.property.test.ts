// Whatever arrived: the proposed schema accepts it, the fixture fits the schema, the code compiles, and no data is in it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { moduleCode } from '../../../../src/tools/cli/learn/proposal.js';
import { node, ROOT } from '../../../setup/shell.js';
import { learnedFrom, runCode } from './learned-code.js';

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: code that would run if it were not quoted
const KEYS = [
  ...['id', 'status', 'currency', 'metadata', 'items', 'e-mail', 'First name', 'größe', '0', '', '$'],
  ...['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__', 'prototype', 'then', 'default'],
  ...['ada@example.com', '7b1c1f8e-0d5c-4bb6-9a55-3f6f0b0f3a11', '2026-01-31', 'cus_Nf1R2d3X'],
  ...['*/', '`${1}`', "'", '"'],
  ...['\u202e', '\u2028', '\u001b[2J', '\ud800', '\u{e0001}', '\\', '\\"', '</script>', 'a\nb'],
];
const TEXTS = [
  ...['', 'paid', 'PAID', 'Ada Example', 'ada@example.com'],
  ...['12.50', '2026-01-31', "'; exit() //", '*/', '${x}'],
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above

/** No key is in it twice: the JSON.parse of Node 24 keeps the last value of `{"\"":1,"\"":[],"\\":1}` once, and the first value later. */
function mapOf(field: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const entry = fc.tuple(fc.oneof(fc.constantFrom(...KEYS), fc.string()), field);
  return fc
    .uniqueArray(entry, { maxLength: 8, selector: ([key]) => key })
    .map((fields) => `{${fields.map(([key, text]) => `${JSON.stringify(key)}:${text}`)}}`);
}

/** JSON as text. */
const { value } = fc.letrec<{ value: string; list: string; map: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '0', '-1.5', '1e999', '1e21', '-0'),
    fc.constantFrom(...TEXTS).map((text) => JSON.stringify(text)),
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    tie('list'),
    tie('map'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }).map((values) => `[${values}]`),
  map: mapOf(tie('value')),
}));
const payloads = fc.array(mapOf(value), { minLength: 1, maxLength: 12 });
const NAMES = ['refund.succeeded', "it's.*/", '1.2', 'a.`\u0024{x}`', 'new.class', '__proto__.x', '".\\'];
const names = fc.constantFrom(...NAMES);

describe('what is learned from any payloads', () => {
  test('accepts each of them, and the fixture fits', () => {
    fc.assert(
      fc.property(payloads, names, (given, name) => {
        const { schema, fixture, events } = runCode(learnedFrom(given, name));
        for (const each of given) expect(schema.safeParse(JSON.parse(each)).error?.issues ?? []).toEqual([]);
        expect(schema.safeParse(fixture).error?.issues ?? []).toEqual([]);
        expect(Object.keys(events)).toEqual([name]);
        expect(events[name]).toBe(schema);
      }),
      { numRuns: 300 },
    );
  });

  test('compiles in the strictest mode, and nothing in it can steer a terminal', async () => {
    const folder = join(ROOT, '.scratch/learn');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const codes = fc
      .sample(fc.tuple(payloads, names), 60)
      .map(([given, name]) => learnedFrom(given, name))
      .map((learned) => {
        const code = moduleCode([learned]);
        const [, schema] = /export const (\w+Payload) =/.exec(code) ?? [];
        const [, type] = /export type (\w+) =/.exec(code) ?? [];
        return `${code}\nexport const same = (value: z.infer<typeof ${schema}>): ${type} => value;\n`;
      });
    for (const [index, code] of codes.entries()) {
      expect(code).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      writeFileSync(join(folder, `learned-${index}.ts`), code);
    }
    const tsconfig = join(folder, 'tsconfig.json');
    writeFileSync(tsconfig, JSON.stringify({ extends: '../../tsconfig.json', include: ['.'] }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    expect(await node([tsc, '-p', tsconfig, '--noEmit'])).toMatchObject({ code: 0, stdout: '' });
    rmSync(folder, { recursive: true, force: true });
  });

  test('shows no text and no number of them', () => {
    const canary = fc.oneof(
      fc.uuid(),
      fc.emailAddress(),
      fc.stringMatching(/^[A-Z][a-z]{5,12} [A-Z][a-z]{5,12}$/),
      fc.stringMatching(/^zq[a-z]{6,12}$/),
    );
    const fields = fc.constantFrom('name', 'email', 'order_id', 'status', 'reference', 'note', 'type');
    const keyed = fc.dictionary(fc.oneof(fc.uuid(), fc.emailAddress()), fc.integer(), { maxKeys: 3 });
    const letter = fc.tuple(fc.dictionary(fields, canary, { minKeys: 1 }), keyed);
    const letters = fc.array(letter, { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(letters, fc.integer({ min: 1_000_000 }), (given, amount) => {
        const texts = given.map(([values, balances]) => JSON.stringify({ ...values, amount, balances }));
        const code = moduleCode([learnedFrom(texts)]);
        const data = given.flatMap(([values, keyed]) => [...Object.values(values), ...Object.keys(keyed)]);
        for (const text of [...data, String(amount)]) expect(code).not.toContain(text);
      }),
    );
  });
});
