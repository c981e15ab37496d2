// The texts of the page: the URL, faults, statuses, and a delivery as a test.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import { deliver } from 'payment-webhooks/testing';
import { faultKinds } from '../../../../src/tools/simulator/delivery/faults.js';
import type { Attempt, Delivery, Fault, Row } from '../../../../src/tools/simulator/page/api.js';
import { formatRoute, parseRoute } from '../../../../src/tools/simulator/page/route.js';
import {
  attemptStatus,
  FRAMEWORK_NAMES,
  faultEffect,
  faultText,
  shownStatus,
  signatureEffect,
  testCode,
} from '../../../../src/tools/simulator/page/texts.js';
import { node, ROOT } from '../../../setup/shell.js';

const OPEN = { delivery: 'd-1', attempt: 2, tab: 'signature' };

describe('the URL', () => {
  test('holds the search, and the open delivery with its attempt and tab', () => {
    const route = { query: 'status:failed,retrying event:transaction.* a&b=c', ...OPEN };
    expect(formatRoute(route)).toBe(
      '/?q=status:failed,retrying+event:transaction.*+a%26b%3Dc&delivery=d-1&attempt=2&tab=signature',
    );
    expect(parseRoute(formatRoute(route).slice(1))).toEqual(route);
  });

  test('is / without a search and an open delivery', () => {
    const nowhere = { query: '', delivery: undefined, attempt: undefined, tab: undefined };
    expect(formatRoute(nowhere)).toBe('/');
    expect(parseRoute('')).toEqual(nowhere);
  });
});

describe('a fault', () => {
  const fault: Fault = {
    ...{ id: 'f1', kind: 'tamper_body', event: null, webhook: null },
    ...{ times: 1, remaining: 1, probability: 1, delayMs: null },
  };
  const webhook = {
    ...{ id: 'w1', url: 'http://localhost:3000/hooks', events: ['*'], paused: false },
    ...{ created_at: '', updated_at: '' },
  };

  test('has a text: what, to which deliveries, how often', () => {
    expect(faultText(fault, [])).toBe('tamper_body, once');
    const narrow: Fault = { ...fault, event: 'transaction.*', webhook: 'w1', probability: 0.25 };
    expect(faultText({ ...narrow, remaining: 'always' }, [webhook])).toBe(
      'tamper_body on transaction.* to localhost:3000/hooks, 25% of attempts, until removed',
    );
    expect(faultText({ ...fault, webhook: 'w1', remaining: 3 }, [])).toBe(
      'tamper_body to a deleted webhook, 3 more times',
    );
  });

  test('of every kind has a line that says what it does', () => {
    expect(faultKinds.filter((kind) => !faultEffect(kind))).toEqual([]);
    expect(faultEffect('__proto__')).toBeUndefined();
  });

  test('that affects the signature is explained beside the signature', () => {
    const silent = faultKinds.filter((kind) => !signatureEffect(kind));
    expect(silent).toEqual(['duplicate', 'reorder', 'delay', 'slow_body', 'drop']);
    expect(signatureEffect(null)).toBeUndefined();
  });
});

describe('a delivery as a test', () => {
  const at = (url: string, body: string, status?: number) =>
    ({ request: { url, body }, response: status === undefined ? null : { status } }) as Attempt;
  const named = (event_name: string) => ({ event_name }) as Delivery;

  test.each(FRAMEWORK_NAMES)('for %s runs against an app, with the same bytes', async (framework) => {
    const body = '{"id":"e-1","note":"it\\u2019s `x` \\"q\\""}';
    const code = testCode(framework, named('a.one'), at('http://127.0.0.1:3000/in/hooks?a=b', body));
    const seen: string[] = [];
    const app = express().post('/in/hooks', express.text({ type: '*/*' }), (req, res) => {
      seen.push(req.originalUrl, req.body);
      res.end();
    });
    const withoutImports = code.replace(/^import .*$/gm, '');
    const run = new Function('test', 'expect', 'assert', 'deliver', 'app', 'process', withoutImports);
    const env = { SERVICE_PRIVATE_KEY: 'pri_test' };
    const against = (tested: express.Express) =>
      new Promise((resolve) => {
        const test = (_name: string, work: () => Promise<void>) => resolve(work());
        run(test, expect, assert, deliver, tested, { env });
      });
    await against(app);
    expect(seen).toEqual(['/in/hooks?a=b', body]);
    await expect(against(express())).rejects.toThrow('404');
  });

  test('compiles for each framework in the strict TypeScript of an app', async () => {
    const folder = join(ROOT, '.scratch/copied-test');
    rmSync(folder, { recursive: true, force: true });
    for (const part of ['src', 'test']) mkdirSync(join(folder, part), { recursive: true });
    const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
    write('src/app.ts', "import express from 'express';\n\nexport const app = express();\n");
    // The part of Vitest that is used: this repository does not install it.
    write(
      'src/vitest.d.ts',
      `declare module 'vitest' {
  export function test(name: string, work: () => unknown): void;
  export function expect<Value>(value: Value): { toBe(expected: Value): void };
}
`,
    );
    for (const [index, framework] of FRAMEWORK_NAMES.entries())
      for (const status of [200, 500])
        write(
          `test/${index}-${status}.test.ts`,
          testCode(framework, named('transaction.paid'), at('http://127.0.0.1:3000/hooks', '{}', status)),
        );
    write('tsconfig.json', JSON.stringify({ extends: '../../tsconfig.json', include: ['.'], exclude: [] }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    expect(await node([tsc, '-p', folder])).toEqual({ code: 0, stdout: '', stderr: '' });
  }, 90_000);
});

describe('the status that is shown', () => {
  const row = (given: object) =>
    ({ status: 'delivered', last: { status: 200, diagnosis: null, ...given } }) as Row;

  test.each([
    ['processed', 'delivered'],
    ['duplicate', 'delivered'],
    [null, 'delivered'],
    ['ignored', 'ignored'],
    ['kept', 'kept'],
  ])('of a delivery that was %s is %s', (outcome, shown) => {
    expect(shownStatus(row({ outcome }))).toBe(shown);
    const attempt = { succeeded: true, diagnosis: null, outcome } as Attempt;
    expect(attemptStatus(attempt)).toBe(shown);
    expect(shownStatus({ status: 'delivered', attempts: [attempt] } as unknown as Delivery)).toBe(shown);
  });

  test('of one that failed or was wrongly accepted is that, whatever the endpoint says', () => {
    expect(shownStatus({ ...row({ outcome: 'kept' }), status: 'retrying' })).toBe('retrying');
    expect(shownStatus(row({ outcome: 'ignored', diagnosis: 'Refuse it.' }))).toBe('wrongly_accepted');
  });
});
