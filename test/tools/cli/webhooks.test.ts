import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  INACTIVE_KEY,
  json,
  PRIVATE_KEY,
  SIMULATOR_KEY,
  type SpecServer,
  startSpecServer,
} from '../../client/spec-server.js';
import { testOnUnix } from '../../setup/platform.js';
import { refusingPort } from '../../setup/ports.js';
import { fileWith } from './files.js';
import { failed, jsonLines, runCli, type Setting } from './run-cli.js';

let server: SpecServer;
/** An address where nothing listens. */
let nowhere: string;
beforeAll(async () => {
  nowhere = `http://127.0.0.1:${await refusingPort()}`;
  server = await startSpecServer();
});
beforeEach(() => server.reset());
afterAll(() => server.close());

const keyFile = (key: string) => fileWith(`${key}\n`);
const url = 'https://shop.example/hooks';
const basic = (key: string) => `Basic ${Buffer.from(`${key}:`).toString('base64')}`;
const sentKeys = () => [...new Set(server.requests.map(({ headers }) => headers.authorization))];
const simulator = (): Setting => ({ env: { SERVICE_SIM_URL: server.baseUrl } });
const live = (): Setting => ({
  env: { SERVICE_API_URL: server.baseUrl, SERVICE_PRIVATE_KEY: PRIVATE_KEY, SERVICE_SIM_URL: nowhere },
});

describe('the webhooks of a simulator', () => {
  test('are created, listed, updated, ensured and deleted', async () => {
    server.makeId = () => 'w1';
    const run = async (...args: string[]) => {
      const { stdout, ...end } = await runCli(['webhooks', ...args], simulator());
      expect(end).toEqual({ code: 0, stderr: '' });
      return stdout;
    };
    expect(await run('list')).toBe('There are no webhooks.\n');
    const created = 'w1  https://shop.example/hooks  transaction.paid,refund.succeeded\n';
    const events = ['--events', 'transaction.paid, refund.succeeded'];
    expect(await run('create', url, ...events)).toBe(`created  ${created}`);
    expect(await run('list')).toBe(`ID  URL                         EVENTS\n${created}`);
    const moved = 'https://shop.example/x';
    expect(await run('update', 'w1', '--url', moved, '--events', '*')).toBe(`updated  w1  ${moved}  *\n`);
    expect(await run('ensure', moved)).toContain('unchanged  w1');
    expect(await run('ensure', moved, '--events', 'a.b')).toContain('updated  w1');
    expect(await run('delete', 'w1')).toBe('deleted  w1\n');
    expect(server.webhooks.size).toBe(0);
    expect(sentKeys()).toEqual([basic(SIMULATOR_KEY)]);
  });

  test('are one JSON object a line with --json', async () => {
    const run = (...args: string[]) => runCli(['webhooks', ...args, '--json'], simulator());
    expect((await run('list')).stdout).toBe('');
    const created = JSON.parse((await run('create', url)).stdout);
    expect(created).toEqual({ id: expect.any(String), url, events: ['*'], created_at: 'now' });
    await run('create', 'https://other.example');
    const listed = jsonLines(await run('list'));
    expect(listed.map((webhook) => webhook.url)).toEqual([url, 'https://other.example']);
    expect(JSON.parse((await run('ensure', url)).stdout)).toEqual({ action: 'unchanged', webhook: created });
    expect(JSON.parse((await run('delete', created.id)).stdout)).toEqual({ deleted: created.id });
  });

  test('--url comes before SERVICE_SIM_URL', async () => {
    const setting = { env: { SERVICE_SIM_URL: nowhere } };
    expect((await runCli(['webhooks', 'list', '--url', server.baseUrl], setting)).code).toBe(0);
    expect((await runCli(['webhooks', 'list'], setting)).code).toBe(3);
  });

  test('a live key in the environment is never sent to it', async () => {
    const env = { SERVICE_SIM_URL: server.baseUrl, SERVICE_PRIVATE_KEY: PRIVATE_KEY };
    expect((await runCli(['account'], { env })).code).toBe(0);
    expect(sentKeys()).toEqual([basic(SIMULATOR_KEY)]);
  });

  test('a key of a simulator in the environment, or of a key file, is', async () => {
    const key = 'pri_sim_other';
    await runCli(['account'], { env: { SERVICE_SIM_URL: server.baseUrl, SERVICE_PRIVATE_KEY: key } });
    await runCli(['account', '--key-file', keyFile('pri_sim_file')], simulator());
    expect(sentKeys()).toEqual([basic(key), basic('pri_sim_file')]);
  });

  test('a live key of a key file is not sent to it either', async () => {
    for (const url of [[], ['--url', server.baseUrl]]) {
      const run = await runCli(['account', '--key-file', keyFile('pri_c4nary'), ...url], simulator());
      expect(run).toEqual(failed(2, /^The key in --key-file is not a simulator key.*--live/));
      expect(run.stderr).not.toContain('c4nary');
    }
    expect(server.requests).toEqual([]);
  });

  test('a sandbox key of a simulator goes to the sandbox endpoints', async () => {
    const env = { SERVICE_SIM_URL: server.baseUrl, SERVICE_PRIVATE_KEY: 'pri_sandbox_sim_dev' };
    await runCli(['account'], { env });
    expect(server.requests.map(({ path }) => path)).toEqual(['/sandbox/api/v2/account/me']);
  });

  // Of another machine, for the client: Windows cannot connect to 0.0.0.0.
  testOnUnix('are reached at a container, which speaks plain HTTP', async () => {
    const { port } = new URL(server.baseUrl);
    const run = await runCli(['webhooks', 'list', '--url', `http://0.0.0.0:${port}`]);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(sentKeys()).toEqual([basic(SIMULATOR_KEY)]);
  });

  test('escapes control characters that the service sends', async () => {
    server.webhooks.set('w1', { id: 'w\u001b[2J1', url: 'https://x.example/\r\u202e', events: ['a\nb'] });
    const { stdout } = await runCli(['webhooks', 'list'], { ...simulator(), tty: true });
    expect(stdout).toContain('w\\u001b[2J1');
    expect(stdout).toContain('\\u000d\\u202e');
    for (const control of ['\u001b', '\r', '\u202e']) expect(stdout).not.toContain(control);
  });
});

