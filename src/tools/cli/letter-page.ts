// Calls a dead-letter page with a token: its options, its lists and its errors.

import { isLoopback } from '../../client/options.js';
import { REASONS } from '../../contracts/dead-letter-store.js';
import type { ReplayFilter } from '../../dead-letters/dead-letter-filter.js';
import { secretFault } from '../../misuse.js';
import { isKeyId } from '../../signature.js';
import type { JsonLetter, LetterList, Revealed } from '../letters/server/letter-json.js';
import {
  CommandError,
  connectionExitCode,
  EXIT,
  jsonOption,
  text,
  UsageError,
  type Values,
} from './command.js';
import { defined, duration, eventPattern, notEmpty, oneOf } from './flag-values.js';
import { AnswerError, jsonClient } from './json-client.js';
import { readLines } from './read-input.js';

const ANSWER_MS = 30_000;

export type LetterPage = Awaited<ReturnType<typeof openLetterPage>>;

/** @throws {CommandError} for an address that the token must not be sent to, or a file without a token */
export async function openLetterPage({ page, 'token-file': file }: Values<typeof pageOptions>) {
  const address = pageAddress(page);
  const { origin } = new URL(address);
  const client = jsonClient({
    address,
    answerMs: ANSWER_MS,
    headers: { authorization: `Bearer ${await readToken(file)}` },
    unreachable(code) {
      if (code === 'TIMED_OUT') {
        const message = `${origin} did not answer within ${ANSWER_MS / 1_000} seconds. Try again.`;
        return new CommandError(message, EXIT.timedOut, code);
      }
      const exitCode = connectionExitCode(code);
      const unreachable = `Nothing listens at ${origin} (${code}). Check --page, and whether the app runs.`;
      const failed = `The connection to ${origin} failed (${code}). Try again.`;
      return new CommandError(exitCode === EXIT.unreachable ? unreachable : failed, exitCode, code);
    },
    refused: (response, answer) => refused(address, response, answer),
    isExpected: (answer) => Object.keys(answer).length > 0,
  });

  /** @throws {CommandError} if the cursor of the list repeats */
  async function* letters(
    filter: LetterFilter & { readonly discarded?: string },
  ): AsyncGenerator<JsonLetter, void> {
    const read = new Set<string>();
    for (let after: string | undefined; ; ) {
      const query = { ...filter, limit: MAX_LETTERS, after };
      const { letters, next } = await client.get<LetterList>('letters', query);
      yield* letters;
      if (typeof next !== 'string' || letters.length === 0) return;
      if (read.has(next)) {
        const advice = "Check list() of the app's dead-letter store with deadLetterContract().";
        const message = `The list of dead letters returned the same cursor twice. ${advice}`;
        throw new CommandError(message, EXIT.failed, 'REPEATED_PAGE');
      }
      read.add(next);
      after = next;
    }
  }

  /** The app logs who asked for it. */
  const reveal = (id: string) => client.post<Partial<Revealed>>(`letters/${encodeURIComponent(id)}/reveal`);
  return { ...client, letters, reveal };
}

function refused(
  address: string,
  { status, headers }: Response,
  { code, message }: { code?: unknown; message?: unknown },
): CommandError {
  if (status >= 300 && status < 400) {
    const location = headers.get('location') ?? '';
    const target = URL.canParse(location, address) ? new URL(location, address) : undefined;
    const where = target ? ` to ${target.origin}${target.pathname}` : '';
    const problem = `The server redirects (${status})${where}, and the token was not sent there.`;
    const message = `${problem} Set --page to the final address of the page.`;
    return new CommandError(message, EXIT.failed, 'REDIRECTED');
  }
  const known = typeof message === 'string' && typeof code === 'string' ? { message, code } : undefined;
  if (status === 401 || status === 403) {
    const refusal = `The page refuses the token in --token-file (${status}).`;
    const advice = known?.message ?? 'Check the token and --page.';
    return new AnswerError(`${refusal} ${advice}`, status, known?.code);
  }
  if (known) return new AnswerError(known.message, status, known.code);
  const problem = `The server at ${address} answered ${status}, but it is not a dead-letter page.`;
  const other = `${problem} Set --page to the address at which the app mounts deadLetterPage().`;
  return new CommandError(other, EXIT.failed, 'NO_DEAD_LETTER_PAGE');
}

