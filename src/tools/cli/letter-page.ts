// Calls the JSON of a dead-letter page with a token, and turns its errors into failures of the command.
import { CommandError, EXIT, UNREACHABLE } from './command.js';
import { type PageChoice, pageAddress, readToken } from './page-access.js';

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
