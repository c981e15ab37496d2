import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SpecServer, startSpecServer } from '../../client/spec-server.js';
import { needing, testOnUnix } from '../../setup/platform.js';
import { type Built, build } from './built.js';

let built: Built;
let server: SpecServer;
beforeAll(async () => {
  built = build();
  server = await startSpecServer();
}, 60_000);
afterAll(async () => {
  built.remove();
  await server.close();
});

const run: Built['run'] = (...typed) => built.run(...typed);

describe('the program', () => {
  needing('openssl').test('signs what is piped in, as openssl does', async () => {
    const shell = `printf %s '{"a":1}' | SERVICE_PRIVATE_KEY=pri_x "$NODE" "$CLI" sign`;
    const env = { PATH: process.env.PATH, NODE: process.execPath, CLI: built.cli };
    const signed = execFileSync('sh', ['-c', shell], { env }).toString();
    const openssl = execFileSync('openssl', ['dgst', '-sha256', '-hmac', 'pri_x'], {
      input: '{"a":1}',
    }).toString();
    expect(signed).toBe(`${openssl.split('= ')[1]}`);
  });

  testOnUnix('can be started by its own name, as npm links it', () => {
    const manifest = JSON.parse(readFileSync(join(dirname(built.cli), '../../package.json'), 'utf8'));
    expect(manifest.bin).toEqual({ 'payment-webhooks': './dist/cjs/cli.js' });
    expect(readFileSync(built.cli, 'utf8').split('\n')[0]).toBe('#!/usr/bin/env node');
    const link = join(dirname(built.cli), 'payment-webhooks');
    chmodSync(built.cli, 0o755);
    symlinkSync(built.cli, link);
    expect(spawnSync(link, ['--version']).stdout.toString()).toBe(`${manifest.version}\n`);
  });

  test.each<[number, string[], object]>([
    [0, ['--help'], {}],
    [1, ['verify', '--signature', 'x'], {}],
    [2, ['sign'], { SERVICE_PRIVATE_KEY: '' }],
    [2, ['nonsense'], {}],
  ])('ends with exit code %i after %j', async (code, args, env) => {
    expect((await run(args, { env })).code).toBe(code);
  });

  test('talks to a simulator and ends at once, although connections are kept alive', async () => {
    const start = performance.now();
    const done = await run(['webhooks', 'ensure', 'http://localhost:3000/hooks'], {
      env: { SERVICE_SIM_URL: server.baseUrl },
    });
    expect(done).toEqual({ code: 0, stdout: expect.stringMatching(/^created {2}/), stderr: '' });
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  test('warns in one line about a webhook that is not https', async () => {
    const { code, stderr } = await run(['webhooks', 'create', 'http://shop.example/hooks'], {
      env: { SERVICE_SIM_URL: server.baseUrl },
    });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Warning: The webhook at shop\.example is not https:.*\n$/);
  });

  testOnUnix('is content when its reader has seen enough', () => {
    const shell = 'set -o pipefail; "$NODE" "$CLI" --help | head -n 1 >/dev/null; echo "$?"';
    const env = { PATH: process.env.PATH, NODE: process.execPath, CLI: built.cli };
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', shell], { env });
    expect({ code: stdout.toString(), stderr: stderr.toString() }).toEqual({ code: '0\n', stderr: '' });
  });

  test('prints no colours into a pipe', async () => {
    expect((await run(['verify', '--signature', 'x'])).stdout).not.toContain('\u001b');
  });
});

describe('starting', () => {
  /** What a file imports before it runs, itself included. */
  function loaded(file: string, found = new Set<string>()): Set<string> {
    if (found.has(file)) return found;
    found.add(file);
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/= require\("([^"]+)"\);$/gm)) {
      if (name.startsWith('.')) loaded(join(dirname(file), name), found);
      else found.add(name);
    }
    return found;
  }

  test('loads little, and for sign little more', () => {
    const names = (file: string) =>
      [...loaded(join(dirname(built.cli), file))]
        .map((path) => (isAbsolute(path) ? relative(dirname(built.cli), path).split(sep).join('/') : path))
        .sort();
    expect(names('cli.js')).toEqual([
      'cli.js',
      'errors.js',
      'node:util',
      'tools/cli/command.js',
      'tools/cli/commands.js',
      'tools/cli/main.js',
      'tools/cli/print.js',
    ]);
    expect(names('tools/cli/sign.js')).toEqual([
      'errors.js',
      'node:buffer',
      'node:crypto',
      'node:fs',
      'node:fs/promises',
      'node:util',
      'signature.js',
      'tools/cli/command.js',
      'tools/cli/print.js',
      'tools/cli/read-input.js',
      'tools/cli/sign.js',
    ]);
  });
});
