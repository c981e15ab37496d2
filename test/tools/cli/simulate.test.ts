// `simulate` as it is shipped, and the other commands against it: real processes, real ports.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { needing, testOnLinux, testOnUnix } from '../../setup/platform.js';
import { freePort } from '../../setup/ports.js';
import { until } from '../../setup/waiting.js';
import { afterwards, call, endpoint, opensslHmac } from '../simulator/world.js';
import { type Built, build } from './built.js';
import { runCli } from './run-cli.js';
import { type SimulateProgram, startSimulate } from './simulate-program.js';

// Each test starts processes, and other test files do so at the same time.
jest.setTimeout(120_000);

let built: Built;
let folder: string;
beforeAll(() => {
  built = build();
  folder = mkdtempSync(join(tmpdir(), 'simulate-'));
}, 120_000);
afterAll(() => {
  built.remove();
  rmSync(folder, { recursive: true });
});

const start = (args: readonly string[] = [], env: Record<string, string> = {}) =>
  startSimulate(built.cli, args, { env });

/** Another command, asking this simulator. */
const ask = ({ baseUrl }: SimulateProgram, ...args: string[]) =>
  built.run(args, { env: { SERVICE_SIM_URL: baseUrl } });

const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

/** As a web page asks whose name resolves to this machine. */
function statusByHost(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { host } }, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
}

