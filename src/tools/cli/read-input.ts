// Reads private keys, bodies, and the answer to a question.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { keyFault, keysIn } from '../../signature.js';
import { CommandError, type Terminal, text } from './command.js';
import { inUtf8 } from './encoding.js';
import { print, printable } from './print.js';

export const bodyOption = text(
  { '@FILE': '@event.json' },
  'The body: @FILE, or the text itself. Default: standard input.',
);

/** @throws {CommandError} for UTF-16, which is not what a sender signs or a program parses */
export async function readBody(flag: string, body: string | undefined, terminal: Terminal): Promise<Buffer> {
  const name = body === undefined || body === '@-' ? 'Standard input' : `${flag} ${JSON.stringify(body)}`;
  return inUtf8(name, await readBytes(flag, body, terminal));
}

/** The body in any encoding. */
export async function readBytes(flag: string, body: string | undefined, terminal: Terminal): Promise<Buffer> {
  if (body !== undefined && !body.startsWith('@')) {
    if (existsSync(body))
      print(terminal.stderr, `${flag} is the text ${body}. To read the file, give @${body}.`);
    return Buffer.from(body, 'utf8');
  }
  if (body === undefined || body === '@-') {
    return readStdin(terminal, 'Reading the body from the terminal. End it with Ctrl-D.');
  }
  return readNamed(`${flag} ${JSON.stringify(body)}`, body.slice(1));
}

/** @param prompt printed if standard input is a terminal */
export async function readStdin({ stdin, stderr }: Terminal, prompt: string): Promise<Buffer> {
  if (stdin.isTTY) print(stderr, prompt);
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** @param name for the file in the error: not its path where that may be a secret typed in the wrong place */
export function readNamed(name: string, file: string): Promise<Buffer> {
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${name} cannot be read (${error.code}).`);
  });
}

/** Without a byte-order mark, and without empty lines at the end. @throws {CommandError} for UTF-16 */
export async function readLines(name: string, file: string): Promise<string[]> {
  const text = String(inUtf8(name, await readNamed(name, file)));
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  // A loop, because a regular expression would take quadratic time for a file of many line breaks.
  while (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines;
}

/** Undefined for other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
}

/** @throws {CommandError} unless the answer is yes */
export async function confirm(question: string, { stdin, stderr }: Terminal): Promise<void> {
  const asked = printable(question);
  if (!stdin.isTTY) {
    throw new CommandError(`${asked} Standard input is not a terminal, so give --yes to confirm.`);
  }
  stderr.write(`${asked} [y/N] `);
  // A terminal sends whole lines, so the first chunk is the answer.
  for await (const line of stdin) {
    if (/^\s*y(es)?\s*$/i.test(String(line))) return;
    break;
  }
  throw new CommandError('Cancelled: the answer was not yes.');
}

export const KEY_VARIABLE = 'SERVICE_PRIVATE_KEY';

/** Where the key came from: the start of a sentence. */
export function keySource(file: string | undefined): string {
  return file === undefined ? KEY_VARIABLE : 'The key in --key-file';
}

export async function readKey(file: string | undefined, terminal: Terminal): Promise<string> {
  const [key = '', ...more] = await readKeys(file, terminal);
  // While keys are rotated the environment of the app holds two, the newest first.
  if (more.length === 0 || file === undefined) return key;
  throw new CommandError(`--key-file holds ${more.length + 1} keys. Keep only the one to use.`);
}

/** The keys in the file, one per line (during a rotation there are two), or else those in the environment. */
export async function readKeys(file: string | undefined, { env }: Terminal): Promise<string[]> {
  const key = env[KEY_VARIABLE];
  if (file === undefined && key === undefined) {
    throw new CommandError('The private key is missing. Set SERVICE_PRIVATE_KEY, or give --key-file.');
  }
  const source = file === undefined ? KEY_VARIABLE : 'A key in --key-file';
  const keys = file === undefined ? keysIn(key ?? '') : await readLines('--key-file', file);
  for (const each of keys) {
    const fault = keyFault(each);
    if (fault) throw new CommandError(`${source} ${fault}`);
  }
  return keys;
}
