// Where its port is taken, each example ends, and names the port.
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Compiled, compile } from '../setup/compiled.js';
import { codeBlocks } from '../setup/markdown.js';
import { needing } from '../setup/platform.js';
import { freePort } from '../setup/ports.js';
import { ROOT, shell } from '../setup/shell.js';

const appOf = (example: string) => `examples/${example}/app.ts`;
/**
 * Some are built first, or started by a program of their framework, and a function does not listen. Two need a broker before
 * they listen, which their own tests start.
 */
const ELSEWHERE = ['queue-nats', 'queue-rabbitmq', 'serverless-http'];
const EXAMPLES = readdirSync(join(ROOT, 'examples')).filter(
  (example) => existsSync(join(ROOT, appOf(example))) && !ELSEWHERE.includes(example),
);
const { TEST_REDIS_URL, TEST_POSTGRES_URL } = process.env;

/** The server that the example needs before it listens. */
function serversOf(example: string): string[] {
  const app = readFileSync(join(ROOT, appOf(example)), 'utf8');
  if (app.includes("from 'pg'")) return ['postgres'];
  if (app.includes("from 'better-sqlite3'")) return ['better-sqlite3'];
  return /from '(?:redis|ioredis|bullmq)'/.test(app) ? ['redis-server'] : [];
}

let server: Server;
let taken: string;
let folder: string;
let compiled: Compiled;

beforeAll(async () => {
  server = createServer().listen(0);
  await once(server, 'listening');
  taken = String((server.address() as AddressInfo).port);
  mkdirSync(join(ROOT, '.scratch'), { recursive: true });
  folder = relative(ROOT, mkdtempSync(join(ROOT, '.scratch/port-')));
  const [app] = codeBlocks(join(ROOT, 'README.md')).filter(({ language }) => language === 'ts');
  expect(app?.text).toContain('app.listen(3000)');
  const readme = app?.text.replace('3000', taken).replace('shop.db', `${folder}/readme.db`);
  writeFileSync(join(ROOT, folder, 'readme.ts'), readme ?? '');
  compiled = compile([...EXAMPLES.map(appOf), `${folder}/readme.ts`]);
});

afterAll(() => {
  server.close();
  rmSync(join(ROOT, folder), { recursive: true, force: true });
  compiled.remove();
});

/** What became of the program; one that still runs after a minute ends with exit code 124. */
async function start(program: string, ports: Readonly<Record<string, string>>) {
  const env = {
    SERVICE_PRIVATE_KEY: 'pri_example',
    LETTER_KEYS: Buffer.alloc(32, 1).toString('base64'),
    OPS_TOKENS: 'ada:example',
    REDIS_URL: TEST_REDIS_URL,
    DATABASE_URL: TEST_POSTGRES_URL,
    DATABASE_FILE: `${folder}/shop.db`,
    ...ports,
  };
  const command = `timeout --kill-after=5 60 "${process.execPath}" ${compiled.of(program)}`;
  for (let tries = 1; ; tries += 1) {
    const outcome = await shell(command, { env });
    // An example waits for a connection to Postgres for a second only, which a busy machine may exceed.
    if (tries === 5 || !outcome.stderr.includes('connection timeout')) return outcome;
  }
}

const refused = () => ({
  code: 1,
  stdout: expect.not.stringContaining('http://'),
  stderr: expect.stringMatching(new RegExp(`EADDRINUSE.*\\b${taken}\\b`)),
});

describe('where its port is taken, it ends and names the port:', () => {
  for (const example of EXAMPLES) {
    needing(...serversOf(example)).test(
      `the example ${example}`,
      async () => {
        expect(await start(appOf(example), { PORT: taken })).toEqual(refused());
      },
      90_000,
    );
  }

  test('the example observability, of its metrics', async () => {
    const ports = { PORT: String(await freePort()), METRICS_PORT: taken };
    expect(await start(appOf('observability'), ports)).toMatchObject({
      code: 1,
      stderr: refused().stderr,
    });
  }, 90_000);

  needing('better-sqlite3').test(
    'the app of README.md',
    async () => {
      expect(await start(`${folder}/readme.ts`, {})).toEqual(refused());
    },
    90_000,
  );
});