describe('the webhooks of the service itself', () => {
  test('need --live, the address and the key', async () => {
    const list = (env: Record<string, string>, ...args: string[]) =>
      runCli(['webhooks', 'list', '--live', ...args], { env });
    const [key, address] = [{ SERVICE_PRIVATE_KEY: PRIVATE_KEY }, { SERVICE_API_URL: server.baseUrl }];
    expect((await list({ ...key, ...address })).code).toBe(0);
    expect(sentKeys()).toEqual([basic(PRIVATE_KEY)]);
    expect(await list(key)).toEqual(failed(2, 'SERVICE_API_URL'));
    expect(await list(address)).toEqual(failed(2, 'SERVICE_PRIVATE_KEY'));
    expect((await list({ ...key, ...address }, '--url', server.baseUrl)).code).toBe(2);
  });

  test('take the key of a key file', async () => {
    const args = ['account', '--live', '--key-file', keyFile(PRIVATE_KEY)];
    const run = await runCli(args, { env: { SERVICE_API_URL: server.baseUrl } });
    expect(run).toMatchObject({ code: 0, stdout: 'id      acc_1\nactive  true\n' });
  });

  describe('are deleted', () => {
    const remove = (setting: Setting, ...args: string[]) =>
      runCli(['webhooks', 'delete', 'w1', '--live', ...args], { ...live(), ...setting });
    beforeEach(() => {
      server.webhooks.set('w1', { id: 'w1', url, events: ['*'] });
    });

    test.each(['y', 'yes', 'Y'])('after the answer %s', async (answer) => {
      const { code, stderr } = await remove({ tty: true, stdin: `${answer}\n` });
      expect(code).toBe(0);
      expect(stderr).toContain('Delete webhook w1 from the live account?');
      expect(server.webhooks.size).toBe(0);
    });

    test.each(['n\n', '\n', 'yesterday\n', ''])('not after the answer %j', async (stdin) => {
      expect((await remove({ tty: true, stdin })).code).toBe(2);
      expect(server.webhooks.size).toBe(1);
      expect(server.requests).toHaveLength(0);
    });

    test('not without a terminal, unless --yes is given', async () => {
      expect(await remove({ stdin: 'y\n' })).toEqual(failed(2, '--yes'));
      expect(server.webhooks.size).toBe(1);
      expect((await remove({}, '--yes')).code).toBe(0);
      expect(server.webhooks.size).toBe(0);
    });
  });
});

