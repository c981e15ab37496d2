import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
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

describe('the compiler', () => {
  let copy: string;

  beforeEach(() => {
    mkdirSync(join(ROOT, '.scratch'), { recursive: true });
    copy = mkdtempSync(join(ROOT, '.scratch/strict-'));
    cpSync(EXAMPLE, copy, { recursive: true });
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
    writeFileSync(join(copy, 'tsconfig.sources.json'), JSON.stringify(sources));
  });

  afterEach(() => rmSync(copy, { recursive: true, force: true }));

  const compile = () =>
    node([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', join(copy, 'tsconfig.sources.json')]);

  function change(file: string, from: RegExp, to: string): void {
    const text = readFileSync(join(copy, file), 'utf8');
    expect(text).toMatch(from);
    writeFileSync(join(copy, file), text.replace(from, to));
  }

  test('accepts it as it is', async () => {
    expect(await compile()).toMatchObject({ code: 0, stdout: '' });
  }, 90_000);

  test('finds an event without a case, with the message that the README shows', async () => {
    const text = codeBlocks(join(EXAMPLE, 'README.md'))
      .find(({ language }) => language === 'text')
      ?.text.trim();
    change('ledger.ts', / {4}case 'refund\.succeeded': \{.*?\n {4}\}\n/s, '');
    const { stdout } = await compile();
    const [beginning = '', end = ''] = text?.split('…') ?? [];
    expect(stdout).toContain(beginning);
    expect(stdout.trim().endsWith(end.replace(/^'/, "'"))).toBe(true);
  }, 90_000);

  test.each([
    ['a pattern that is misspelt', /hooks\.on\('refund\.succeeded'/, "hooks.on('refund.suceeded'"],
    ['a field that no schema has', /event\.payload\.refund\.id/, 'event.payload.refunds.id'],
    ['a handler of another event', /'refund\.succeeded', noteRefund/, "'transaction.failed', noteRefund"],
  ])(
    'finds %s',
    async (_what, from, to) => {
      change('app.ts', from, to);
      expect(await compile()).toMatchObject({ code: 1, stdout: expect.stringContaining('app.ts') });
    },
    90_000,
  );
});
