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

/** One kind of server, and how to explain its failures. */
interface Server {
  readonly address: string;
  readonly answerMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The error when no answer came. @param code `TIMED_OUT`, or that of the connection error */
  readonly unreachable: (code: string, cause: unknown) => CommandError;
  /** The error for an error answer, or for an answer of another kind of server. */
  readonly refused: (response: Response, answer: Answer) => CommandError;
  readonly isExpected: (answer: Answer) => boolean;
}

export function jsonClient({ address, answerMs, headers, unreachable, refused, isExpected }: Server) {
  const fail = (error: unknown): never => {
    const { name, cause } = Object(error) as Error;
    if (name === 'AbortError') throw error;
    const { code = 'FAILED' } = Object(cause) as { code?: string };
    throw unreachable(name === 'TimeoutError' ? 'TIMED_OUT' : code, cause);
  };
  const send = async (path: string, { method, query = {}, body, waitMs = 0, signal }: Call) => {
    const url = new URL(address + path);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const response = await fetch(url, {
      method: method ?? 'GET',
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body ? JSON.stringify(body) : null,
      signal: signal ?? AbortSignal.timeout(answerMs + waitMs),
      redirect: 'manual',
    }).catch(fail);
    if (response.ok) return response;
    throw refused(response, parsed(await response.text().catch(() => '')));
  };
  const ask = async <Data>(path: string, call: Call): Promise<Data> => {
    const response = await send(path, call);
    const answer = parsed(await response.text().catch(fail));
    if (!isExpected(answer)) throw refused(response, {});
    return answer as Data;
  };
  return {
    getText: async (path: string, query: Query) => (await send(path, { query })).text().catch(fail),
    get: <Data>(path: string, query: Query = {}, waitMs = 0) => ask<Data>(path, { query, waitMs }),
    post: <Data>(path: string, body: object = {}) => ask<Data>(path, { method: 'POST', body }),
    delete: <Data>(path: string) => ask<Data>(path, { method: 'DELETE' }),

    /** The lines of a streamed answer, parsed. It ends where the stream ends, even if that is too early. */
    async *stream(path: string, body: object, signal: AbortSignal): AsyncGenerator<Answer> {
      const response = await send(path, { method: 'POST', body, signal });
      const type = response.headers.get('content-type') ?? '';
      if (!response.body || !type.startsWith('application/x-ndjson')) throw refused(response, {});
      let rest = '';
      try {
        for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) if (line !== '') yield parsed(line);
        }
      } catch (error) {
        if (signal.aborted) throw error;
        // The caller sees that the last line is missing.
      }
    },
  };
}

function parsed(text: string): Answer {
  const value = parseJson(text);
  return Array.isArray(value) ? {} : Object(value);
}