describe('failures', () => {
  test.each<[string, string[], Record<string, string>, number, string]>([
    ['a refused credential', ['account'], { SERVICE_PRIVATE_KEY: 'pri_c4nary' }, 1, 'answered 401'],
    ['an inactive account', ['account'], { SERVICE_PRIVATE_KEY: INACTIVE_KEY }, 1, 'answered 403'],
    ['an unknown id', ['webhooks', 'delete', 'x', '--yes'], {}, 1, 'answered 404'],
    ['an address that is refused', ['webhooks', 'create', 'https://refused.example'], {}, 1, 'not public'],
    ['an id that leads elsewhere', ['webhooks', 'delete', '..', '--yes'], {}, 2, 'id is missing or invalid'],
    ['nothing to update', ['webhooks', 'update', 'w1'], {}, 2, 'Pass --url, --events, or both.'],
  ])('%s: exit code and reason, for people and for programs', async (_, args, env, code, message) => {
    const setting = { env: { ...live().env, ...env } };
    const people = await runCli([...args, '--live'], setting);
    expect(people).toEqual(failed(code, message));
    const program = await runCli([...args, '--live', '--json'], setting);
    expect(program).toMatchObject({ code, stdout: '' });
    const error = { code: expect.stringMatching(/^[A-Z_]+$/), message: expect.stringContaining(message) };
    expect(JSON.parse(program.stderr)).toMatchObject({ error });
    expect(people.stderr + program.stderr).not.toContain('c4nary');
    expect(people.stderr + program.stderr).not.toMatch(/baseUrl|apiPath/);
  });

  test('names the variable or the option to check', async () => {
    const lost = await runCli(['webhooks', 'delete', 'x', '--yes', '--live'], live());
    expect(lost.stderr).toContain('Check the id, and that SERVICE_API_URL leads to API v2.');
    server.once((_, response) => response.writeHead(302, { location: 'https://x.example/' }).end());
    const moved = await runCli(['account', '--url', server.baseUrl], {});
    expect(moved.stderr).toContain(
      'The client does not follow redirects, so that it cannot send the credential elsewhere. Set --url to the final address.',
    );
  });

  test('says where the key of a simulator stands', async () => {
    const setting = { env: { SERVICE_SIM_URL: server.baseUrl, SERVICE_PRIVATE_KEY: 'pri_sim_c4nary' } };
    server.once((_, response) => json(response, 401, { message: 'Unauthenticated.' }));
    expect(await runCli(['account'], setting)).toEqual(
      failed(
        1,
        `The simulator at ${server.baseUrl} has another key. Set SERVICE_PRIVATE_KEY to the one that \`simulate\` or \`keys rotate\` printed.\n`,
      ),
    );
  });

  // Without --live: trigger.test.ts.
  test('exit code 3 when nothing listens', async () => {
    const env = { ...live().env, SERVICE_API_URL: nowhere };
    expect((await runCli(['account', '--live'], { env })).code).toBe(3);
  });

  test('has the status with --json', async () => {
    server.once((_, response) => json(response, 409, { message: 'Conflict.' }));
    const { stderr } = await runCli(['account', '--json'], simulator());
    const error = { code: 'REQUEST_REFUSED', status: 409, message: expect.stringContaining('Conflict.') };
    expect(JSON.parse(stderr)).toEqual({ error });
  });
});
