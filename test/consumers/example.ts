// An example in an empty folder, by its README alone: installed and run with the commands that stand there.
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { listFiles } from '../setup/list-files.js';
import { freePort } from '../setup/ports.js';
import { isMissing } from '../setup/programs.js';
import { type Command, commandsOf, installs, startExample } from '../setup/readme.js';
import { ROOT, type Running, shell } from '../setup/shell.js';
import { INSTALLED_ONLY, packedInto, QUICKLY } from './consumer.js';
import { runsHere } from './node-version.js';

const { TEST_REDIS_URL: redis, TEST_POSTGRES_URL: postgres } = process.env;

/** Commands that do not end by themselves, and what they print when they are ready. */
const STAYS: readonly (readonly [command: RegExp, ready: string])[] = [
  [/npx tsx (?:--env-file=\.env )?app\.ts/, 'http://localhost:'],
  [/npx tsx worker\.ts/, 'Working on the events'],
  [/npx payment-webhooks simulate/, 'More keys and tokens'],
  [/node dist\/main\.js/, 'http://localhost:'],
  [/npx next start/, 'Ready in'],
  [/npx wrangler dev/, 'Ready on http://'],
];

/** What stands in the README of an example. */
export interface Readme {
  readonly source: string;
  readonly commands: readonly Command[];
  readonly missing: string | undefined;
}

export function readmeOf(example: string): Readme {
  const source = join(ROOT, 'examples', example);
  const commands = commandsOf(join(source, 'README.md'));
  return { source, commands, missing: missingHere(installedBy(commands)) };
}

/** An example that was copied, installed and run. */
export interface Followed {
  readonly folder: string;
  /** Where its app listens. */
  readonly port: number;
  /** What it has started, in the order of the README. */
  readonly running: readonly Running[];
  end(): Promise<void>;
}

interface FollowOptions {
  /** Changes the copy before anything is installed. */
  readonly prepare?: (folder: string) => void;
  /** Installs what the commands say in the folder. By default npm does. */
  readonly install?: (commands: readonly Command[], folder: string) => Promise<void>;
}

export async function followExample(
  example: string,
  { prepare = () => {}, install = installByNpm }: FollowOptions = {},
): Promise<Followed> {
  const { source, commands } = readmeOf(example);
  const named = [...installedBy(commands), ...installedForMore(join(source, 'README.md'))];
  expect(named).toEqual(expect.arrayContaining(importedIn(source)));
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `${example}-`)));
  const running: Running[] = [];
  const end = async () => {
    await Promise.all(running.map((one) => one.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    cpSync(source, folder, { recursive: true });
    prepare(folder);
    await install(commands, folder);
    return { folder, running, port: await follow(commands, folder, running), end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** The packages that the README says to install. */
export function installedBy(commands: readonly Command[]): string[] {
  const lines = commands.filter(installs).flatMap(({ script }) => script.trim().split('\n'));
  return lines.flatMap((line) => line.replace(/^npm install( --save-dev)? /, '').split(' '));
}

/** The packages that it says to install for more than it runs: `npm install knex pg` in the midst of text. */
function installedForMore(readme: string): string[] {
  const mentions = readFileSync(readme, 'utf8').matchAll(/`npm install ([^`]+)`/g);
  return [...mentions].flatMap(([, packages = '']) => packages.split(' '));
}

/** The packages that the files of the example import. */
function importedIn(folder: string): string[] {
  const files = listFiles(folder).filter((file) => file.endsWith('.ts'));
  const specifiers = files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/(?:from|import) '([^.'][^']*)'/g)].map(
      ([, specifier = '']) => specifier,
    ),
  );
  const packages = specifiers.filter((specifier) => !specifier.startsWith('node:'));
  return [...new Set(packages.map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier))];
}

/** What the example needs and this run does not have. */
function missingHere(packages: readonly string[]): string | undefined {
  if (packages.includes('pg-boss') && !runsHere('22.12')) return 'Node 22.12, for pg-boss 12';
  if (packages.includes('pg') && !postgres) return 'Postgres';
  if (packages.includes('better-sqlite3') && isMissing('better-sqlite3')) return 'better-sqlite3';
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
    NEXT_TELEMETRY_DISABLED: '1',
    WRANGLER_SEND_METRICS: 'false',
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

async function installByNpm(commands: readonly Command[], cwd: string): Promise<void> {
  for (const { script } of commands.filter(installs)) {
    const packed = script
      .replace('npm install payment-webhooks ', `npm install ${packedInto(cwd)} `)
      .replaceAll('npm install ', `npm install ${QUICKLY} `);
    const { code, stderr } = await shell(packed, { cwd });
    if (code !== 0) throw new Error(`${script}failed:\n${stderr}`);
  }
}

/**
 * Types the commands one after the other, as if in one terminal: what one exports, the next ones see.
 *
 * @returns the port of the app
 */
async function follow(commands: readonly Command[], cwd: string, running: Running[]): Promise<number> {
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
  return Number(env.PORT);
}
