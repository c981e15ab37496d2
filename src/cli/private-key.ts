// Reads the private keys of a command: from the environment, or from a file.
import { readFile } from 'node:fs/promises';
import { keyFault } from '../signature.js';
import { CommandError, type Terminal } from './command.js';

export const KEY_VARIABLE = 'SERVICE_PRIVATE_KEY';

/** Whether the key has a prefix of simulator keys. */
export function isSimulatorKey(key: string): boolean {
  return /^pri_(sandbox_)?sim_/.test(key);
}

/** Where the key came from, as the beginning of a sentence. */
export function keySource(file: string | undefined): string {
  return file === undefined ? KEY_VARIABLE : 'The key in --key-file';
}

export async function readKey(file: string | undefined, terminal: Terminal): Promise<string> {
  const [key = '', ...more] = await readKeys(file, terminal);
  if (more.length === 0) return key;
  throw new CommandError(`--key-file holds ${more.length + 1} keys. Keep only the one to use.`);
}

/** The keys of the file, one per line (during a rotation either may have signed), or else that of the environment. */
export async function readKeys(file: string | undefined, { env }: Terminal): Promise<string[]> {
  const key = env[KEY_VARIABLE];
  if (file === undefined && key === undefined) {
    throw new CommandError('The private key is missing. Set SERVICE_PRIVATE_KEY, or give --key-file.');
  }
  const source = file === undefined ? KEY_VARIABLE : 'A key in --key-file';
  const keys = file === undefined ? [key] : await linesOf(file);
  for (const candidate of keys) {
    const fault = keyFault(candidate);
    if (fault) throw new CommandError(`${source} ${fault}`);
  }
  return keys.filter((candidate) => candidate !== undefined);
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    // Without the path: it may be the key itself, typed in the wrong place.
    throw new CommandError(`--key-file cannot be read (${error.code}).`);
  });
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  while (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines;
}
