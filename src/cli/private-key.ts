// Where the command line gets its private keys from: the environment, or a file.
import { readFile } from 'node:fs/promises';
import { keyFault } from '../signature.js';
import { CommandError, type Terminal } from './command.js';

/** One key. */
export async function readKey(file: string | undefined, terminal: Terminal): Promise<string> {
  const [key = '', ...more] = await readKeys(file, terminal);
  if (more.length > 0) {
    throw new CommandError(`The key file holds ${more.length + 1} lines. Leave the key that should be used.`);
  }
  return key;
}

/** The keys of a file, one a line (any may have signed while a key is being rotated), else the one of the environment. */
export async function readKeys(file: string | undefined, { env }: Terminal): Promise<string[]> {
  const key = env.SERVICE_PRIVATE_KEY;
  if (file === undefined && key === undefined) {
    throw new CommandError(
      'There is no private key: set SERVICE_PRIVATE_KEY, or name a file with --key-file.',
    );
  }
  const source = file === undefined ? 'SERVICE_PRIVATE_KEY' : 'A key in the key file';
  const keys = file === undefined ? [key] : await linesOf(file);
  for (const candidate of keys) {
    const fault = keyFault(candidate);
    if (fault) throw new CommandError(`${source} ${fault}. Copy the private key from the dashboard.`);
  }
  return keys.filter((candidate) => candidate !== undefined);
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`The key file cannot be read (${error.code}).`);
  });
  const lines = text
    .replace(/^\ufeff/, '')
    .replace(/(\r?\n)+$/, '')
    .split(/\r?\n/);
  return lines;
}
