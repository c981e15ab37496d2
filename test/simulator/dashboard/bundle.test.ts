// The page as it is shipped: small, alone, and without a secret.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { node, ROOT } from '../../setup/shell.js';

const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
const read = (name: string) => readFileSync(join(folder, name));

beforeAll(async () => {
  const builder = pathToFileURL(join(ROOT, 'test/setup/build-pages.js')).href;
  const build = `import(${JSON.stringify(builder)}).then((made) => made.buildDashboard(process.argv[1]))`;
  const { code, stderr } = await node(['-e', build, folder]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}, 30_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('is one script, one stylesheet, the document that names them, and a licence', () => {
  expect(readdirSync(folder).sort()).toEqual([
    'dashboard.css',
    'dashboard.js',
    'index.html',
    'preact-license.txt',
  ]);
});

test('the script and the stylesheet take less than 60 KB together, compressed', () => {
  const bytes = ['dashboard.js', 'dashboard.css'].map((name) => gzipSync(read(name)).byteLength);
  expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(60_000);
});

test('loads nothing from elsewhere, and holds neither a key nor the validator of the receiver', () => {
  const text = readdirSync(folder)
    .filter((name) => name !== 'preact-license.txt')
    .map((name) => read(name).toString())
    .join('\n');
  const addresses = text.match(/https?:\/\/[\w.:-]+/g) ?? [];
  expect([...new Set(addresses)].sort()).toEqual(['http://localhost:3000', 'http://www.w3.org']);
  expect(text.match(/.{9}(?:pri_|sim_token|zod|\beval\(|@import|\burl\()/g)).toBeNull();
});