const MAX_LETTERS = 100;

const reasons = [...REASONS];

export const filterOptions = {
  reason: text({ REASON: 'unknown' }, `Only letters with this reason: ${reasons.join(', ')}.`, {
    read: oneOf(reasons),
  }),
  event: text({ NAME: "'refund.*'" }, 'Only this event, or a pattern like refund.*; * is every event.', {
    read: eventPattern,
  }),
  'event-id': text({ ID: '"$EVENT_ID"' }, 'Only letters of the event with this id.', { read: notEmpty }),
  'key-id': text({ ID: '"$KEY_ID"' }, 'Only letters that the private key with this id signed.', {
    read: keyId,
  }),
  cause: text(
    { TEXT: '"mark-paid: TypeError"' },
    'Only letters whose cause begins with these words, as `dead-letters list` shows it.',
    { read: notEmpty },
  ),
  since: text({ TIME: '7d' }, 'Only letters that were kept within this time, such as 7d.', { read: since }),
  id: text({ ID: '"$LETTER_ID"' }, 'Only the letter with this id, as `dead-letters list` shows it.', {
    read: notEmpty,
  }),
} as const;

/** The filter as text, which the page checks again. */
export type LetterFilter = { readonly [Name in keyof ReplayFilter]?: string | undefined };

export function filterOf(values: Values<typeof filterOptions>): LetterFilter {
  const { reason, event, 'event-id': eventId, 'key-id': keyId, cause, since, id } = values;
  return defined({ reason, event, eventId, keyId, cause, since, id });
}

function keyId(name: string, text: string): string {
  if (isKeyId(text)) return text;
  throw new UsageError(`${name} is not the id of a key: 12 hexadecimal digits, and never the key itself.`);
}

/** The text, which the page reads itself. */
function since(name: string, text: string): string {
  duration(name, text);
  return text;
}

/** In the examples of commands. */
export const WITH_PAGE = '--page https://shop.example/ops/webhooks --token-file token.txt';

export const pageOptions = {
  page: text(
    { URL: 'https://shop.example/ops/webhooks' },
    'Address of the dead-letter page: where the app mounts deadLetterPage().',
    { alias: 'url' },
  ),
  'token-file': text(
    { FILE: 'token.txt' },
    'Read the token from this file. It is sent as Authorization: Bearer, for the authorize function of the page.',
  ),
  json: jsonOption,
} as const;

/** Ends with a slash. The messages do not quote it, because it may hold a password. */
function pageAddress(typed: string | undefined): string {
  if (typed === undefined) {
    throw new UsageError(
      '--page is missing. Pass the address of the page, such as https://shop.example/ops/webhooks.',
    );
  }
  const url = URL.canParse(typed) ? new URL(typed) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(
      '--page is not an absolute https: URL. Pass one like https://shop.example/ops/webhooks.',
    );
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new UsageError('--page has a user name, a query or a fragment. Pass the address alone.');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new CommandError(
      '--page is http: to another machine, so others could read the token in transit. Use https:, or a tunnel to this machine such as ssh -L 3000:localhost:3000.',
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/`;
}

async function readToken(file: string | undefined): Promise<string> {
  if (file === undefined) throw new UsageError('--token-file is missing. Pass a file that holds the token.');
  const token = (await readLines('--token-file', file)).join('\n');
  const found = secretFault(token, /^/, 'Put the token itself into the file.');
  if (found) throw new CommandError(`--token-file ${found}`);
  if (/^[!-~]+$/.test(token)) return token;
  const invalid = 'has a space, a line break or another character that a header must not contain';
  const fault = token === '' ? 'is empty' : invalid;
  throw new CommandError(`--token-file ${fault}. The file must hold only the token.`);
}
