// Reads what a person types or pipes in: a body, byte for byte, or the answer to a question.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { CommandError, type Terminal, text } from './command.js';
import { print, printable } from './print.js';

export const bodyOption = text(
  { '@FILE': '@event.json' },
  'The body: @FILE, or the text itself. Default: standard input.',
);

export async function readBody(
  flag: '--body' | '--data',
  body: string | undefined,
  { stdin, stderr }: Terminal,
): Promise<Buffer> {
  if (body !== undefined && !body.startsWith('@')) {
    if (existsSync(body)) print(stderr, `${flag} is the text ${body}. To read the file, give @${body}.`);
    return Buffer.from(body, 'utf8');
  }
  if (body === undefined || body === '@-') {
    if (stdin.isTTY) print(stderr, 'Reading the body from the terminal. End it with Ctrl-D.');
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  }
  return readFile(body.slice(1)).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${flag} ${JSON.stringify(body)} cannot be read (${error.code}).`);
  });
}

/** @throws {CommandError} unless a person answers yes */
export async function confirm(question: string, { stdin, stderr }: Terminal): Promise<void> {
  const asked = printable(question);
  if (!stdin.isTTY) {
    throw new CommandError(`${asked} Standard input is not a terminal, so give --yes to confirm.`);
  }
  stderr.write(`${asked} [y/N] `);
  // A terminal passes on whole lines, so the first chunk is the answer.
  for await (const line of stdin) {
    if (/^\s*y(es)?\s*$/i.test(String(line))) return;
    break;
  }
  throw new CommandError('Cancelled: the answer was not yes.');
}