describe('simulate', () => {
  test('signs in the header that --signature-header names', async () => {
    const app = await endpoint(200);
    const program = await start(['--forward', app.url, '--signature-header', 'X-Pay-Signature']);
    await ask(program, 'trigger', 'transaction.paid', '--wait');
    expect(app.received[0]?.headers['x-pay-signature']).toMatch(/^[0-9a-f]{64}$/);
    program.child.kill('SIGINT');
    await program.ended;
  });

  testOnUnix(
    'begins with what to paste into the app and how to trigger an event, and ends with 0 when asked to',
    async () => {
      const program = await start(['--forward', '3999/hooks']);
      const { baseUrl } = program;
      expect(program.stdout().split('\n')).toEqual([
        'The service runs on this machine.',
        '',
        'Start your app with its key, and trigger an event in another terminal:',
        '',
        '  SERVICE_PRIVATE_KEY=pri_sim_dev',
        `  npx payment-webhooks trigger transaction.paid --url ${baseUrl}`,
        '',
        `page          ${baseUrl}/`,
        `API base URL  ${baseUrl}`,
        'delivers to   http://localhost:3999/hooks',
        '',
        'More keys and tokens: start with --credentials.',
        '',
        '',
      ]);
      program.child.kill('SIGINT');
      expect(await program.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    },
  );

  test('names every key and token with --credentials', async () => {
    const program = await start(['--credentials']);
    expect(program.stdout().split('\n').slice(11)).toEqual([
      'key    pri_sim_dev          everything on /api/v2; signs every delivery',
      'key    pri_sandbox_sim_dev  everything on /sandbox/api/v2, 401 on /api/v2',
      'key    pri_sim_inactive     403: inactive account',
      'key    pri_sim_unverified   403: identity not verified',
      'token  sim_token_all        everything',
      'token  sim_token_read       403 on writes',
      'token  sim_token_none       403 everywhere',
      '',
      '',
    ]);
  });

  testOnUnix(
    'prints a trigger command that a shell runs as it stands, without --url where it is not needed',
    async () => {
      const port = String(await freePort());
      const program = await start(['--port', port]);
      const [command = ''] = /npx payment-webhooks (trigger .*)$/m.exec(program.stdout())?.slice(1) ?? [];
      const app = await endpoint(200);
      await call(`${program.baseUrl}/_sim/webhooks`, { method: 'POST', body: { url: app.url } });
      expect((await built.run(command.split(' '))).code).toBe(0);
      await until(() => app.received.length === 1);
      program.child.kill('SIGTERM');
      await program.ended;
      const usual = await start(['--port', port], { SERVICE_SIM_URL: program.baseUrl });
      expect(usual.stdout()).toMatch(/^ {2}npx payment-webhooks trigger transaction\.paid$/m);
    },
  );

  testOnUnix('quotes a key that a shell would expand', async () => {
    const program = await start(['--key-file', file('hard-key', "pri_sim_$HOME'`id`\n")]);
    const [assignment = ''] = /SERVICE_PRIVATE_KEY=.*/.exec(program.stdout()) ?? [];
    const { stdout } = spawnSync('sh', ['-c', `${assignment}; printf %s "$SERVICE_PRIVATE_KEY"`]);
    expect(stdout.toString()).toBe("pri_sim_$HOME'`id`");
  });

  needing('curl').test('answers to other machines by the hosts that it is given', async () => {
    const program = await start([
      '--host',
      '0.0.0.0',
      '--allow-host',
      'simulator',
      '--allow-host',
      'fd00::7',
    ]);
    const { port } = new URL(program.baseUrl);
    expect(program.stdout()).toContain(
      `other machines  http://simulator:${port}\nother machines  http://[fd00::7]:${port}\n`,
    );
    await until(() => program.stderr().includes('can be reached from other machines'));
    const statusFor = (host: string) =>
      spawnSync('curl', [
        ...['-s', '-o', '/dev/null', '-w', '%{http_code}', '-H', `Host: ${host}`],
        `${program.baseUrl}/_sim/readyz`,
      ]).stdout.toString();
    expect([statusFor('simulator:1'), statusFor('[fd00::7]'), statusFor('evil.example')]).toEqual([
      '200',
      '200',
      '403',
    ]);
  });

  test('forwards signed events to an app, and prints a line for each attempt with its diagnosis', async () => {
    const app = await endpoint(500, 200);
    const program = await start(['--forward', `${app.port}/hooks`, '--retry', '50ms']);
    const { code, stdout } = await ask(program, 'trigger', 'transaction.paid', '--wait');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^\w{8} {2}delivered {2}transaction\.paid {2}[\w-]{36} {2}http:\/\/localhost:\d+\/hooks {2}200 +\d+ +2$/m,
      ),
    });
    const [first] = app.received;
    expect(first?.headers['x-service-signature']).toBe(opensslHmac(first?.body as Buffer, 'pri_sim_dev'));
    await until(() => program.stdout().endsWith('attempt 2\n'));
    const lines = program.stdout().split('\n').slice(13);
    const { id } = JSON.parse(String(first?.body));
    expect(lines[0]).toContain(`  transaction.paid  ${id}  `);
    expect(lines).toEqual([
      expect.stringMatching(
        /^\d\d:\d\d:\d\d {2}retrying {3}transaction\.paid {2}[\w-]{36} {2}\w{8} {2}→ http:\/\/localhost:\d+\/hooks {2}\[500\] {2}\d+ ms {2}attempt 1, next retry at \d\d:\d\d:\d\d$/,
      ),
      '          Your handler failed. Look for this event id in the log of your endpoint.',
      expect.stringMatching(/ {2}delivered {2}.* {2}\[200\] {2}\d+ ms {2}attempt 2$/),
      '',
    ]);
  });

  needing('openssl').test(
    'delivers over HTTPS, to an endpoint whose certificate it is told to trust',
    async () => {
      const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
      const request =
        'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=endpoint';
      const words = [...request.split(' '), '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key];
      expect(spawnSync('openssl', [...words, '-out', certificate]).status).toBe(0);
      const paths: (string | undefined)[] = [];
      const options = { key: readFileSync(key), cert: readFileSync(certificate) };
      const server = createServer(options, (request, response) => {
        paths.push(request.url);
        request.resume().on('end', () => response.end());
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      afterwards(() => new Promise((resolve) => server.close(resolve)));
      const { port } = server.address() as AddressInfo;
      const url = `https://127.0.0.1:${port}/hooks`;
      const program = await start(['--forward', url], { NODE_EXTRA_CA_CERTS: certificate });
      const { code, stdout } = await ask(program, 'trigger', 'transaction.paid', '--wait');
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(url) });
      expect(paths).toEqual(['/hooks']);
      program.child.kill('SIGTERM');
      await program.ended;
    },
  );

  testOnUnix('prints one JSON object a line with --json', async () => {
    const app = await endpoint(200);
    const program = await start(['--json', '--forward', app.url]);
    await ask(program, 'trigger', 'transaction.paid', '--wait');
    await until(() => program.stdout().split('\n').length > 2);
    program.child.kill('SIGTERM');
    const lines = (await program.ended).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      expect.objectContaining({
        ...{ type: 'ready', page: `${program.baseUrl}/`, base_url: program.baseUrl },
        ...{ private_key: 'pri_sim_dev', forwards: [app.url], demo: null, dead_letters: null },
      }),
      expect.objectContaining({
        type: 'attempt',
        attempt: 1,
        status: 'delivered',
        answer: 200,
        reason: null,
        outcome: null,
        url: app.url,
      }),
    ]);
  });

  test('starts a demo endpoint that accepts what is delivered', async () => {
    const program = await start(['--demo']);
    expect(program.stdout()).toMatch(/^demo endpoint {2}http:\/\/127\.0\.0\.1:\d+\/hooks$/m);
    const delivered = await ask(program, 'trigger', 'transaction.paid', '--wait');
    expect(delivered.code).toBe(0);
    const tampered = await ask(program, 'trigger', 'transaction.paid', '--fault', 'tamper_body');
    expect(tampered.code).toBe(0);
    await until(() => program.stdout().includes('Refused, as it should be'));
    expect(program.stdout()).toMatch(
      /retrying .* \[401\] .* fault tamper_body.*\n +Refused, as it should be/,
    );
    await ask(program, 'trigger', 'refund.succeeded', '--force', '--wait');
    await until(() => /refund\.succeeded .*\n/.test(program.stdout()));
    expect(program.stdout()).toMatch(
      /delivered {2}transaction\.paid .* \[200\] processed {2}\d+ ms {2}attempt 1$/m,
    );
    expect(program.stdout()).toMatch(
      /delivered {2}refund\.succeeded .* \[200\] kept {2}\d+ ms {2}attempt 1$/m,
    );
  });

  test('keeps undeclared events at the demo endpoint, and shows them on a page of this machine alone', async () => {
    const program = await start(['--demo', '--json']);
    const { demo, dead_letters: page } = JSON.parse(program.stdout().split('\n')[0] ?? '');
    expect(page).toBe(demo.replace('/hooks', '/dead-letters/'));
    await ask(program, 'trigger', 'refund.succeeded', '--force', '--wait');
    const { letters } = await call(`${page}letters`).then(({ json }) => json);
    expect(letters).toMatchObject([{ reason: 'unknown', eventName: 'refund.succeeded' }]);
    expect((await call(page)).status).toBe(200);
    expect(await statusByHost(page, 'rebound.example')).toBe(403);
  });

  test('takes the keys of a key file, and signs with them', async () => {
    const app = await endpoint(200);
    const keys = file('keys', 'pri_sim_mine\npri_sandbox_sim_mine\n');
    const program = await start(['--key-file', keys, '--forward', app.url, '--credentials']);
    expect(program.stdout()).toContain('  SERVICE_PRIVATE_KEY=pri_sim_mine\n');
    expect(program.stdout()).toContain('key    pri_sandbox_sim_mine ');
    await ask(program, 'trigger', 'transaction.paid', '--wait');
    const [first] = app.received;
    expect(first?.headers['x-service-signature']).toBe(opensslHmac(first?.body as Buffer, 'pri_sim_mine'));
  });

  testOnUnix(
    'takes a key of the environment only when it is made for a simulator, and never shows another',
    async () => {
      const own = await start([], { SERVICE_PRIVATE_KEY: 'pri_sim_env' });
      expect(own.stdout()).toContain('  SERVICE_PRIVATE_KEY=pri_sim_env\n');
      const real = await start([], { SERVICE_PRIVATE_KEY: 'pri_c4nary' });
      expect(real.stdout()).toContain('  SERVICE_PRIVATE_KEY=pri_sim_dev\n');
      for (const { child } of [own, real]) child.kill('SIGTERM');
      expect((await own.ended).stderr).toBe('');
      const { stdout, stderr } = await real.ended;
      expect(stderr).toContain('SERVICE_PRIVATE_KEY does not hold a simulator key');
      expect(stdout + stderr).not.toContain('c4nary');
    },
  );

  test('keeps its state, also over kill -9, and registers a forward once', async () => {
    const state = join(folder, 'state.json');
    let isKilled = false;
    const app = await endpoint((_, response) => response.writeHead(isKilled ? 200 : 500).end());
    const args = ['--state', state, '--forward', app.url, '--retry', Array(30).fill('1s').join()];
    const first = await start(args);
    await ask(first, 'trigger', 'transaction.paid');
    await until(() => first.stdout().includes('attempt 1, next retry'));
    first.child.kill('SIGKILL');
    await first.ended;
    isKilled = true;
    const second = await start(args);
    await until(() => second.stdout().includes('delivered  transaction.paid'));
    expect(second.stdout()).toMatch(/^The service runs on this machine\.\n/);
    const { stdout } = await ask(second, 'webhooks', 'list', '--json');
    expect(stdout.trim().split('\n')).toHaveLength(1);
  });

  testOnUnix('names every webhook that it delivers to, and which of them gets only a part', async () => {
    const state = join(folder, 'webhooks.json');
    const none = await start(['--state', state]);
    expect(none.stdout()).toMatch(
      /^delivers to +no webhook yet: start with --forward 3000\/hooks, or register one/m,
    );
    await ask(none, 'webhooks', 'create', 'http://127.0.0.1:1/part', '--events', 'a.b,c.d');
    const paused = await ask(none, 'webhooks', 'create', 'http://127.0.0.1:1/paused', '--json');
    const { id } = JSON.parse(paused.stdout);
    await call(`${none.baseUrl}/_sim/webhooks/${id}`, { method: 'PUT', body: { paused: true } });
    none.child.kill('SIGTERM');
    await none.ended;
    const program = await start([
      '--state',
      state,
      '--forward',
      'http://127.0.0.1:1/part',
      '--forward',
      '1/all',
    ]);
    expect(program.stdout().match(/^delivers to .*$/gm)).toEqual([
      'delivers to   http://127.0.0.1:1/part (only a.b, c.d)',
      'delivers to   http://127.0.0.1:1/paused (paused)',
      'delivers to   http://localhost:1/all',
    ]);
  });

  test('gives the same ids with the same --seed', async () => {
    const ids = async () => {
      const program = await start(['--seed', 'x', '--forward', 'http://127.0.0.1:1/']);
      return (await ask(program, 'webhooks', 'list')).stdout;
    };
    expect(await ids()).toBe(await ids());
  });

  test('sends debug headers when told to, and none otherwise', async () => {
    const app = await endpoint(200);
    const program = await start(['--debug-headers', '--forward', app.url]);
    await ask(program, 'trigger', 'transaction.paid', '--wait');
    const plain = await start(['--forward', app.url]);
    await ask(plain, 'trigger', 'transaction.paid', '--wait');
    expect(app.received.map(({ headers }) => headers['x-sim-attempt'])).toEqual(['1', undefined]);
  });

  testOnLinux('opens the page with --open, with whatever the machine opens pages with', async () => {
    const opened = join(folder, 'opened');
    const opener = file(
      'xdg-open',
      `#!/bin/sh\nprintf %s "$1" > '${opened}.part'\nmv '${opened}.part' '${opened}'\n`,
    );
    chmodSync(opener, 0o755);
    const program = await start(['--open'], { PATH: `${folder}:${process.env.PATH}` });
    const content = () => spawnSync('cat', [opened]).stdout.toString();
    await until(() => content() !== '');
    expect(content()).toBe(`${program.baseUrl}/`);
    rmSync(opener);
  });

  testOnUnix('says where the page is when no browser can be opened', async () => {
    const program = await start(['--open'], { PATH: '/nonexistent' });
    await until(() => program.stderr().includes('\n'));
    expect(program.stderr()).toBe(`The browser did not open. Go to ${program.baseUrl}/\n`);
  });

  test.each<[string, string[], Record<string, string>, string]>([
    ['an invalid port', ['--port', '70000'], {}, '--port "70000" is not a whole number from 0 to 65535'],
    ['an invalid schedule', ['--retry', 'fsat'], {}, '--retry "fsat" is not a schedule'],
    ['an invalid URL', ['--forward', 'a b'], {}, '--forward "a b" is not the URL'],
    ['a public host', ['--forward', 'http://93.184.216.34/hooks'], {}, '--allow-target'],
    [
      'a metadata address',
      ['--forward', 'http://169.254.169.254/', '--allow-target', '169.254.169.254'],
      {},
      '',
    ],
    ['production', [], { NODE_ENV: 'production' }, '--allow-production'],
    ['an unknown option', ['--froward', '3000'], {}, 'Did you mean "--forward"?'],
  ])('refuses %s with exit code 2, and why', async (_, args, env, message) => {
    const { code, stdout, stderr } = await built.run(['simulate', '--port', '0', ...args], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('refuses a real key and says nothing of it', async () => {
    const key = file('real-key', 'pri_c4nary\n');
    const { code, stderr } = await built.run(['simulate', '--port', '0', '--key-file', key]);
    expect(code).toBe(2);
    expect(stderr).toContain('does not begin with "pri_sim_"');
    expect(stderr).toContain('Give a key made for the simulator');
    expect(stderr).not.toContain('c4nary');
  });

  test('starts in production when allowed to', async () => {
    const program = await start(['--allow-production'], { NODE_ENV: 'production' });
    expect((await call(`${program.baseUrl}/_sim/readyz`)).status).toBe(200);
  });

  test('says who has its port', async () => {
    const { baseUrl, child } = await start();
    const second = () => built.run(['simulate', '--port', new URL(baseUrl).port]);
    let { code, stderr } = await second();
    // On a busy machine the first one may not tell within the second for which it is asked.
    for (let tries = 1; tries < 5 && stderr.includes('another program'); tries += 1)
      ({ code, stderr } = await second());
    expect(code).toBe(2);
    expect(stderr).toContain(`another simulator (process ${child.pid}`);
  });
});

/** That of util-linux: the one of macOS takes other options. */
const hasScript = spawnSync('script', ['--version']).status === 0;
const describeInTerminal = hasScript ? describe : describe.skip;

describeInTerminal('simulate in a terminal', () => {
  const inTerminal = (words: readonly string[]) => [
    ...['script', '--quiet', '--flush', '--return', '--command'],
    ...[words.map((word) => `'${word}'`).join(' '), '/dev/null'],
  ];

  test('listens to single keys: trigger, resend, stop and start the demo endpoint, quit', async () => {
    // Ports that nobody takes while the endpoint is stopped, and retries for as long as it is.
    const args = ['--port', String(await freePort()), '--demo', '--retry', Array(60).fill('400ms').join()];
    const program = await startSimulate(built.cli, args, { env: { TERM: 'xterm' }, through: inTerminal });
    const seen = () => program.stdout();
    const type = (key: string) => program.child.stdin.write(key);
    await until(() => seen().includes('q  quit'));
    expect(seen()).toContain('s  stop or start the demo endpoint');
    expect(seen()).not.toContain('sim_token_none');
    type('c');
    await until(() => seen().includes('token  sim_token_none       403 everywhere'));
    type('t');
    await until(() => /delivered.*attempt 1/.test(seen()));
    expect(seen()).toContain('\u001b[32mdelivered');
    type('r');
    await until(() => /delivered.*attempt 2/.test(seen()));
    type('s');
    await until(() => seen().includes('The demo endpoint is stopped'));
    type('t');
    await until(() =>
      /retrying.*ECONNREFUSED.*next retry at.*\r\n.*Nothing listens at this address\./.test(seen()),
    );
    type('s');
    await until(() => seen().includes('The demo endpoint is running again.'));
    await until(() => [.../delivered/g[Symbol.matchAll](seen())].length >= 3);

    // As an app: it has the key with which it was started.
    const [address = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(seen()) ?? [];
    await runCli(['keys', 'rotate', '--url', address]);
    await until(() => seen().includes('the private key was rotated'));
    type('t');
    await until(() => /401.*\r\n.*it may still have the old one/.test(seen()));
    type('s');
    await until(() => [.../is stopped/g[Symbol.matchAll](seen())].length >= 2);
    type('s');
    await until(() => [.../delivered/g[Symbol.matchAll](seen())].length >= 4);
    type('q');
    expect((await program.ended).code).toBe(0);
  });

  test('with the key d the demo endpoint handles undeclared events, so that those it kept can be replayed', async () => {
    const program = await startSimulate(built.cli, ['--demo'], {
      env: { TERM: 'xterm' },
      through: inTerminal,
    });
    const seen = () => program.stdout();
    await until(() => seen().includes('q  quit'));
    const [, page = ''] = /dead letters +(http\S+)/.exec(seen()) ?? [];
    const replay = async () => {
      const answer = await fetch(`${page}replay`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{}',
      });
      return JSON.parse((await answer.text()).trim().split('\n').at(-1) ?? '').report;
    };
    await ask(program, 'trigger', 'refund.succeeded', '--force', '--wait');
    expect(await replay()).toMatchObject({ processed: 0, stillUnknown: 1 });
    program.child.stdin.write('dd');
    await until(() => seen().includes(`Replay those that it kept: ${page}`));
    expect(await replay()).toMatchObject({ processed: 1, stillUnknown: 0 });
    expect(await replay()).toMatchObject({ processed: 0, stillUnknown: 0 });
    program.child.stdin.write('q');
    expect((await program.ended).code).toBe(0);
  });

  test('ends on Ctrl-C, which is no signal there', async () => {
    const program = await startSimulate(built.cli, [], { env: { TERM: 'xterm' }, through: inTerminal });
    await until(() => program.stdout().includes('q  quit'));
    program.child.stdin.write('\u0003');
    expect((await program.ended).code).toBe(0);
  });
});
