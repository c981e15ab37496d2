// The bytes of a body, exactly as they are: from standard input, a file, or the command line.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { CommandError, type Terminal } from './command.js';
import { print } from './print.js';

export const bodyOption = {
  type: 'string',
  value: '@FILE',
  about: 'The body: @FILE, or the text itself. Left out, it is read from standard input.',
} as const;

export async function readBody(body: string | undefined, { stdin, stderr }: Terminal): Promise<Buffer> {
  if (body !== undefined && !body.startsWith('@')) {
    if (existsSync(body)) print(stderr, `Taking ${body} itself for the body; the file would be @${body}.`);
    return Buffer.from(body, 'utf8');
  }
  if (body === undefined || body === '@-') {
    if (stdin.isTTY) print(stderr, 'Reading the body from the terminal; Ctrl-D ends it.');
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  }
  return readFile(body.slice(1)).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`The body file ${JSON.stringify(body.slice(1))} cannot be read (${error.code}).`);
  });
}
