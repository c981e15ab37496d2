import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';
import { needing } from '../setup/platform.js';
import { ROOT, shell, startUntil, tsx } from '../setup/shell.js';

const EXAMPLE = join(ROOT, 'examples/minimal');
const privateKey = 'pri_minimal';
const hasSqlite = needing('better-sqlite3').missing.length === 0;

describe('the app', () => {
  test('marks the order of a paid transaction as paid', async () => {
    process.env.SERVICE_PRIVATE_KEY = privateKey;
    const { app } = await import('../../examples/minimal/app.js');
    const { orders } = await import('../../examples/minimal/orders.js');
    const event = fixtures.transactionPaid({ payload: { transaction: { order_id: 'order-7' } } });
    expect(await orders.isPaid('order-7')).toBe(false);
    const answer = await deliverQuietly(app, event, { privateKey });
    expect(answer).toMatchObject({ status: 200, body: { received: true, outcome: 'processed' } });
    expect(await orders.isPaid('order-7')).toBe(true);
  });
});

describe('npm run demo', () => {
  needing('openssl').test(
    'sends five deliveries, shows what became of each, and exits 0',
    async () => {
      const { code, stdout, stderr } = await shell('npm run -s demo', {
        env: { npm_config_loglevel: 'silent' },
      });
      const found = (pattern: RegExp) => [...stdout.matchAll(pattern)].map(([, ...groups]) => groups);
      expect(found(/^✓ \d\. (.*)$/gm)).toEqual([
        ['A payment arrives'],
        ['The service sends it again'],
        ['The amount is changed on the way'],
        ['A payment arrives while the database is down'],
        ['The database is back, and the service retries'],
      ]);
      expect(found(/^ +answer +(\d+) (.*)$/gm)).toEqual([
        ['200', '{"received":true,"outcome":"processed"}'],
        ['200', '{"received":true,"outcome":"duplicate"}'],
        ['401', '{"message":"Unauthenticated."}'],
        [
          '500',
          '{"message":"The event could not be processed. Please deliver it again.","code":"HANDLER_FAILED"}',
        ],
        ['200', '{"received":true,"outcome":"processed"}'],
      ]);
      expect(found(/^ +handler +(.*)$/gm)).toEqual([
        ['succeeded on attempt 1: order-1042 is paid'],
        ['did not run'],
        ['did not run'],
        [expect.stringMatching(/^failed: Error at orders\.ts:\d+:\d+$/)],
        ['succeeded on attempt 2: order-1043 is paid'],
      ]);
      expect(stdout).toContain('All 5 steps ended as expected.');
      expect(stdout).toMatch(/^Signed by the openssl program \(\w+ \d/m);
      expect(found(/^✓ ([^\d].*)$/gm)).toEqual([
        ['A payment is delivered'],
        ['A payment is changed on the way'],
        ['A payment arrives while the database is down'],
        ...(hasSqlite ? [['The app is killed and started again, and a payment arrives again']] : []),
      ]);
      expect(found(/^ +(?:before|after) +\d+ (.*)$/gm)).toEqual(
        hasSqlite
          ? [['{"received":true,"outcome":"processed"}'], ['{"received":true,"outcome":"duplicate"}']]
          : [],
      );
      expect(found(/^ +attempt (\d) {2}(\d+) /gm)).toEqual([
        ['1', '200'],
        ['1', '401'],
        ['2', '200'],
        ['1', '500'],
        ['2', '200'],
      ]);
      expect(stdout).toContain('Every payment was delivered.');
      expect(stdout).not.toContain('"level":');
      expect(stripVTControlCharacters(stdout)).toBe(stdout);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    },
    90_000,
  );

  test('stays when asked to, says where the page is, and ends with 0', async () => {
    const demo = await startUntil('Ctrl-C ends both.', 'exec npm run -s demo -- --stay');
    const [, page = ''] = /^The page: (http:\S+)$/m.exec(demo.output()) ?? [];
    const settings = await (await fetch(`${page}_sim/deliveries`)).json();
    expect(settings).toMatchObject({ total: 3 });
    expect((await fetch(page)).headers.get('content-type')).toContain('text/html');
    await demo.stop();
    await expect(fetch(page)).rejects.toThrow('fetch failed');
  }, 90_000);

  test('signs with node:crypto where there is no openssl, and says so', async () => {
    const { code, stdout } = await tsx(['examples/minimal/demo.ts'], { env: { PATH: '/nonexistent' } });
    expect(stdout).toContain('There is no openssl program here, so they are signed by node:crypto');
    expect(code).toBe(0);
  }, 90_000);

  test('exits 1 and says what it expected when a handler swallows its failure', async () => {
    mkdirSync(join(ROOT, '.scratch'), { recursive: true });
    const broken = mkdtempSync(join(ROOT, '.scratch/demo-'));
    try {
      cpSync(EXAMPLE, broken, { recursive: true });
      const app = readFileSync(join(broken, 'app.ts'), 'utf8');
      const swallowing = app.replace(/(await orders\.markPaid\(.*\));/, '$1.catch(() => {});');
      writeFileSync(join(broken, 'app.ts'), swallowing);
      const { code, stdout } = await tsx([join(broken, 'demo.ts')]);
      expect(stdout).toMatch(/^✗ 4\. A payment arrives while the database is down$/m);
      expect(stdout).toMatch(/^ +expected +500 .*, and that the handler failed$/m);
      expect(stdout).toContain('2 of 5 steps did not end as expected.');
      expect(code).toBe(1);
    } finally {
      rmSync(broken, { recursive: true, force: true });
    }
  }, 90_000);
});
