// Calls the control plane of a running simulator, waits for deliveries, and turns its errors into failures of the command.
import type { Delivery } from '../simulator/delivery/delivery-record.js';
import { CommandError, EXIT, jsonOption, type Terminal, text, UNREACHABLE, UsageError } from './command.js';
import { duration } from './flag-values.js';

const DEFAULT_URL = 'http://127.0.0.1:4747';

export const simulatorUrlOption = text(
  { URL: DEFAULT_URL },
  `Address of the simulator. Default: SERVICE_SIM_URL, or else ${DEFAULT_URL}.`,
);

/** The options of every command that calls the control plane. */
export const controlOptions = { url: simulatorUrlOption, json: jsonOption } as const;

export interface SimulatorUrl {
  readonly address: string;
  /** What the person typed or set for it. */
  readonly source: string;
}

export function simulatorUrl(typed: string | undefined, { env }: Terminal): SimulatorUrl {
  if (typed !== undefined) return { address: typed, source: '--url' };
  return { address: env.SERVICE_SIM_URL || DEFAULT_URL, source: 'SERVICE_SIM_URL' };
}

/** Why nothing answers there, when the cause of a failed fetch says so. */
export function explainUnreachable({ address, source }: SimulatorUrl, cause: unknown): string | undefined {
  const { origin, port } = new URL(address);
  const { code, message } = Object(cause) as { code?: string; message?: string };
  if (code === 'ECONNREFUSED') {
    return `No simulator listens at ${origin}. Start one with \`payment-webhooks simulate\``;
  }
  // Ports of other protocols: https://fetch.spec.whatwg.org/#bad-port
  if (message !== 'bad port') return undefined;
  return `Node blocks connections to port ${port} ("bad port"), so ${origin} cannot be reached. Give ${source} another port`;
}

type Query = Readonly<Record<string, string | undefined>>;

const ANSWER_MS = 10_000;

/** The simulator answered an error. */
export class ControlError extends CommandError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message, EXIT.failed, 'REQUEST_REFUSED');
    this.status = status;
  }
}

export class ControlPlane {
  readonly #url: SimulatorUrl;
  readonly #origin: string;

  constructor(typed: string | undefined, terminal: Terminal) {
    this.#url = simulatorUrl(typed, terminal);
    const { address, source } = this.#url;
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url?.protocol !== 'http:') {
      throw new UsageError(`${source} is not the address of a simulator. Give one like ${DEFAULT_URL}.`);
    }
    this.#origin = url.origin;
  }

  /** @param waitMs how long the simulator may hold the answer back on purpose */
  async get<Answer>(path: string, query: Query = {}, waitMs = 0): Promise<Answer> {
    return this.#answerIn(await this.#fetch(withQuery(path, query), {}, waitMs));
  }

  getText(path: string, query: Query = {}): Promise<string> {
    return this.#fetch(withQuery(path, query), {});
  }

  async post<Answer>(path: string, body: object = {}): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    return this.#answerIn(await this.#fetch(path, { method: 'POST', headers, body: JSON.stringify(body) }));
  }

  async delete<Answer>(path: string): Promise<Answer> {
    return this.#answerIn(await this.#fetch(path, { method: 'DELETE' }));
  }

  async #fetch(path: string, init: RequestInit, waitMs = 0): Promise<string> {
    const signal = AbortSignal.timeout(ANSWER_MS + waitMs);
    try {
      const response = await fetch(`${this.#origin}/_sim${path}`, { ...init, signal, redirect: 'error' });
      const text = await response.text();
      if (response.ok) return text;
      const { message } = parsed(text);
      throw typeof message === 'string' ? new ControlError(message, response.status) : this.#notASimulator();
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #answerIn<Answer>(text: string): Answer {
    const answer = parsed(text);
    if (answer.data === undefined) throw this.#notASimulator();
    return answer as Answer;
  }

  #failure(error: unknown): unknown {
    if (error instanceof CommandError) return error;
    const { name, cause } = error as Error;
    if (name === 'TimeoutError') {
      return new CommandError(`${this.#origin} did not answer in time.`, EXIT.timedOut, 'TIMED_OUT');
    }
    const reason = explainUnreachable(this.#url, cause);
    if (reason) return new CommandError(`${reason}.`, EXIT.unreachable, 'CONNECTION_FAILED');
    const { code = 'FAILED' } = Object(cause) as { code?: string };
    const exitCode = UNREACHABLE.has(code) ? EXIT.unreachable : EXIT.failed;
    return new CommandError(`The connection to ${this.#origin} failed (${code}).`, exitCode, code);
  }

  #notASimulator(): CommandError {
    const message = `The server at ${this.#origin} is not a simulator. Check ${this.#url.source}.`;
    return new CommandError(message, EXIT.failed, 'NO_SIMULATOR');
  }
}

/** Empty for text that is not JSON. */
function parsed(text: string): { readonly data?: unknown; readonly message?: unknown } {
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

export const timeoutOption = text({ TIME: '30s' }, 'How long to wait in total. Default: 2m.');

// Short enough to notice soon that the simulator dropped a delivery.
const SLICE_MS = 5_000;

/** How long a command waits in total. */
export class WaitLimit {
  readonly #text: string;
  readonly #endsAt: number;

  constructor(timeout = '2m') {
    this.#text = timeout;
    this.#endsAt = performance.now() + duration('--timeout', timeout);
  }

  /** Milliseconds for the next request. @throws {CommandError} when the time is over */
  slice(): number {
    const left = Math.ceil(this.#endsAt - performance.now());
    if (left > 0) return Math.min(left, SLICE_MS);
    throw new CommandError(
      `Not finished after ${this.#text}. \`payment-webhooks deliveries list\` shows the state.`,
      EXIT.timedOut,
      'TIMED_OUT',
    );
  }
}

/** @param attempt wait until this one is settled, instead of until the delivery is finished */
export async function waitForDelivery(
  control: ControlPlane,
  { id, attempt }: { readonly id: string; readonly attempt?: number },
  limit: WaitLimit,
): Promise<Delivery> {
  for (;;) {
    const ms = limit.slice();
    const query = { id, timeout: `${ms}ms`, attempt: attempt?.toString() };
    try {
      return (await control.get<{ data: Delivery }>('/wait', query, ms)).data;
    } catch (error) {
      if (!(error instanceof ControlError) || error.status !== 408) throw error;
      await control.get(`/deliveries/${encodeURIComponent(id)}`).catch(explainDropped);
    }
  }
}

function explainDropped(error: unknown): never {
  if (!(error instanceof ControlError) || error.status !== 404) throw error;
  const message =
    'A delivery is finished and already dropped: the simulator keeps the last 500. Wait for fewer events.';
  throw new CommandError(message, EXIT.failed, 'FORGOTTEN');
}
