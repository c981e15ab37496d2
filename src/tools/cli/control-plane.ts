// Calls the control plane of a running simulator, and waits for deliveries.
import type { Delivery } from '../simulator/delivery/delivery-record.js';
import {
  CommandError,
  connectionExitCode,
  EXIT,
  jsonOption,
  type Terminal,
  text,
  UsageError,
} from './command.js';
import { duration } from './flag-values.js';
import { AnswerError, JsonClient } from './json-client.js';

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

const ANSWER_MS = 10_000;

export class ControlPlane extends JsonClient {
  readonly #url: SimulatorUrl;

  constructor(typed: string | undefined, terminal: Terminal) {
    const simulator = simulatorUrl(typed, terminal);
    const { address, source } = simulator;
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url?.protocol !== 'http:') {
      throw new UsageError(`${source} is not the address of a simulator. Give one like ${DEFAULT_URL}.`);
    }
    super(`${url.origin}/_sim`, ANSWER_MS);
    this.#url = simulator;
  }

  async deliveries(query: Readonly<Record<string, string | undefined>>): Promise<Delivery[]> {
    return (await this.get<{ data: Delivery[] }>('/deliveries', query)).data;
  }

  async delivery(id: string): Promise<Delivery> {
    return (await this.get<{ data: Delivery }>(`/deliveries/${encodeURIComponent(id)}`)).data;
  }

  protected timedOut(): CommandError {
    return new CommandError(`${this.origin} did not answer in time.`, EXIT.timedOut, 'TIMED_OUT');
  }

  protected unreachable(code: string, cause: unknown): CommandError {
    const reason = explainUnreachable(this.#url, cause);
    if (reason) return new CommandError(`${reason}.`, EXIT.unreachable, 'CONNECTION_FAILED');
    const exitCode = connectionExitCode(code);
    return new CommandError(`The connection to ${this.origin} failed (${code}).`, exitCode, code);
  }

  protected refused({ status }: Response, { message }: { message?: unknown }): CommandError | undefined {
    return typeof message === 'string' ? new AnswerError(message, status) : undefined;
  }

  protected otherServer(): CommandError {
    const message = `The server at ${this.origin} is not a simulator. Check ${this.#url.source}.`;
    return new CommandError(message, EXIT.failed, 'NO_SIMULATOR');
  }

  protected isExpected({ data }: { data?: unknown }): boolean {
    return data !== undefined;
  }
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
      if (!(error instanceof AnswerError) || error.status !== 408) throw error;
      await control.delivery(id).catch(explainDropped);
    }
  }
}

function explainDropped(error: unknown): never {
  if (!(error instanceof AnswerError) || error.status !== 404) throw error;
  const message =
    'A delivery is finished and already dropped: the simulator keeps the last 500. Wait for fewer events.';
  throw new CommandError(message, EXIT.failed, 'FORGOTTEN');
}
