// An app as one bundle of each bundler, in a folder without packages: what the package serves from its own files is served.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { node, ROOT, start } from '../setup/shell.js';
import { type Consumer, consumer } from './consumer.js';

const APP = `
import { createServer } from 'node:http';
import { memoryDeadLetters, receiver } from 'payment-webhooks';
import { deadLetterPage } from 'payment-webhooks/ops';
import { startSimulator } from 'payment-webhooks/simulator';

const hooks = receiver({ privateKey: 'pri_bundled', logger: false, deadLetters: memoryDeadLetters() });
const server = createServer(deadLetterPage(hooks, { authorize: () => 'ada' }));
server.listen(0, '127.0.0.1', async () => {
  const { baseUrl } = await startSimulator({ port: 0 });
  console.log(JSON.stringify({ letters: \`http://127.0.0.1:\${server.address().port}\`, simulator: baseUrl }));
});
`;

const ROLLUP = `
import commonjs from '@rollup/plugin-commonjs';
import json from '@rollup/plugin-json';
import { nodeResolve } from '@rollup/plugin-node-resolve';
export default { plugins: [nodeResolve({ preferBuiltins: true, exportConditions: ['node'] }), commonjs(), json()] };
`;

const PACKAGES = [
  ...['express@5', 'esbuild', 'webpack@5', 'webpack-cli', '@vercel/ncc'],
  ...['rollup@4', '@rollup/plugin-commonjs', '@rollup/plugin-json', '@rollup/plugin-node-resolve'],
];

const REQUIRE = `import{createRequire}from"node:module";const require=createRequire(import.meta.url);`;

interface Bundler {
  readonly name: string;
  /** The command that puts the bundle of a file into the folder `out`, as index.js, index.cjs or index.mjs. */
  readonly command: (entry: string) => string;
}

const BUNDLERS: readonly Bundler[] = [
  {
    name: 'esbuild, CommonJS',
    command: (entry) => `npx esbuild ${entry} --bundle --minify --platform=node --outfile=out/index.cjs`,
  },
  {
    name: 'esbuild, ESM in chunks',
    command: (entry) =>
      `npx esbuild ${entry} --bundle --platform=node --format=esm --splitting --out-extension:.js=.mjs --entry-names=index --outdir=out --banner:js='${REQUIRE}'`,
  },
  {
    name: 'webpack',
    // In production mode NODE_ENV is "production", for which no simulator starts.
    command: (entry) =>
      `npx webpack --mode development --devtool false --target node --entry ./${entry} -o out --output-filename index.cjs`,
  },
  {
    name: 'ncc',
    command: (entry) => `npx ncc build ${entry} -o out`,
  },
  {
    name: 'rollup',
    command: (entry) => `npx rollup -c rollup.config.mjs -i ${entry} -f es -d out --entryFileNames index.mjs`,
  },
];

const textOf = async (url: string) => {
  const response = await fetch(url);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};

const inRepository = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe.each(BUNDLERS)('$name', ({ command }) => {
  let project: Consumer;
  const undo: (() => unknown)[] = [];

  beforeAll(async () => {
    project = await consumer('bundlers', PACKAGES);
    project.write('app.mjs', APP);
    project.write('rollup.config.mjs', ROLLUP);
  }, 300_000);

  afterEach(async () => {
    for (const each of undo.splice(0).reverse()) await each();
  });

  /** Bundles a file of the project, and moves the bundle to where no package is. */
  async function bundled(entry: string): Promise<{ cwd: string; made: string }> {
    rmSync(join(project.folder, 'out'), { recursive: true, force: true });
    const { code, stdout, stderr } = await project.shell(command(entry));
    if (code !== 0) throw new Error(`${command(entry)}\n${stdout}${stderr}`);
    const alone = mkdtempSync(join(tmpdir(), 'bundled-'));
    undo.push(() => rmSync(alone, { recursive: true, force: true }));
    cpSync(join(project.folder, 'out'), alone, { recursive: true });
    const [made = ''] = readdirSync(alone).filter((file) => /^index\.[cm]?js$/.test(file));
    return { cwd: alone, made };
  }

  /** The first line that it prints, which is JSON. */
  async function started(script: string, cwd: string) {
    const running = start(script, { SERVICE_PRIVATE_KEY: 'pri_bundled' }, cwd);
    undo.push(() => running.stop());
    await running.printed(/^\{.+\}$/m);
    return JSON.parse(/^\{.+\}$/m.exec(running.output())?.[0] ?? '');
  }

  test('an app serves the dead-letter page, the page of the simulator and its documents', async () => {
    const { cwd, made } = await bundled('app.mjs');
    const { letters, simulator } = await started(`exec node ${made}`, cwd);
    for (const [page, files] of [
      [letters, ['assets/page.css', 'assets/page.js', 'assets/preact-license.txt']],
      [simulator, ['dashboard.css', 'dashboard.js', 'preact-license.txt']],
    ]) {
      const { status, text } = await textOf(`${page}/`);
      expect({ status, text }).toEqual({
        status: 200,
        text: expect.stringContaining('<script type="module"'),
      });
      for (const name of files) {
        const file = await textOf(`${page}/${name}`);
        expect([name, file.status, file.text.length > 1_000]).toEqual([name, 200, true]);
        expect(file.type).toMatch(/^text\/(?:css|javascript|plain); charset=utf-8$/);
      }
    }
    const { servers: _, ...api } = JSON.parse((await textOf(`${simulator}/_sim/openapi.json`)).text);
    const { servers: __, ...documented } = JSON.parse(inRepository('docs/openapi.json'));
    expect(api).toEqual(documented);
    expect((await textOf(`${simulator}/_sim/what-is-documented`)).text).toBe(
      inRepository('docs/what-is-documented.md'),
    );
  }, 300_000);

  test('the command line explains a code, knows its version, and simulates', async () => {
    const { cwd, made } = await bundled('node_modules/payment-webhooks/dist/cjs/cli.js');
    const explained = await node([made, 'explain', 'BODY_CONSUMED'], { cwd });
    expect(explained).toMatchObject({ code: 0, stderr: '' });
    expect(explained.stdout).toContain('app.use(express.json());');
    const { version } = JSON.parse(inRepository('package.json'));
    expect(await node([made, '--version'], { cwd })).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    const ready = await started(`exec node ${made} simulate --demo --port 0 --json`, cwd);
    expect((await textOf(ready.page)).text).toContain('<script type="module"');
  }, 300_000);
});
