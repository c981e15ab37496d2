// The command line as it is shipped: real processes, real signals, a real terminal.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SpecServer, startSpecServer } from '../../client/spec-server.js';
import { needing, testOnLinux, testOnUnix } from '../../setup/platform.js';
import { freePort } from '../../setup/ports.js';
import { until } from '../../setup/waiting.js';
import { listening, opensslHmac, post, selfSigned } from '../simulator/world.js';
import { BuiltProgram } from './built.js';
import { fileWith, folder } from './files.js';
import { runCli } from './run-cli.js';

let program: BuiltProgram;
let server: SpecServer;
beforeAll(async () => {
  program = new BuiltProgram();
  server = await startSpecServer();
}, 120_000);
afterAll(async () => {
  program.remove();
  await server.close();
});

const trigger = (baseUrl: string, ...words: string[]) =>
  runCli(['trigger', ...words, '--wait', '--url', baseUrl]);

describe('the program', () => {
  needing('openssl').test('signs what is piped in, as openssl does', async () => {
    const shell = `printf %s '{"a":1}' | SERVICE_PRIVATE_KEY=pri_x "$NODE" "$CLI" sign`;
    const env = { PATH: process.env.PATH, NODE: process.execPath, CLI: program.path };
    const signed = execFileSync('sh', ['-c', shell], { env }).toString();
    expect(signed).toBe(`${opensslHmac('{"a":1}', 'pri_x')}\n`);
  });

  testOnUnix('can be started by its own name, as npm links it', () => {
    const manifest = JSON.parse(readFileSync(join(dirname(program.path), '../../package.json'), 'utf8'));
    expect(manifest.bin).toEqual({ 'payment-webhooks': './dist/cjs/cli.js' });
    expect(readFileSync(program.path, 'utf8').split('\n')[0]).toBe('#!/usr/bin/env node');
    const link = join(dirname(program.path), 'payment-webhooks');
    chmodSync(program.path, 0o755);
    symlinkSync(program.path, link);
    expect(spawnSync(link, ['--version']).stdout.toString()).toBe(`${manifest.version}\n`);
  });

  test.each<[number, string[]]>([
    [0, ['--help']],
    [1, ['verify', '--signature', 'x']],
    [2, ['nonsense']],
  ])('ends with exit code %i after %j, and prints no colours into a pipe', async (code, args) => {
    const ended = await program.run(args);
    expect(ended.code).toBe(code);
    expect(ended.stdout + ended.stderr).not.toContain('\u001b');
  });

  test('talks to a simulator and ends at once, although connections are kept alive', async () => {
    const start = performance.now();
    const words = ['webhooks', 'ensure', 'http://localhost:3000/hooks', '--url', server.baseUrl];
    const run = await program.run(words);
    expect(run).toEqual({ code: 0, stdout: expect.stringMatching(/^created {2}/), stderr: '' });
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  test('warns in one line about a webhook that is not https', async () => {
    const words = ['webhooks', 'create', 'http://shop.example/hooks', '--url', server.baseUrl];
    const stderr = expect.stringMatching(/^Warning: The webhook at shop\.example is not https:.*\n$/);
    expect(await program.run(words)).toMatchObject({ code: 0, stderr });
  });

  needing('bash').test('exits with 0 when the reader closes the pipe early', () => {
    const shell = 'set -o pipefail; "$NODE" "$CLI" --help | head -n 1 >/dev/null; echo "$?"';
    const env = { PATH: process.env.PATH, NODE: process.execPath, CLI: program.path };
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', shell], { env });
    expect({ code: stdout.toString(), stderr: stderr.toString() }).toEqual({ code: '0\n', stderr: '' });
  });
});

// What xdg-open cannot open is said on standard error.
(process.platform === 'linux' ? needing('bash').test : test.skip)(
  'ends quietly when the reader of standard error closes the pipe',
  () => {
    const shell = `PATH=/nowhere "$NODE" "$CLI" simulate --port 0 --open 2> >(exec /bin/true) >/dev/null; echo "$?"`;
    const env = { PATH: process.env.PATH, NODE: process.execPath, CLI: program.path };
    const { stdout } = spawnSync('bash', ['--norc', '-c', shell], { env, timeout: 20_000 });
    expect(stdout.toString()).toBe('0\n');
  },
);

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
      [...loaded(join(dirname(program.path), file))]
        .map((path) => (isAbsolute(path) ? relative(dirname(program.path), path).split(sep).join('/') : path))
        .sort();
    expect(names('cli.js')).toEqual([
      ...['cli.js', 'errors.js', 'misuse.js', 'node:util'],
      ...['tools/cli/command.js', 'tools/cli/commands.js', 'tools/cli/main.js', 'tools/cli/print.js'],
    ]);
    expect(names('tools/cli/signature.js')).toEqual([
      ...[
        'errors.js',
        'http/encoded-body.js',
        'misuse.js',
        'node:buffer',
        'node:crypto',
        'node:fs',
        'node:fs/promises',
      ],
      ...['node:util', 'node:zlib'],
      ...['signature.js', 'tools/cli/command.js', 'tools/cli/encoding.js'],
      ...['tools/cli/print.js', 'tools/cli/read-input.js', 'tools/cli/signature.js'],
    ]);
  });
});

