// Calls a dead-letter page with a token: the options for it, its lists, and its errors.

import { readFile } from 'node:fs/promises';
import type { DeadLetter } from '../../claims/dead-letter-store.js';
import { isLoopback } from '../../client/options.js';
import { CommandError, EXIT, jsonOption, text, UNREACHABLE, UsageError } from './command.js';
import type { LetterFilter } from './letter-filter.js';

type Query = Readonly<Record<string, string | undefined>>;

const ANSWER_MS = 30_000;

/** The page answered an error. */
export class PageError extends CommandError {
  readonly status: number;

  constructor(message: string, code: string, status: number) {
    super(message, EXIT.failed, code);
    this.status = status;
  }
}

export class LetterPage {
  readonly #address: string;
  readonly #authorization: string;

  private constructor(address: string, token: string) {
    this.#address = address;
    this.#authorization = `Bearer ${token}`;
  }

  /** @throws {CommandError} for an address that the token must not be sent to, and for a file without a token */
  static async open({ url, 'token-file': file }: PageChoice): Promise<LetterPage> {
    const address = pageAddress(url);
    return new LetterPage(address, await readToken(file));
  }

  async get<Answer extends object>(path: string, query: Query = {}): Promise<Answer> {
    const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const response = await this.#fetch(given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`);
    return this.#answerIn(response);
  }

  async post<Answer extends object>(path: string, body: object): Promise<Answer> {
    return this.#answerIn(await this.#post(path, body, AbortSignal.timeout(ANSWER_MS)));
  }

  /**
   * The lines of an answer that is a stream, each parsed. It ends where the stream ends, also in the middle.
   *
   * @param signal ends the request; the error is then its reason
   */
  async *stream(path: string, body: object, signal: AbortSignal): AsyncGenerator<Record<string, unknown>> {
    const response = await this.#post(path, body, signal);
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !type.startsWith('application/x-ndjson')) throw this.#notThePage(response.status);
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of response.body) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') yield parsed(line);
      }
    } catch (error) {
      if (signal.aborted) throw error;
      // The caller sees that the last line is missing.
    }
  }

  #post(path: string, body: object, signal: AbortSignal): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return this.#fetch(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
  }

  /** An answer that is no error. */
  async #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const signal = init.signal ?? AbortSignal.timeout(ANSWER_MS);
    const headers = { ...init.headers, accept: 'application/json', authorization: this.#authorization };
    const request = { ...init, headers, signal, redirect: 'manual' } as const;
    const response = await fetch(this.#address + path, request).catch((error: unknown) => {
      throw this.#failure(error);
    });
    if (response.ok) return response;
    throw this.#refusal(response, await response.text().catch(() => ''));
  }

  async #answerIn<Answer>(response: Response): Promise<Answer> {
    const text = await response.text().catch((error: unknown) => {
      throw this.#failure(error);
    });
    const answer = parsed(text);
    if (Object.keys(answer).length === 0) throw this.#notThePage(response.status);
    return answer as Answer;
  }

  #failure(error: unknown): unknown {
    const { name, cause } = Object(error) as Error;
    if (name === 'AbortError') return error;
    const { origin } = new URL(this.#address);
    if (name === 'TimeoutError') {
      const message = `${origin} did not answer within ${ANSWER_MS / 1_000} seconds. Try again.`;
      return new CommandError(message, EXIT.timedOut, 'TIMED_OUT');
    }
    const { code = 'FAILED' } = Object(cause) as { code?: string };
    const [message, exitCode] = UNREACHABLE.has(code)
      ? [`Nothing listens at ${origin} (${code}). Check --url, and whether the app runs.`, EXIT.unreachable]
      : [`The connection to ${origin} failed (${code}). Try again.`, EXIT.failed];
    return new CommandError(message, exitCode, code);
  }

  #refusal({ status, headers }: Response, text: string): CommandError {
    if (status >= 300 && status < 400) return this.#redirected(status, headers.get('location'));
    const { code, message } = parsed(text);
    const isOurs = typeof message === 'string' && typeof code === 'string';
    const refused = (what: string) =>
      new PageError(isOurs ? `${what} ${message}` : what, isOurs ? code : 'REQUEST_REFUSED', status);
    if (status === 401 || status === 403)
      return refused(`The page refuses the token in --token-file (${status}).`);
    return isOurs ? new PageError(message, code, status) : this.#notThePage(status);
  }

  #redirected(status: number, location: string | null): CommandError {
    const target = URL.canParse(location ?? '', this.#address)
      ? new URL(location ?? '', this.#address)
      : undefined;
    const where = target ? ` to ${target.origin}${target.pathname}` : '';
    return new CommandError(
      `The server redirects (${status})${where}, and the token was not sent there. Give --url the address of the page itself.`,
      EXIT.failed,
      'REDIRECTED',
    );
  }

  #notThePage(status: number): CommandError {
    return new CommandError(
      `The server at ${this.#address} answers (${status}), but not as a dead-letter page. Give --url the address at which the app mounts deadLetterPage().`,
      EXIT.failed,
      'NO_DEAD_LETTER_PAGE',
    );
  }
}

/** Empty for text that is not a JSON object. */
function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? {} : Object(value);
  } catch {
    return {};
  }
}

/** As JSON: times are ISO 8601. */
export type JsonLetter = Omit<DeadLetter, 'keptAt' | 'discarded'> & {
  readonly keptAt: string;
  readonly discarded?: { readonly by: string; readonly because: string; readonly at: string };
};

/** As many as the page gives. */
const MOST_AT_ONCE = '100';

interface List {
  readonly letters: readonly JsonLetter[];
  readonly next: string | null;
}

/** @throws {CommandError} for a list that leads back to a page that was read before */
export async function* allLetters(
  page: LetterPage,
  filter: LetterFilter & { readonly discarded?: string },
): AsyncGenerator<JsonLetter, void> {
  const read = new Set<string>();
  for (let after: string | undefined; ; ) {
    const { letters, next } = await page.get<List>('letters', { ...filter, limit: MOST_AT_ONCE, after });
    yield* letters;
    if (typeof next !== 'string' || letters.length === 0) return;
    if (read.has(next)) {
      throw new CommandError(
        "The list of dead letters repeats itself. Check list() of the app's dead-letter store with deadLetterContract().",
        EXIT.failed,
        'REPEATED_PAGE',
      );
    }
    read.add(next);
    after = next;
  }
}

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

type PageChoice = { readonly [Name in 'url' | 'token-file']?: string };

/** With a slash at its end. The messages do not quote it, because it may hold a password. */
function pageAddress(typed: string | undefined): string {
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

async function readToken(file: string | undefined): Promise<string> {
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
