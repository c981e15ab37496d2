// Holds docs/compare.md to the peers that are measured, and runs the comparison of docs/migrating.md.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { fileIn, tableBelow } from '../setup/markdown.js';
import { ROOT, tsx } from '../setup/shell.js';

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const FOLDER = join(ROOT, '.scratch/migrating');
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

test('docs/compare.md names the versions that are measured, and what was measured', () => {
  const page = read('docs/compare.md');
  const { dependencies } = JSON.parse(read('test/lab/bench/package.json'));
  const peers = ['stripe', 'svix', '@octokit/webhooks'];
  for (const peer of peers) expect(page).toContain(`| ${peer} ${dependencies[peer]} |`);

  const benchmarks = read('docs/project/benchmarks.md');
  const [, measured = ''] = benchmarks.split('**Accepting 1 KB, next to other receivers**');
  const cpuOf = (name: string) => new RegExp(`^\\| ${name} \\| ([\\d.]+)`, 'm').exec(measured)?.[1];
  const row = tableBelow(join(ROOT, 'docs/compare.md'), '## Receivers of other services').at(-1);
  const names = [...peers, 'payment-webhooks, Express 5'];
  expect(row?.slice(1)).toEqual(names.map(cpuOf));
  const [date = ''] = /\d{4}-\d\d-\d\d/.exec(row?.[0] ?? '') ?? [];
  expect(benchmarks).toContain(`measured on ${date}`);
});

const DRIVER = `
import type { Request } from 'express';
import { fixtures, signedDelivery } from 'payment-webhooks/testing';
import { compare } from './compare.js';
for (const privateKey of ['pri_same', 'pri_other']) {
  const { rawBody, headers } = signedDelivery(fixtures.transactionPaid(), { privateKey });
  await compare({ body: rawBody, headers } as Request, 200);
}
`;

test('the comparison of docs/migrating.md warns only where the two receivers differ', async () => {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'compare.ts'), fileIn(join(ROOT, 'docs/migrating.md'), 'compare.ts'));
  writeFileSync(join(FOLDER, 'driver.ts'), DRIVER);
  const env = { ...process.env, SERVICE_PRIVATE_KEY: 'pri_same' };
  const { code, stderr } = await tsx([join(FOLDER, 'driver.ts')], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'DIFFERENT 200 401 {"message":"Unauthenticated."}\n' });
}, 60_000);
