// `simulate`, and the other commands against it. As a process: bin.test.ts.
import { spawnSync } from 'node:child_process';
import { get } from 'node:http';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { testOnUnix } from '../../setup/platform.js';
import { freePort } from '../../setup/ports.js';
import { until } from '../../setup/waiting.js';
import { call, endpoint, expectSigned } from '../simulator/world.js';
import { simulate } from './against.js';
import { fileWith, folder } from './files.js';
import { failed, jsonLines, runCli } from './run-cli.js';

/** As a request arrives from another machine, or as a web page asks whose name resolves to this one. */
function statusByHost(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { host } }, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });
}

test('begins with what to paste into the app and how to trigger an event, and ends with 0 when asked to', async () => {
  const program = await simulate(['--forward', '3999/hooks']);
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
  expect(await program.stop()).toMatchObject({ code: 0, stderr: '' });
});

test('names every key and token with --credentials', async () => {
  const program = await simulate(['--credentials']);
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

test('prints a trigger command that works as it stands, without --url where it is not needed', async () => {
  const port = String(await freePort());
  const program = await simulate(['--port', port]);
  const [command = ''] = /npx payment-webhooks (trigger .*)$/m.exec(program.stdout())?.slice(1) ?? [];
  const app = await endpoint(200);
  await call(`${program.baseUrl}/_sim/webhooks`, { method: 'POST', body: { url: app.url } });
  expect((await runCli(command.split(' '))).code).toBe(0);
  await until(() => app.received.length === 1);
  await program.stop();
  const usual = await simulate(['--port', port], { SERVICE_SIM_URL: program.baseUrl });
  expect(usual.stdout()).toMatch(/^ {2}npx payment-webhooks trigger transaction\.paid$/m);
});

testOnUnix('quotes a key that a shell would expand', async () => {
  const program = await simulate(['--key-file', fileWith("pri_sim_$HOME'`id`\n")]);
  const [assignment = ''] = /SERVICE_PRIVATE_KEY=.*/.exec(program.stdout()) ?? [];
  const { stdout } = spawnSync('sh', ['-c', `${assignment}; printf %s "$SERVICE_PRIVATE_KEY"`]);
  expect(stdout.toString()).toBe("pri_sim_$HOME'`id`");
});

test('answers to other machines by the hosts that it is given', async () => {
  const hosts = ['--allow-host', 'simulator', '--allow-host', 'fd00::7'];
  const program = await simulate(['--host', '0.0.0.0', ...hosts]);
  const { port } = new URL(program.baseUrl);
  expect(program.stdout()).toContain(
    `other machines  http://simulator:${port}\nother machines  http://[fd00::7]:${port}\n`,
  );
  expect(program.stderr()).toContain('can be reached from other machines');
  const statusFor = (host: string) => statusByHost(`${program.baseUrl}/_sim/readyz`, host);
  const statuses = await Promise.all(['simulator:1', '[fd00::7]', 'evil.example'].map(statusFor));
  expect(statuses).toEqual([200, 200, 403]);
});

test('forwards signed events to an app, and prints a line for each attempt with its diagnosis', async () => {
  const app = await endpoint(500, 200);
  const program = await simulate(['--forward', `${app.port}/hooks`, '--retry', '50ms']);
  const { code, stdout } = await program.ask('trigger', 'transaction.paid', '--wait');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^\w{8} {2}delivered {2}transaction\.paid {2}[\w-]{36} {2}http:\/\/localhost:\d+\/hooks {2}200 +\d+ +2$/m,
  );
  const [first] = app.received;
  expectSigned(first, 'pri_sim_dev');
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

test('prints one JSON object a line with --json', async () => {
  const app = await endpoint(200);
  const program = await simulate(['--json', '--forward', app.url]);
  await program.ask('trigger', 'transaction.paid', '--wait');
  expect(jsonLines(await program.stop())).toEqual([
    expect.objectContaining({
      ...{ type: 'ready', page: `${program.baseUrl}/`, base_url: program.baseUrl },
      ...{ private_key: 'pri_sim_dev', forwards: [app.url], demo: null, dead_letters: null },
    }),
    expect.objectContaining({
      ...{ type: 'attempt', attempt: 1, status: 'delivered', answer: 200 },
      ...{ reason: null, outcome: null, url: app.url },
    }),
  ]);
});

test('starts a demo endpoint that accepts what is delivered, and keeps undeclared events', async () => {
  const program = await simulate(['--demo']);
  const { ask, stdout } = program;
  const [, demo] = /^demo endpoint {2}(http:\/\/127\.0\.0\.1:\d+)\/hooks$/m.exec(stdout()) ?? [];
  const page = `${demo}/dead-letters/`;
  expect(stdout()).toContain(`dead letters   ${page}\n`);
  expect((await ask('trigger', 'transaction.paid', '--wait')).code).toBe(0);
  expect(stdout()).toMatch(/delivered {2}transaction\.paid .* \[200\] processed {2}\d+ ms {2}attempt 1$/m);
  expect((await ask('trigger', 'transaction.paid', '--fault', 'tamper_body')).code).toBe(0);
  expect(stdout()).toMatch(/retrying .* \[401\] .* fault tamper_body.*\n +Rejected, as expected/);
  await ask('trigger', 'refund.succeeded', '--force', '--wait');
  expect(stdout()).toMatch(/kept {7}refund\.succeeded .* \[200\] kept {2}\d+ ms {2}attempt 1$/m);
  const { letters } = await call(`${page}letters`).then(({ json }) => json);
  expect(letters).toMatchObject([{ reason: 'unknown', eventName: 'refund.succeeded' }]);
  expect((await call(page)).status).toBe(200);
  expect(await statusByHost(page, 'rebound.example')).toBe(403);
});

test('names the demo endpoint and its page with --json', async () => {
  const program = await simulate(['--demo', '--json']);
  const { demo, dead_letters: page } = JSON.parse(program.stdout());
  expect(page).toBe(demo.replace('/hooks', '/dead-letters/'));
});

test('takes the keys of a key file, and signs with them', async () => {
  const app = await endpoint(200);
  const keys = fileWith('pri_sim_mine\npri_sandbox_sim_mine\n');
  const program = await simulate(['--key-file', keys, '--forward', app.url, '--credentials']);
  expect(program.stdout()).toContain('  SERVICE_PRIVATE_KEY=pri_sim_mine\n');
  expect(program.stdout()).toContain('key    pri_sandbox_sim_mine ');
  await program.ask('trigger', 'transaction.paid', '--wait');
  expectSigned(app.received[0], 'pri_sim_mine');
});

test('takes a key of the environment only when it is made for a simulator, and never shows another', async () => {
  const own = await simulate([], { SERVICE_PRIVATE_KEY: 'pri_sim_env' });
  expect(own.stdout()).toContain('  SERVICE_PRIVATE_KEY=pri_sim_env\n');
  expect(own.stderr()).toBe('');
  const real = await simulate([], { SERVICE_PRIVATE_KEY: 'pri_c4nary' });
  expect(real.stdout()).toContain('  SERVICE_PRIVATE_KEY=pri_sim_dev\n');
  expect(real.stderr()).toContain('SERVICE_PRIVATE_KEY does not hold a simulator key');
  expect(real.stdout() + real.stderr()).not.toContain('c4nary');
});

test('names every webhook that it delivers to, and which of them gets only a part', async () => {
  const state = join(folder, 'webhooks.json');
  const none = await simulate(['--state', state]);
  expect(none.stdout()).toMatch(
    /^delivers to +no webhook yet: start with --forward 3000\/hooks, or register one/m,
  );
  await none.ask('webhooks', 'create', 'http://127.0.0.1:1/part', '--events', 'a.b,c.d');
  const paused = await none.ask('webhooks', 'create', 'http://127.0.0.1:1/paused', '--json');
  const { id } = JSON.parse(paused.stdout);
  await call(`${none.baseUrl}/_sim/webhooks/${id}`, { method: 'PUT', body: { paused: true } });
  await none.stop();
  const forwards = ['--forward', 'http://127.0.0.1:1/part', '--forward', '1/all'];
  const program = await simulate(['--state', state, ...forwards]);
  expect(program.stdout().match(/^delivers to .*$/gm)).toEqual([
    'delivers to   http://127.0.0.1:1/part (only a.b, c.d)',
    'delivers to   http://127.0.0.1:1/paused (paused)',
    'delivers to   http://localhost:1/all',
  ]);
});

test('gives the same ids with the same --seed', async () => {
  const ids = async () => {
    const program = await simulate(['--seed', 'x', '--forward', 'http://127.0.0.1:1/']);
    return (await program.ask('webhooks', 'list')).stdout;
  };
  expect(await ids()).toBe(await ids());
});

test('sends debug headers and another signature header when told to', async () => {
  const app = await endpoint(200);
  for (const flags of [['--debug-headers', '--signature-header', 'X-Pay-Signature'], []]) {
    const { ask } = await simulate([...flags, '--forward', app.url]);
    await ask('trigger', 'transaction.paid', '--wait');
  }
  expect(app.received.map(({ headers }) => headers['x-sim-attempt'])).toEqual(['1', undefined]);
  expectSigned(app.received[0], 'pri_sim_dev', 'x-pay-signature');
});

test('refuses a public host that is not allowed, with exit code 2', async () => {
  const run = await runCli(['simulate', '--port', '0', '--forward', 'http://93.184.216.34/hooks']);
  expect(run).toEqual(failed(2, 'start the simulator with --allow-target 93.184.216.34'));
});

test('starts in production when allowed to', async () => {
  const program = await simulate(['--allow-production'], { NODE_ENV: 'production' });
  expect((await call(`${program.baseUrl}/_sim/readyz`)).status).toBe(200);
});

test('says who has its port', async () => {
  const { baseUrl } = await simulate();
  const run = await runCli(['simulate', '--port', new URL(baseUrl).port]);
  expect(run).toEqual(failed(2, `another simulator (process ${process.pid}`));
});
