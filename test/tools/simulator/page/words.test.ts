// The texts of the page: the URL, faults, and a delivery as a Jest test.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import { deliver } from 'payment-webhooks/testing';
import { faultKinds } from '../../../../src/tools/simulator/delivery/faults.js';
import type { Attempt, Delivery, Fault } from '../../../../src/tools/simulator/page/api.js';
import { formatRoute, parseRoute } from '../../../../src/tools/simulator/page/route.js';
import {
  faultEffect,
  faultText,
  jestTest,
  signatureEffect,
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

test('a delivery as a Jest test runs against an app, with the same bytes', async () => {
  const body = '{"id":"e-1","note":"it\\u2019s `x` \\"q\\""}';
  const request = { url: 'http://127.0.0.1:3000/in/hooks?a=b', body };
  const code = jestTest({ event_name: 'a.one' } as Delivery, { request, response: null } as Attempt);
  const seen: string[] = [];
  const app = express().post('/in/hooks', express.text({ type: '*/*' }), (req, res) => {
    seen.push(req.originalUrl, req.body);
    res.end();
  });
  const runs: (() => Promise<void>)[] = [];
  const withoutImports = code.replace(/^import .*$/gm, '');
  const run = new Function('test', 'expect', 'deliver', 'app', 'process', withoutImports);
  run((_name: string, work: () => Promise<void>) => runs.push(work), expect, deliver, app, {
    env: { SERVICE_PRIVATE_KEY: 'pri_test' },
  });
  await runs[0]?.();
  expect(seen).toEqual(['/in/hooks?a=b', body]);
});

test('a delivery as a Jest test compiles in the strict TypeScript of an app', async () => {
  const folder = join(ROOT, '.scratch/copied-test');
  rmSync(folder, { recursive: true, force: true });
  for (const part of ['src', 'test']) mkdirSync(join(folder, part), { recursive: true });
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
  write('src/app.ts', "import express from 'express';\n\nexport const app = express();\n");
  const request = { url: 'http://127.0.0.1:3000/hooks', body: '{}' };
  for (const status of [200, 500]) {
    const attempt = { request, response: { status } } as Attempt;
    write(`test/${status}.test.ts`, jestTest({ event_name: 'transaction.paid' } as Delivery, attempt));
  }
  write('tsconfig.json', JSON.stringify({ extends: '../../tsconfig.json', include: ['.'], exclude: [] }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  expect(await node([tsc, '-p', folder])).toEqual({ code: 0, stdout: '', stderr: '' });
}, 90_000);