// That its state outlives kill -9: simulator/state.test.ts.
describe('simulate', () => {
  testOnUnix('ends with 0 when a signal asks for it', async () => {
    const { child, ended } = await program.simulate();
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });

  needing('openssl').test(
    'delivers over HTTPS, to an endpoint whose certificate it is told to trust',
    async () => {
      const certificate = selfSigned();
      const paths: (string | undefined)[] = [];
      const server = createServer(certificate, (request, response) => {
        paths.push(request.url);
        request.resume().on('end', () => response.end());
      });
      const url = `https://127.0.0.1:${await listening(server)}/hooks`;
      const env = { NODE_EXTRA_CA_CERTS: fileWith(certificate.cert) };
      const { baseUrl } = await program.simulate(['--forward', url], env);
      const run = await trigger(baseUrl, 'transaction.paid');
      expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining(url) });
      expect(paths).toEqual(['/hooks']);
    },
  );

  testOnLinux('opens the page with --open, with whatever the machine opens pages with', async () => {
    const opened = join(folder, 'opened');
    writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" > '${opened}'\n`, { mode: 0o755 });
    const { baseUrl } = await program.simulate(['--open'], { PATH: `${folder}:${process.env.PATH}` });
    const content = () => (existsSync(opened) ? readFileSync(opened, 'utf8') : '');
    await until(() => content() !== '');
    expect(content()).toBe(`${baseUrl}/\n`);
  });

  testOnUnix('says where the page is when no browser can be opened', async () => {
    const { baseUrl, printed } = await program.simulate(['--open'], { PATH: '/nonexistent' });
    await until(() => printed.stderr.includes('\n'));
    expect(printed.stderr).toBe(`The browser did not open. Go to ${baseUrl}/\n`);
  });
});

/** That of util-linux: the one of macOS takes other options. */
const hasScript = spawnSync('script', ['--version']).status === 0;
const describeInTerminal = hasScript ? describe : describe.skip;

describeInTerminal('simulate in a terminal', () => {
  async function simulateInTerminal(...args: string[]) {
    const through = (words: readonly string[]) => [
      ...['script', '--quiet', '--flush', '--return', '--command'],
      ...[words.map((word) => `'${word}'`).join(' '), '/dev/null'],
    ];
    const { child, ended, printed, baseUrl } = await program.simulate(args, { TERM: 'xterm' }, through);
    await until(() => printed.stdout.includes('q  quit'));
    const seen = () => printed.stdout;
    const sees = (text: string | RegExp, times = 1) => until(() => seen().split(text).length > times);
    return { ended, baseUrl, seen, sees, type: (key: string) => child.stdin.write(key) };
  }

  test('listens to single keys: trigger, resend, stop and start the demo endpoint, quit', async () => {
    // Ports that nobody takes while the endpoint is stopped, and retries for as long as it is.
    const args = ['--port', String(await freePort()), '--demo', '--retry', Array(60).fill('400ms').join()];
    const { seen, sees, type, ended, baseUrl } = await simulateInTerminal(...args);
    expect(seen()).toContain('s  stop or start the demo endpoint');
    expect(seen()).not.toContain('sim_token_none');
    type('c');
    await sees('token  sim_token_none       403 everywhere');
    type('t');
    await sees(/delivered.*attempt 1/);
    expect(seen()).toContain('\u001b[32mdelivered');
    type('r');
    await sees(/delivered.*attempt 2/);
    type('s');
    await sees('The demo endpoint is stopped');
    type('t');
    await sees(/retrying.*ECONNREFUSED.*next retry at.*\r\n.*Nothing listens at this address\./);
    type('s');
    await sees('The demo endpoint is running again.');
    await sees('delivered', 3);

    // As an app: it has the key with which it was started.
    await runCli(['keys', 'rotate', '--url', baseUrl]);
    await sees('the private key was rotated');
    type('t');
    await sees(/401.*\r\n.*it may still have only the old one/);
    type('s');
    await sees('is stopped', 2);
    type('s');
    await sees('delivered', 4);
    type('q');
    expect((await ended).code).toBe(0);
  });

  test('with the key d the demo endpoint handles undeclared events, and Ctrl-C, which is no signal there, ends it', async () => {
    const { seen, type, ended, baseUrl } = await simulateInTerminal('--demo');
    const [, page = ''] = /dead letters +(http\S+)/.exec(seen()) ?? [];
    const replay = async () => {
      const { text } = await post(`${page}replay`);
      return JSON.parse(text.trim().split('\n').at(-1) ?? '').report;
    };
    await trigger(baseUrl, 'refund.succeeded', '--force');
    expect(await replay()).toMatchObject({ processed: 0, stillUnknown: 1 });
    type('dd');
    await until(() => seen().includes(`Replay the ones it kept at ${page}`));
    expect(await replay()).toMatchObject({ processed: 1, stillUnknown: 0 });
    expect(await replay()).toMatchObject({ processed: 0, stillUnknown: 0 });
    type('\u0003');
    expect((await ended).code).toBe(0);
  });
});
