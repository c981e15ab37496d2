// A server as one file, as docs/frameworks.md makes it with esbuild: it starts in an empty folder, and takes deliveries.
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { buildSync } from 'esbuild';
import { fixtures, signedDelivery } from 'payment-webhooks/testing';
import { codeBlocks } from './setup/markdown.js';
import { needing } from './setup/platform.js';
import { ROOT, shell, start } from './setup/shell.js';

const MOST_BYTES = 800_000;
const MOST_BYTES_AT_START = 200_000;
const PRIVATE_KEY = 'pri_bundled';
const ESBUILD = join(ROOT, 'node_modules/esbuild/bin/esbuild');

const APP = `
import { createServer } from 'node:http';
import { receiver } from 'payment-webhooks';

const hooks = receiver();
hooks.on('transaction.paid', async (event) => console.log(event.payload.transaction.order_id, 'is paid'));
const server = createServer(hooks).listen(0, '127.0.0.1', () => console.log('port', server.address().port));
`;

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

needing('bash').test.each(['cjs', 'esm'])('as %s it needs no package beside it', async (format) => {
  const blocks = codeBlocks(join(ROOT, 'docs/frameworks.md')).map(({ text }) => text);
  const command = blocks.find((text) => text.includes('npx esbuild') && text.includes(`--format=${format}`));
  if (!command) throw new Error(`docs/frameworks.md has no command for ${format}.`);
  const cwd = mkdtempSync(join(tmpdir(), 'payment-webhooks-bundle-'));
  undo.push(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, 'app.mjs'), APP);
  const sources = `--alias:payment-webhooks=${join(ROOT, 'src/index.ts')} --log-level=warning`;
  const bundling = command.replace('npx esbuild', `'${ESBUILD}' ${sources}`);
  expect(await shell(bundling, { cwd })).toEqual({ code: 0, stdout: '', stderr: '' });
  const [, file = ''] = /--outfile=(\S+)/.exec(command) ?? [];
  expect(statSync(join(cwd, file)).size).toBeLessThan(MOST_BYTES);

  const running = start(`exec node ${file}`, { SERVICE_PRIVATE_KEY: PRIVATE_KEY }, cwd);
  undo.push(() => running.stop());
  await running.printed(/port \d+/);
  const port = Number(/port (\d+)/.exec(running.output())?.[1]);
  expect([await deliver(port, 'with a length'), await deliver(port, 'in chunks')]).toEqual([200, 200]);
  expect(running.output()).toContain('order-1042 is paid');
});

test('with splitting, what only an unusual delivery needs is not loaded at start-up', () => {
  const { outputs } = buildSync({
    stdin: { contents: "export { receiver } from './src/index.ts';", resolveDir: ROOT },
    bundle: true,
    minify: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    outdir: 'not-written',
    write: false,
    metafile: true,
  }).metafile;
  const start = Object.keys(outputs).find((file) => outputs[file]?.entryPoint === '<stdin>') ?? '';
  const loaded = new Set([start]);
  for (const file of loaded) {
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement') loaded.add(path);
  }
  const bytes = [...loaded].reduce((sum, file) => sum + (outputs[file]?.bytes ?? 0), 0);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(MOST_BYTES_AT_START);
});

async function deliver(port: number, how: 'with a length' | 'in chunks'): Promise<number | undefined> {
  const { rawBody, headers } = signedDelivery(fixtures.transactionPaid(), { privateKey: PRIVATE_KEY });
  const sent = request({ port, host: '127.0.0.1', method: 'POST', headers });
  if (how === 'with a length') sent.setHeader('Content-Length', rawBody.length);
  else sent.setHeader('Transfer-Encoding', 'chunked');
  sent.end(rawBody);
  const [response] = await once(sent, 'response');
  response.resume();
  return response.statusCode;
}
