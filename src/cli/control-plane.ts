// Talks to the control plane of a running simulator, and turns its refusals into failures of the command.
import { CommandError, EXIT, jsonOption, type Terminal, UsageError } from './command.js';
import { nobodyAt, simulatorUrl, simulatorUrlOption } from './simulator-address.js';

/** The options of every command that talks to it. */
export const controlOptions = { url: simulatorUrlOption, json: jsonOption } as const;

export type Query = Readonly<Record<string, string | undefined>>;

const ANSWER_MS = 10_000;

/** The simulator answered that it will not. */
export class ControlError extends CommandError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message, EXIT.failed, 'REQUEST_REFUSED');
    this.status = status;
  }
}

export class ControlPlane {
  readonly #origin: string;

  constructor(url: string | undefined, terminal: Terminal) {
    const address = simulatorUrl(url, terminal);
    const parsed = URL.canParse(address) ? new URL(address) : undefined;
    if (parsed?.protocol !== 'http:') {
      throw new UsageError('The address of the simulator is none: give one like http://127.0.0.1:4747.');
    }
    this.#origin = parsed.origin;
  }

  /** @param patienceMs how long the simulator may take on purpose, besides the time that an answer takes */
  async get<Answer>(path: string, query: Query = {}, patienceMs = 0): Promise<Answer> {
    return this.#json(await this.#ask(withQuery(path, query), { method: 'GET' }, patienceMs));
  }

  async getText(path: string, query: Query = {}): Promise<string> {
    return (await this.#ask(withQuery(path, query), { method: 'GET' })).text;
  }

  async post<Answer>(path: string, body: object = {}): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    return this.#json(await this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) }));
  }

  async #ask(path: string, init: RequestInit, patienceMs = 0): Promise<{ text: string }> {
    const signal = AbortSignal.timeout(ANSWER_MS + patienceMs);
    try {
      const response = await fetch(`${this.#origin}/_sim${path}`, { ...init, signal, redirect: 'error' });
      const text = await response.text();
      if (response.ok) return { text };
      const { message } = parsed(text) as { message?: unknown };
      if (typeof message !== 'string') throw this.#stranger();
      throw new ControlError(message, response.status);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #json<Answer>({ text }: { readonly text: string }): Answer {
    const answer = parsed(text);
    if (!('data' in answer)) throw this.#stranger();
    return answer as Answer;
  }

  #failure(error: unknown): unknown {
    if (error instanceof CommandError) return error;
    const { name, cause } = error as Error;
    if (name === 'TimeoutError') {
      return new CommandError(`${this.#origin} did not answer in time.`, EXIT.timedOut, 'TIMED_OUT');
    }
    const { code = 'FAILED' } = (cause ?? {}) as { code?: string };
    if (code === 'ECONNREFUSED') {
      return new CommandError(`${nobodyAt(this.#origin)}.`, EXIT.nobody, 'CONNECTION_FAILED');
    }
    return new CommandError(`The connection to ${this.#origin} failed (${code}).`, EXIT.failed, code);
  }

  #stranger(): CommandError {
    return new CommandError(`What answers at ${this.#origin} is no simulator.`, EXIT.failed, 'NO_SIMULATOR');
  }
}

function parsed(text: string): object {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
