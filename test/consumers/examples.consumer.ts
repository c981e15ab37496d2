// Each example in an empty folder, by its README alone: installed and run with the commands that stand there.
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { freePort } from '../setup/ports.js';
import { type Command, commandsOf, installs, startExample } from '../setup/readme.js';
import { ROOT, type Running, shell } from '../setup/shell.js';
import { INSTALLED_ONLY, packedInto, QUICKLY } from './consumer.js';

const EXAMPLES = readdirSync(join(ROOT, 'examples'));
const { TEST_REDIS_URL: redis, TEST_POSTGRES_URL: postgres } = process.env;

/** Commands that do not end by themselves, and what they print when they are ready. */
const STAYS: readonly (readonly [command: RegExp, ready: string])[] = [
  [/npx tsx (?:--env-file=\.env )?app\.ts/, 'http://localhost:'],
  [/npx tsx worker\.ts/, 'Working on the events'],
  [/npx payment-webhooks simulate/, 'More keys and tokens'],
];

/** The packages that the README says to install. */
function installedBy(commands: readonly Command[]): string[] {
  const lines = commands.filter(installs).flatMap(({ script }) => script.trim().split('\n'));
  return lines.flatMap((line) => line.replace(/^npm install( --save-dev)? /, '').split(' '));
}

/** The packages that the files of the example import. */
function importedIn(folder: string): string[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));
  const specifiers = files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/(?:from|import) '([^.'][^']*)'/g)].map(
      ([, specifier = '']) => specifier,
    ),
  );
  const packages = specifiers.filter((specifier) => !specifier.startsWith('node:'));
  return [...new Set(packages.map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier))];
}

/** The server that the example needs and this run does not have. */
function missingServer(packages: readonly string[]): string | undefined {
  if (packages.includes('pg') && !postgres) return 'Postgres';
  if (packages.some((name) => ['redis', 'ioredis', 'bullmq'].includes(name)) && !redis) return 'Redis';
  return undefined;
}

/** The README has the usual ports; here each is a free one, so that nothing else on the machine is in the way. */
async function ownPorts() {
  const [app, metrics, simulator] = await Promise.all([freePort(), freePort(), freePort()]);
  const env = {
    PORT: String(app),
    METRICS_PORT: String(metrics),
    APP_URL: `http://127.0.0.1:${app}`,
    SERVICE_SIM_URL: `http://127.0.0.1:${simulator}`,
    REDIS_URL: redis,
    DATABASE_URL: postgres,
    ...INSTALLED_ONLY,
  };
  const typed = (script: string) =>
    script
      .replace('npx payment-webhooks simulate', `npx payment-webhooks simulate --port ${simulator}`)
      .replaceAll('redis-cli', `redis-cli -u ${redis}`)
      .replaceAll('3000', env.PORT)
      .replaceAll('9464', env.METRICS_PORT)
      .replaceAll('4747', String(simulator));
  return { env, typed };
}

let running: Running[] = [];
let folder: string | undefined;

afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()));
  running = [];
  if (folder) rmSync(folder, { recursive: true, force: true });
});

async function install(commands: readonly Command[], cwd: string): Promise<void> {
  for (const { script } of commands.filter(installs)) {
    const packed = script
      .replace('npm install payment-webhooks ', `npm install ${packedInto(cwd)} `)
      .replaceAll('npm install ', `npm install ${QUICKLY} `);
    const { code, stderr } = await shell(packed, { cwd });
    if (code !== 0) throw new Error(`${script}failed:\n${stderr}`);
  }
}

/** Types the commands one after the other, as if in one terminal: what one exports, the next ones see. */
async function follow(commands: readonly Command[], cwd: string): Promise<void> {
  const { env, typed } = await ownPorts();
  const remember = 'export -p > .exported';
  const started = new Map<string, Running>();
  await shell(remember, { cwd, env });
  for (const { script, shown } of commands.filter((command) => !installs(command))) {
    const ready = STAYS.find(([pattern]) => pattern.test(script))?.[1];
    if (ready) {
      // What is started again was stopped before, and its port is the same.
      await started.get(script)?.stop();
      const program = await startExample(ready, typed(script), { env, cwd });
      started.set(script, program);
      running.push(program);
      continue;
    }
    const { code, stdout, stderr } = await shell(`. ./.exported\n${typed(script)}\n${remember}`, { cwd });
    expect({ script, code, stdout, stderr }).toMatchObject({ code: 0 });
    if (shown !== undefined) expect(stdout.trim()).toBe(typed(shown));
  }
}

describe('by its README alone', () => {
  for (const example of EXAMPLES) {
    const source = join(ROOT, 'examples', example);
    const commands = commandsOf(join(source, 'README.md'));
    const packages = installedBy(commands);
    const missing = missingServer(packages);
    const run = missing ? test.skip : test;
    run(
      `the example ${example} runs${missing ? ` (needs ${missing})` : ''}`,
      async () => {
        expect(packages).toEqual(expect.arrayContaining(importedIn(source)));
        folder = realpathSync(mkdtempSync(join(tmpdir(), `${example}-`)));
        cpSync(source, folder, { recursive: true });
        await install(commands, folder);
        await follow(commands, folder);
      },
      240_000,
    );
  }
});
