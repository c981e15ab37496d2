// A project of a user, outside the repository: the packed package, and what its user installs beside it.
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { node, type Outcome, ROOT, shell } from '../setup/shell.js';

export interface Consumer {
  readonly folder: string;
  write(file: string, text: string): void;
  /** Runs a program of Node in the folder. */
  node(args: readonly string[]): Promise<Outcome>;
  /** Runs a command in the folder. */
  shell(script: string): Promise<Outcome>;
}

/** Outlives the run, so that the next one installs only what has changed. */
const CACHE = join(tmpdir(), 'payment-webhooks-consumers');
/** Names what is installed. */
const STAMP = '.installed';
const KEPT = ['node_modules', 'package.json', 'package-lock.json', STAMP];

const { exports: doors, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Every door, as it is imported. */
export const DOORS: readonly string[] = Object.keys(doors)
  .filter((door) => door !== './package.json')
  .map((door) => door.replace('.', 'payment-webhooks'));

/** What makes an installation take as little time as it can. */
export const QUICKLY = '--prefer-offline --no-audit --no-fund --ignore-scripts --loglevel=error';

/** Lets npx run what is installed, and fetch nothing. */
export const INSTALLED_ONLY = { npm_config_yes: 'false' };

/**
 * @param name of its folder in the cache
 * @param packages what is installed beside the package, each as npm takes it: `jest`, `jest@29`
 */
export async function consumer(name: string, packages: readonly string[]): Promise<Consumer> {
  const folder = join(CACHE, name);
  mkdirSync(folder, { recursive: true });
  for (const entry of readdirSync(folder)) {
    if (!KEPT.includes(entry)) rmSync(join(folder, entry), { recursive: true });
  }
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
  const installing = [packedInto(folder), ...packages].join(' ');
  const stamp = join(folder, STAMP);
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== installing) {
    rmSync(stamp, { force: true });
    write('package.json', '{ "private": true }');
    const { code, stderr } = await shell(`npm install ${QUICKLY} ${installing}`, { cwd: folder });
    if (code !== 0) throw new Error(`npm install failed in ${folder}:\n${stderr}`);
    write(STAMP, installing);
  }
  return {
    folder,
    write,
    node: (args) => node(args, { cwd: folder }),
    shell: (script) => shell(script, { cwd: folder, env: INSTALLED_ONLY }),
  };
}

/** Copies the tarball under a name that says what is in it: npm takes a file that it knows for one that it has. */
export function packedInto(folder: string): string {
  const packed = join(ROOT, '.scratch', `payment-webhooks-${version}.tgz`);
  if (!existsSync(packed))
    throw new Error('Nothing is packed. Run npm run test:consumers, which packs first.');
  const hash = createHash('sha256').update(readFileSync(packed)).digest('hex').slice(0, 12);
  const named = `./payment-webhooks-${hash}.tgz`;
  copyFileSync(packed, join(folder, named));
  return named;
}
