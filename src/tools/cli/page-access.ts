// Where a dead-letter page is, and the token for it: what the person gives, checked before anything is sent.
import { readFile } from 'node:fs/promises';
import { isLoopback } from '../../client/options.js';
import { CommandError, jsonOption, text, UsageError } from './command.js';

/** The options of every command that calls a dead-letter page. */
export const pageOptions = {
  url: text(
    { URL: 'https://shop.example/ops/webhooks' },
    'Address of the dead-letter page: where the app mounts deadLetterPage().',
  ),
  'token-file': text(
    { FILE: 'token.txt' },
    'Read the token from this file. It is sent as Authorization: Bearer, for the authorize function of the page.',
    { offer: 'file' },
  ),
  json: jsonOption,
} as const;

export type PageChoice = { readonly [Name in 'url' | 'token-file']?: string };

/** With a slash at its end. The messages do not quote it, because it may hold a password. */
export function pageAddress(typed: string | undefined): string {
  if (typed === undefined) {
    throw new UsageError(
      '--url is missing. Give the address of the page, such as https://shop.example/ops/webhooks.',
    );
  }
  const url = URL.canParse(typed) ? new URL(typed) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(
      '--url is not an absolute https: URL. Give one like https://shop.example/ops/webhooks.',
    );
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new UsageError('--url has a user name, a query or a fragment. Give the address alone.');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new CommandError(
      '--url is http: to another machine, so others could read the token on its way. Use https:, or a tunnel to this machine such as ssh -L 3000:localhost:3000.',
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/`;
}

export async function readToken(file: string | undefined): Promise<string> {
  if (file === undefined) throw new UsageError('--token-file is missing. Give a file that holds the token.');
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    // Without the path: it may be the token itself, typed in the wrong place.
    throw new CommandError(`--token-file cannot be read (${error.code}).`);
  });
  const token = text.replace(/^\ufeff/, '').replace(/(?:\r?\n)+$/, '');
  if (/^[!-~]+$/.test(token)) return token;
  const fault = token === '' ? 'is empty' : 'has a space, a line break or a letter that no header can hold';
  throw new CommandError(`--token-file ${fault}. Write the token alone into it.`);
}
