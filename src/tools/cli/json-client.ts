// Calls a JSON API over HTTP, and turns its failures into failures of the command.
import { CommandError, EXIT } from './command.js';
import { parseJson } from './read-input.js';

/** A JSON object; empty for any other text. */
type Answer = Readonly<Record<string, unknown>>;

/** Undefined values are left out. */
type Query = Readonly<Record<string, string | number | undefined>>;

interface Call {
  /** Default: GET. */
  readonly method?: 'POST' | 'DELETE';
  readonly query?: Query;
  readonly body?: object;
  /** How long the server may delay its answer on purpose. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

export class AnswerError extends CommandError {
  readonly status: number;

  constructor(message: string, status: number, code = 'REQUEST_REFUSED') {
    super(message, EXIT.failed, code);
    this.status = status;
  }
}

export function isAnswer(error: unknown, status: number): error is AnswerError {
  return error instanceof AnswerError && error.status === status;
}

/** Each subclass knows one kind of server, and how to explain its failures. */
export abstract class JsonClient {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #answerMs: number;
  protected readonly address: string;
  protected readonly origin: string;

  /** @param address what the paths are appended to */
  protected constructor(address: string, answerMs: number, headers: Readonly<Record<string, string>> = {}) {
    this.address = address;
    this.#answerMs = answerMs;
    this.#headers = { accept: 'application/json', ...headers };
    this.origin = new URL(address).origin;
  }

  async getText(path: string, query: Query): Promise<string> {
    return (await this.#fetch(path, { query })).text().catch(this.#fail);
  }

  get<Data extends object>(path: string, query: Query = {}, waitMs = 0): Promise<Data> {
    return this.#fetchData(path, { query, waitMs });
  }

  post<Data extends object>(path: string, body: object = {}): Promise<Data> {
    return this.#fetchData(path, { method: 'POST', body });
  }

  delete<Data extends object>(path: string): Promise<Data> {
    return this.#fetchData(path, { method: 'DELETE' });
  }

  /** The lines of a streamed answer, parsed. It ends where the stream ends, even if that is too early. */
  async *stream(path: string, body: object, signal: AbortSignal): AsyncGenerator<Answer> {
    const response = await this.#fetch(path, { method: 'POST', body, signal });
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !type.startsWith('application/x-ndjson')) throw this.refused(response, {});
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

  /** The error when no answer came. @param code `TIMED_OUT`, or that of the connection error */
  protected abstract unreachable(code: string, cause: unknown): CommandError;
  /** The error for an error answer, or for an answer of another kind of server. */
  protected abstract refused(response: Response, answer: Answer): CommandError;
  protected abstract isExpected(answer: Answer): boolean;

  async #fetchData<Data>(path: string, call: Call): Promise<Data> {
    const response = await this.#fetch(path, call);
    const answer = parsed(await response.text().catch(this.#fail));
    if (!this.isExpected(answer)) throw this.refused(response, {});
    return answer as Data;
  }

  async #fetch(path: string, { method, query = {}, body, waitMs = 0, signal }: Call): Promise<Response> {
    const url = new URL(this.address + path);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const response = await fetch(url, {
      method: method ?? 'GET',
      headers: { ...this.#headers, ...(body && { 'content-type': 'application/json' }) },
      body: body ? JSON.stringify(body) : null,
      signal: signal ?? AbortSignal.timeout(this.#answerMs + waitMs),
      redirect: 'manual',
    }).catch(this.#fail);
    if (response.ok) return response;
    throw this.refused(response, parsed(await response.text().catch(() => '')));
  }

  readonly #fail = (error: unknown): never => {
    const { name, cause } = Object(error) as Error;
    if (name === 'AbortError') throw error;
    const { code = 'FAILED' } = Object(cause) as { code?: string };
    throw this.unreachable(name === 'TimeoutError' ? 'TIMED_OUT' : code, cause);
  };
}

function parsed(text: string): Answer {
  const value = parseJson(text);
  return Array.isArray(value) ? {} : Object(value);
}
