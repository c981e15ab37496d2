import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import * as door from 'payment-webhooks/client';
import { CLIENT_OPTIONS } from '../../src/client/options.js';
import { ROOT } from '../setup/shell.js';

const page = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');

/** The cells of the table below a heading that are code. */
function codes(heading: string, column: number): string[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) => /`([^`]+)`/.exec(row.split(' | ')[column] ?? '')?.[1] ?? '');
}

test('docs/client.md has a row for each option', () => {
  expect(codes('Options', 0)).toEqual(CLIENT_OPTIONS.names);
});

test('docs/client.md has a row for each error, with a class that is exported', () => {
  const source = readFileSync(join(ROOT, 'src/client/errors.ts'), 'utf8');
  const [unions = ''] = source.split('interface ServiceErrorDetails');
  const known = [...unions.matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code);
  expect(codes('Errors', 1).sort()).toEqual(known.sort());
  for (const name of codes('Errors', 0)) expect(door).toHaveProperty(name);
});

test('docs/client.md names each function of the codec', () => {
  const [, section = ''] = page.split('## The codec');
  for (const name of Object.keys(door.codec)) expect(section).toContain(`\`${name}\``);
});
