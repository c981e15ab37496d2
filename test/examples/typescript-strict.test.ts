import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';
import { codeBlocks } from '../setup/markdown.js';
import { node, ROOT } from '../setup/shell.js';

const EXAMPLE = join(ROOT, 'examples/typescript-strict');
const privateKey = 'pri_strict';
process.env.SERVICE_PRIVATE_KEY = privateKey;
const loaded = import('../../examples/typescript-strict/app.js');

const refund = {
  refund: { id: 'refund-1', amount: '20.00', currency: 'EUR' },
  transaction: { order_id: 'order-7' },
};

describe('the app', () => {
  test('has a line in its ledger for each declared event', async () => {
    const { app, ledger, refunded } = await loaded;
    const failure = { transaction: { id: 'txn-1', order_id: 'order-8' } };
    for (const event of [
      fixtures.transactionPaid(),
      fixtures.event('transaction.failed', failure),
      fixtures.event('refund.succeeded', refund),
    ]) {
      expect(await deliverQuietly(app, event, { privateKey })).toMatchObject({
        body: { outcome: 'processed' },
      });
    }
    expect(ledger.map(({ orderId, change }) => [orderId, change])).toEqual([
      ['order-1042', '+149.90 EUR'],
      ['order-8', '0'],
      ['order-7', '-20.00 EUR'],
    ]);
    expect([...refunded]).toEqual(['refund-1']);
  });

  test('refuses an event that does not fit its schema', async () => {
    const { app } = await loaded;
    const event = fixtures.event('refund.succeeded', { ...refund, refund: { id: 7 } });
    const answer = await deliverQuietly(app, event, { privateKey });
    expect(answer).toMatchObject({ status: 422, body: { issues: [{ path: 'payload.refund.id' }, {}, {}] } });
  });
});

/** Each of these mistakes is made in a copy of the file. */
const MISTAKES: readonly (readonly [what: string, file: string, from: RegExp, to: string])[] = [
  ['an event without a case', 'ledger', / {4}case 'refund\.succeeded': \{.*?\n {4}\}\n/s, ''],
  ['a pattern that is misspelt', 'app', /hooks\.on\('refund\.succeeded'/, "hooks.on('refund.suceeded'"],
  ['a field that no schema has', 'app', /event\.payload\.refund\.id/, 'event.payload.refunds.id'],
  [
    'a handler of another event',
    'app',
    /'refund\.succeeded', noteRefund/,
    "'transaction.failed', noteRefund",
  ],
];

describe('the compiler', () => {
  let folder: string;
  let complaints: string[];

  beforeAll(async () => {
    mkdirSync(join(ROOT, '.scratch'), { recursive: true });
    folder = mkdtempSync(join(ROOT, '.scratch/strict-'));
    cpSync(EXAMPLE, folder, { recursive: true });
    for (const [index, [, file, from, to]] of MISTAKES.entries()) {
      const text = readFileSync(join(folder, `${file}.ts`), 'utf8');
      expect(text).toMatch(from);
      writeFileSync(join(folder, `mistake-${index}.ts`), text.replace(from, to));
    }
    // The settings of the example, and the package from its sources.
    const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
    const paths = Object.entries<string[]>(compilerOptions.paths).map(([name, [path = '']]) => [
      name,
      [join(ROOT, path)],
    ]);
    const sources = {
      extends: './tsconfig.json',
      compilerOptions: { paths: Object.fromEntries(paths) },
    };
    writeFileSync(join(folder, 'tsconfig.sources.json'), JSON.stringify(sources));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await node([tsc, '-p', 'tsconfig.sources.json'], { cwd: folder });
    complaints = stdout.trim().split(/\n(?! )/);
  }, 180_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('accepts it as it is', () => {
    expect(complaints.filter((line) => !line.startsWith('mistake-'))).toEqual([]);
  });

  test.each(MISTAKES.map(([what], index) => [what, `mistake-${index}.ts(`]))('finds %s', (_what, place) => {
    expect(complaints.filter((line) => line.startsWith(place))).not.toEqual([]);
  });

  test('finds an event without a case with the message that the README shows', () => {
    const shown = codeBlocks(join(EXAMPLE, 'README.md')).find(({ language }) => language === 'text');
    const [beginning = '', end = ''] = shown?.text.trim().split('…') ?? [];
    const [complaint = ''] = complaints.filter((line) => line.startsWith('mistake-0.ts('));
    expect(complaint).toContain(beginning);
    expect(complaint.slice(-end.length)).toBe(end);
  });
});
