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
import { AnswerError, isAnswer, jsonClient } from './json-client.js';

const DEFAULT_URL = 'http://127.0.0.1:4747';

export const simulatorUrlOption = text(
  { URL: DEFAULT_URL },
  `Address of the simulator. Default: SERVICE_SIM_URL, or else ${DEFAULT_URL}.`,
);

export const controlOptions = { url: simulatorUrlOption, json: jsonOption } as const;

export interface SimulatorUrl {
  readonly address: string;
  /** The option or variable that it came from. */
  readonly source: string;
}

export function simulatorUrl(typed: string | undefined, { env }: Terminal): SimulatorUrl {
  if (typed !== undefined) return { address: typed, source: '--url' };
  return { address: env.SERVICE_SIM_URL || DEFAULT_URL, source: 'SERVICE_SIM_URL' };
}

export function notASimulator({ source }: SimulatorUrl): UsageError {
  return new UsageError(`${source} is not the address of a simulator. Pass one like ${DEFAULT_URL}.`);
}

export function explainUnreachable({ address, source }: SimulatorUrl, cause: unknown): string | undefined {
  const { origin, port } = new URL(address);
  const { code, message } = Object(cause) as { code?: string; message?: string };
  if (code === 'ECONNREFUSED') {
    return `No simulator listens at ${origin}. Start one with \`payment-webhooks simulate\``;
  }
  // Ports of other protocols: https://fetch.spec.whatwg.org/#bad-port
  if (message !== 'bad port') return undefined;
  return `Node blocks connections to port ${port} ("bad port"), so ${origin} cannot be reached. Use another port for ${source}`;
}

const ANSWER_MS = 10_000;

export const timeoutOption = text({ TIME: '30s' }, 'How long to wait in total. Default: 2m.');

export type ControlPlane = ReturnType<typeof controlPlane>;

/** @param timeout how long all calls of `waitFor` may take together, from now on */
export function controlPlane(
  { url: typed, timeout }: Partial<Record<'url' | 'timeout', string>>,
  terminal: Terminal,
) {
  const nextWait = timeLimit(timeout);
  const simulator = simulatorUrl(typed, terminal);
  const { address, source } = simulator;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'http:') throw notASimulator(simulator);
  const { origin } = url;
  const client = jsonClient({
    address: `${origin}/_sim`,
    answerMs: ANSWER_MS,
    unreachable(code, cause) {
      const reason = explainUnreachable(simulator, cause);
      if (reason) return new CommandError(`${reason}.`, EXIT.unreachable, 'CONNECTION_FAILED');
      const failed = `The connection to ${origin} failed (${code}). Check ${source}.`;
      const message =
        code === 'TIMED_OUT'
          ? `${origin} did not answer in time. Check ${source}, or restart the simulator.`
          : failed;
      return new CommandError(message, connectionExitCode(code), code);
    },
    refused({ status }, { message, errors: _, ...others }) {
      // A simulator answers nothing else, and never 401.
      const isSimulator = typeof message === 'string' && status !== 401 && Object.keys(others).length === 0;
      if (isSimulator) return new AnswerError(message, status);
      const other = `The server at ${origin} is not a simulator. Check ${source}.`;
      return new CommandError(other, EXIT.failed, 'NO_SIMULATOR');
    },
    isExpected: ({ data }) => data !== undefined,
  });
  const deliveries = async (query: Readonly<Record<string, string | number | undefined>>) =>
    (await client.get<{ data: Delivery[] }>('/deliveries', query)).data;
  const delivery = async (id: string) =>
    (await client.get<{ data: Delivery }>(`/deliveries/${encodeURIComponent(id)}`)).data;
  /** @param attempt wait for the end of this attempt, instead of the end of the delivery */
  const waitFor = async (id: string, attempt?: number): Promise<Delivery> => {
    for (;;) {
      const ms = nextWait();
      try {
        const query = { id, timeout: `${ms}ms`, attempt };
        return (await client.get<{ data: Delivery }>('/wait', query, ms)).data;
      } catch (error) {
        if (!isAnswer(error, 408)) throw error;
        await delivery(id).catch(explainDeleted);
      }
    }
  };
  return { ...client, deliveries, delivery, waitFor };
}

// Between two requests the command notices that the simulator has deleted the delivery.
const SLICE_MS = 5_000;

/** @returns the milliseconds that the next request may wait; it throws after the timeout */
function timeLimit(timeout = '2m'): () => number {
  const endsAt = performance.now() + duration('--timeout', timeout);
  return () => {
    const left = Math.ceil(endsAt - performance.now());
    if (left > 0) return Math.min(left, SLICE_MS);
    const message = `Not finished after ${timeout}. Check it with \`payment-webhooks deliveries list\`.`;
    throw new CommandError(message, EXIT.timedOut, 'TIMED_OUT');
  };
}

function explainDeleted(error: unknown): never {
  if (!isAnswer(error, 404)) throw error;
  const message =
    'A delivery is finished and already deleted: the simulator keeps the last 500. Trigger fewer events at once.';
  throw new CommandError(message, EXIT.failed, 'FORGOTTEN');
}
