// The pages as they are shipped: small, alone, and without a secret.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { node, ROOT } from '../../setup/shell.js';

const dist = mkdtempSync(join(tmpdir(), 'pages-'));

beforeAll(async () => {
  const builder = pathToFileURL(join(ROOT, 'test/setup/build-pages.js')).href;
  const build = `import(${JSON.stringify(builder)}).then((made) => made.buildPages(process.argv[1]))`;
  const { code, stderr } = await node(['-e', build, dist]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}, 30_000);

afterAll(() => rmSync(dist, { recursive: true, force: true }));

const PAGES = [
  {
    page: 'dashboard',
    assets: ['dashboard.css', 'dashboard.js', 'preact-license.txt'],
    addresses: ['http://localhost:3000', 'http://www.w3.org'],
    most: 34_000,
  },
  {
    page: 'dead-letter-page',
    assets: ['assets/page.css', 'assets/page.js', 'assets/preact-license.txt'],
    addresses: ['http://www.w3.org'],
    most: 27_000,
  },
];

describe.each(PAGES)('$page', ({ page, assets, addresses, most }) => {
  const read = (name: string) => readFileSync(join(dist, page, name));
  const loaded = assets.filter((name) => !name.endsWith('.txt'));

  test('is one script, one stylesheet, the document that names them, and a licence', () => {
    const files = readdirSync(join(dist, page), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(join(dist, page).length + 1));
    expect(files.sort()).toEqual([...assets, 'index.html'].sort());
    const named = [
      ...read('index.html')
        .toString()
        .matchAll(/(?:src|href)="([^":]+)"/g),
    ].map(([, path]) => path);
    expect(named.sort()).toEqual(loaded);
  });

  test('the script and the stylesheet are small, compressed', () => {
    const bytes = loaded.map((name) => gzipSync(read(name)).byteLength);
    expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(most);
  });

  test('loads nothing from elsewhere, and holds neither a key nor the validator of the receiver', () => {
    const text = ['index.html', ...loaded].map((name) => read(name).toString()).join('\n');
    const found = text.match(/https?:\/\/[\w.:-]+/g) ?? [];
    expect([...new Set(found)].sort()).toEqual(addresses);
    expect(text.match(/.{9}(?:pri_|sim_token|zod|\beval\(|@import|\burl\()/g)).toBeNull();
  });

  test('has no inline script, style or event handler, which its policy would block', () => {
    const html = read('index.html').toString();
    expect(html.match(/<script(?![^>]* src=)|<style| style=| on\w+=|<base|<form/g)).toBeNull();
  });
});
