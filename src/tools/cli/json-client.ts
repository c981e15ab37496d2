// Calls an HTTP API of JSON for a command, and turns what goes wrong into failures of the command.
import { CommandError, EXIT } from './command.js';

type Query = Readonly<Record<string, string | undefined>>;

/** A JSON object; empty for any other text. */
type Answer = Readonly<Record<string, unknown>>;

interface Call extends RequestInit {
  readonly query?: Query;
  readonly body?: string;
  /** How long the server may hold the answer back on purpose. */
  readonly waitMs?: number;
}

/** The server answered an error. */
export class AnswerError extends CommandError {
  readonly status: number;

  constructor(message: string, status: number, code = 'REQUEST_REFUSED') {
    super(message, EXIT.failed, code);
    this.status = status;
  }
}

/** One kind of server is one subclass, which knows what to tell a person about its failures. */
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

  async get<Data extends object>(path: string, query: Query = {}, waitMs = 0): Promise<Data> {
    return this.#dataIn(await this.#fetch(path, { query, waitMs }));
  }

  async getText(path: string, query: Query = {}): Promise<string> {
    return this.#textOf(await this.#fetch(path, { query }));
  }

  async post<Data extends object>(path: string, body: object = {}): Promise<Data> {
    return this.#dataIn(await this.#post(path, body));
  }

  async delete<Data extends object>(path: string): Promise<Data> {
    return this.#dataIn(await this.#fetch(path, { method: 'DELETE' }));
  }

  /**
   * The lines of an answer that is a stream, each parsed. It ends where the stream ends, also in the middle.
   *
   * @param signal ends the request; the error is then its reason
   */
  async *stream(path: string, body: object, signal: AbortSignal): AsyncGenerator<Answer> {
    const response = await this.#post(path, body, signal);
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !type.startsWith('application/x-ndjson')) throw this.otherServer(response.status);
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

  /** @param seconds how long the command waited */
  protected abstract timedOut(seconds: number): CommandError;
  protected abstract unreachable(code: string, cause: unknown): CommandError;
  /** For an answer that is not what this kind of server gives. */
  protected abstract otherServer(status: number): CommandError;
  /** For an answer that is an error; undefined where this kind of server does not answer like that. */
  protected abstract refused(response: Response, answer: Answer): CommandError | undefined;
  protected abstract isExpected(answer: Answer): boolean;

  #post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    const call = { method: 'POST', headers, body: JSON.stringify(body) };
    return this.#fetch(path, signal ? { ...call, signal } : call);
  }

  /** An answer that is not an error. */
  async #fetch(path: string, { query = {}, waitMs = 0, ...init }: Call): Promise<Response> {
    const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
    const signal = init.signal ?? AbortSignal.timeout(this.#answerMs + waitMs);
    const headers = { ...init.headers, ...this.#headers };
    const request = { ...init, headers, signal, redirect: 'manual' } as const;
    const response = await fetch(this.address + path + search, request).catch((error: unknown) => {
      throw this.#failure(error);
    });
    if (response.ok) return response;
    const answer = parsed(await response.text().catch(() => ''));
    throw this.refused(response, answer) ?? this.otherServer(response.status);
  }

  #textOf(response: Response): Promise<string> {
    return response.text().catch((error: unknown) => {
      throw this.#failure(error);
    });
  }

  async #dataIn<Data>(response: Response): Promise<Data> {
    const answer = parsed(await this.#textOf(response));
    if (!this.isExpected(answer)) throw this.otherServer(response.status);
    return answer as Data;
  }

  #failure(error: unknown): unknown {
    const { name, cause } = Object(error) as Error;
    if (name === 'AbortError') return error;
    if (name === 'TimeoutError') return this.timedOut(this.#answerMs / 1_000);
    const { code = 'FAILED' } = Object(cause) as { code?: string };
    return this.unreachable(code, cause);
  }
}

function parsed(text: string): Answer {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? {} : Object(value);
  } catch {
    return {};
  }
}
