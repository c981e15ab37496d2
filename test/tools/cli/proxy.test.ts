// Behind a proxy that alone reaches other hosts: each command that calls another machine says how Node uses it.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { afterwards, listening, temporaryFolder } from '../simulator/world.js';
import { BuiltProgram } from './built.js';
import { runCli } from './run-cli.js';

const SERVICE_API_URL = 'https://service.invalid';
const SERVICE_PRIVATE_KEY = 'pri_of_no_service';

function tokenFile(): string {
  const file = join(temporaryFolder(), 'token.txt');
  writeFileSync(file, 'good');
  return file;
}

const COMMANDS: readonly (readonly [name: string, args: () => string[]])[] = [
  ['account', () => ['account', '--live']],
  ['webhooks list', () => ['webhooks', 'list', '--live']],
  ['account of a simulator elsewhere', () => ['account', '--url', 'https://simulator.invalid']],
  ['trigger', () => ['trigger', 'transaction.paid', '--url', 'http://simulator.invalid:4747']],
  [
    'dead-letters list',
    () => ['dead-letters', 'list', '--page', 'https://shop.invalid/ops', '--token-file', tokenFile()],
  ],
  ['doctor', () => ['doctor', 'https://shop.invalid/hooks', '--yes']],
];

describe.each(COMMANDS)('%s, where the host name was not found,', (_, args) => {
  const run = (env: Record<string, string>, more: string[] = []) =>
    runCli([...args(), ...more], { env: { SERVICE_API_URL, SERVICE_PRIVATE_KEY, ...env } });

  test.each(['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'])(
    'says what makes Node use %s',
    async (name) => {
      const { code, stderr } = await run({ [name]: 'http://proxy.invalid:3128' });
      expect([code, stderr]).toEqual([3, expect.stringMatching(/ENOTFOUND|EAI_AGAIN/)]);
      expect(stderr).toContain(
        ` Node ignores ${name}: set NODE_USE_ENV_PROXY=1, with Node 24 or later (this is ${process.version}).\n`,
      );
      expect(stderr).not.toContain('proxy.invalid');
    },
  );

  test('says so in JSON too, and nothing of proxies without one', async () => {
    const printed = await run({ HTTPS_PROXY: 'http://proxy.invalid:3128' }, ['--json']);
    expect(printed.stderr).toMatch(/^\{"error":.*NODE_USE_ENV_PROXY=1/);
    expect((await run({})).stderr).not.toContain('PROXY');
  });
});

test('a connection that is refused is not explained with a proxy', async () => {
  const env = {
    SERVICE_API_URL: 'http://127.0.0.1:9',
    SERVICE_PRIVATE_KEY,
    HTTPS_PROXY: 'http://proxy.invalid',
  };
  expect((await runCli(['account', '--live'], { env })).stderr).not.toContain('PROXY');
});

const usesProxies = Number.parseInt(process.versions.node, 10) >= 24;

(usesProxies ? test : test.skip)('with NODE_USE_ENV_PROXY=1 each of them asks the proxy', async () => {
  const asked: string[] = [];
  const proxy = createServer();
  proxy.on('connect', ({ url = '' }, socket) => {
    asked.push(url);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  const port = await listening(proxy);
  const program = new BuiltProgram();
  afterwards(async () => program.remove());
  const variables = { SERVICE_API_URL, SERVICE_PRIVATE_KEY, NODE_USE_ENV_PROXY: '1' };
  const env = {
    ...variables,
    HTTPS_PROXY: `http://127.0.0.1:${port}`,
    HTTP_PROXY: `http://127.0.0.1:${port}`,
  };
  for (const [name, args] of COMMANDS) {
    asked.length = 0;
    const { stderr } = await program.run(args(), env);
    expect([name, asked.length > 0]).toEqual([name, true]);
    expect(asked[0]).toMatch(/\.invalid:\d+$/);
    expect(stderr).not.toContain('NODE_USE_ENV_PROXY');
  }
});
