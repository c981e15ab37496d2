// The frames in a log line: the first is the user's, even if the error was made inside a package or in Node.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { node, ROOT } from './setup/shell.js';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'frames-')));
afterAll(() => rmSync(folder, { recursive: true }));

const DRIVER = `
  exports.query = (depth) => depth === 0 ? undefined.rows : exports.query(depth - 1);
  exports.each = (work) => [1].map(() => [2].forEach(work));`;
const APP = `
  const driver = require('driver');
  const { receiver } = require('payment-webhooks');
  const { createHmac } = require('node:crypto');
  const fail = () => { throw new Error('mine'); };
  const handlers = {
    markPaid: () => driver.query(3),
    parse: () => new URL('not a URL'),
    called: () => driver.each(fail),
    inside: () => driver.each(() => driver.query(2)),
    own: fail,
    later: async () => { await null; driver.query(1); },
    misused: () => receiver({ limit: 'banana' }),
    deep: () => driver.query(30),
    foreign: () => { const error = new Error('x'); error.stack = 'Error: x\\n    at a (node:net:1:2)'; throw error; },
  };
  (async () => {
    const lines = {};
    for (const [name, handler] of Object.entries(handlers)) {
      const error = (fields) => { if (fields.handler) lines[name] = fields.error; };
      const hooks = receiver({ privateKey: 'pri_test', logger: { info() {}, warn() {}, error } });
      const rawBody = JSON.stringify({ id: name, event_name: 'a.b', sandbox: false, payload: {} });
      const signature = createHmac('sha256', 'pri_test').update(rawBody).digest('hex');
      await hooks.onUnknown(handler).receive({ rawBody, headers: { 'x-service-signature': signature } });
    }
    console.log(JSON.stringify(lines));
  })();`;

let lines: Record<string, { type: string; message?: string; at?: string[] }>;
beforeAll(async () => {
  for (const name of ['driver', 'payment-webhooks'])
    mkdirSync(join(folder, 'node_modules', name), { recursive: true });
  writeFileSync(join(folder, 'node_modules/driver/index.js'), DRIVER);
  writeFileSync(join(folder, 'app.js'), APP);
  const outfile = `--outfile=${join(folder, 'node_modules/payment-webhooks/index.js')}`;
  const shape = ['--bundle', '--platform=node', '--format=cjs', '--log-level=error'];
  const esbuild = join(ROOT, 'node_modules/esbuild/bin/esbuild');
  execFileSync(esbuild, ['src/index.ts', ...shape, outfile], { cwd: ROOT });
  const { stdout } = await node([join(folder, 'app.js')], { cwd: folder });
  lines = JSON.parse(stdout);
}, 60_000);

test.each(['markPaid', 'parse', 'called', 'inside', 'own', 'later', 'misused'])(
  'the first frame of %s is the one of the user',
  (name) => {
    expect(lines[name]?.at?.[0]).toMatch(/app\.js:\d+:\d+$/);
    expect(lines[name]?.at?.[0]).not.toContain('node_modules');
  },
);

test('without a frame of the user they begin with the innermost', () => {
  expect(lines.foreign?.at).toEqual(['node:net:1:2']);
  expect(lines.deep?.at).toHaveLength(5);
  expect(lines.deep?.at?.[0]).toContain('driver');
});

test('an error of this package says what it is about', () => {
  expect(lines.misused?.message).toContain('limit is "banana"');
  expect(lines.own).not.toHaveProperty('message');
});
