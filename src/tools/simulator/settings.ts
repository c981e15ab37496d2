// Validates the options of startSimulator(), and fills in the defaults.
import { ConfigurationError } from '../../errors.js';
import { type Logger, silentLogger } from '../../logger.js';
import { show } from '../../misuse.js';
import { defineOptions, type OptionRule, oneOf, option } from '../../options/define-options.js';
import { logger } from '../../options/option-checks.js';
import { isHeaderName } from '../../signature.js';
import { hostName } from '../web/request.js';
import { simulatorKey } from './accounts.js';
import { isLocalHost } from './address/host.js';
import { type RetrySchedule, retryPauses } from './delivery/retry-schedule.js';
import type { SimulatedAttempt, SimulatedDelivery, SimulatedEvent } from './delivery/simulated-delivery.js';

/** Options of `startSimulator()`. */
export interface SimulatorOptions {
  /** `0` picks a free port. @default 4747 */
  readonly port?: number;
  /** The address to listen on. An address that other machines can reach requires `allowHosts`. @default '127.0.0.1' */
  readonly host?: string;
  /** The host names and addresses by which other machines reach the simulator, without a port. @default [] */
  readonly allowHosts?: readonly string[];
  /** The developer account's live key; it begins with `pri_sim_`. @default 'pri_sim_dev' */
  readonly privateKey?: string;
  /** The developer account's sandbox key; it begins with `pri_sandbox_sim_`. @default 'pri_sandbox_sim_dev' */
  readonly sandboxKey?: string;
  /** Pauses between attempts. @default 'fast': 2 s, 5 s, 15 s, 60 s */
  readonly retry?: RetrySchedule;
  /** Whether the `Retry-After` header of a response replaces the scheduled pause. @default false */
  readonly heedRetryAfter?: boolean;
  /** How long an endpoint may take to answer, in milliseconds of real time. The receiver itself answers after 10 s. @default 15_000 */
  readonly timeout?: number;
  /** `'manual'`: time stands still until you call `advance()`. `'real'`: it passes by itself. @default 'manual' */
  readonly clock?: 'manual' | 'real';
  /** A file that keeps the state across restarts. @default none: memory only */
  readonly state?: string;
  /** The same seed gives the same ids in every run. */
  readonly seed?: string | number;
  /** Public hosts that webhooks may point to. Loopback and private addresses are always allowed. @default [] */
  readonly allowTargets?: readonly string[];
  /** A pino-compatible logger, or `false` to disable logging. @default false */
  readonly logger?: Logger | false;
  /** Which key signs sandbox events, which the service does not document. @default 'private-key' */
  readonly sandboxSigning?: 'private-key' | 'sandbox-key';
  /** The name of the signature header. @default 'X-SERVICE-SIGNATURE' */
  readonly signatureHeader?: string;
  /** Adds `X-SIM-DELIVERY`, `X-SIM-ATTEMPT` and `X-SIM-FAULT`, which the service does not send. @default false */
  readonly debugHeaders?: boolean;
  /** Starts even if `NODE_ENV` is `production`. @default false */
  readonly allowProduction?: boolean;
}

export type SimulatorSettings = Readonly<ReturnType<typeof resolveSettings>> & { readonly capture?: Capture };

/** How `capture` works: the service is at the other end of the wire. */
export interface Capture {
  /** The path at which the deliveries arrive. */
  readonly path: string;
  /** The URL of the app. Without one, deliveries are only recorded. */
  readonly forward?: string | undefined;
  /** Finds the signature among the headers, and masks the secrets. */
  readonly inspect: (
    event: SimulatedEvent,
    response: SimulatedAttempt['response'],
  ) => Pick<SimulatedAttempt, 'finding' | 'headers' | 'response'>;
  /** Called when the sender has its answer, and the delivery is recorded. */
  readonly recorded?: ((delivery: SimulatedDelivery) => void) | undefined;
}

const isBoolean = (value: unknown) => typeof value === 'boolean';
const isText = (value: unknown) => typeof value === 'string' && value.trim() !== '';
const isTextList = (value: unknown) => Array.isArray(value) && value.every(isText);
const isSeed = (value: unknown) => isText(value) || Number.isFinite(value);
const isPort = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535;
const isTimeout = (value: unknown) => typeof value === 'number' && value > 0 && value <= 86_400_000;

/** An option whose error says which value is expected. */
function expecting<Value>(
  fallback: Value,
  expected: string,
  isValid: (value: unknown) => boolean,
): OptionRule<Value> {
  return option(fallback, (value, name) => {
    if (value === fallback || isValid(value)) return value as Value;
    throw new ConfigurationError(`${name} is ${show(value)}. Pass ${expected}.`);
  });
}

export const SIMULATOR_OPTIONS = defineOptions({
  port: expecting(4747, 'a port number from 0 to 65535', isPort),
  host: expecting('127.0.0.1', 'a host name or address to listen on', isText),
  allowHosts: expecting<readonly string[]>([], 'an array of host names or addresses', Array.isArray),
  privateKey: option('pri_sim_dev', (key) => simulatorKey('privateKey', key)),
  sandboxKey: option('pri_sandbox_sim_dev', (key) => simulatorKey('sandboxKey', key)),
  retry: option('fast', (retry) => retryPauses(retry as RetrySchedule)),
  heedRetryAfter: expecting(false, 'true or false', isBoolean),
  timeout: expecting(15_000, 'milliseconds above 0, at most a day', isTimeout),
  clock: oneOf('manual', 'real'),
  state: expecting<string | undefined>(undefined, 'the path of a file', isText),
  seed: expecting<string | number | undefined>(undefined, 'a string or a number', isSeed),
  allowTargets: expecting<readonly string[]>([], 'an array of host names or addresses', isTextList),
  logger: option(false, (value) => logger(value) ?? silentLogger),
  sandboxSigning: oneOf('private-key', 'sandbox-key'),
  signatureHeader: expecting('X-SERVICE-SIGNATURE', 'the name of an HTTP header', isHeaderName),
  debugHeaders: expecting(false, 'true or false', isBoolean),
  allowProduction: expecting(false, 'true or false', isBoolean),
} satisfies Record<keyof SimulatorOptions, OptionRule<unknown>>);

/** @throws {ConfigurationError} that names the option, its value and what it takes */
export function resolveSettings(options: SimulatorOptions = {}) {
  const { allowProduction, ...settings } = SIMULATOR_OPTIONS.read(options);
  if (!allowProduction && process.env.NODE_ENV === 'production') {
    throw new ConfigurationError(
      'NODE_ENV is "production", and the simulator is for development and tests. ' +
        'Unset NODE_ENV, or set allowProduction: true if you are sure.',
    );
  }
  return {
    ...settings,
    allowHosts: allowedHosts(settings.allowHosts, settings.host),
    allowTargets: settings.allowTargets.map((target) => target.toLowerCase()),
  };
}

/** @throws {ConfigurationError} for an invalid host, and for an empty list if other machines can reach the simulator */
function allowedHosts(hosts: readonly unknown[], host: string): string[] {
  const names = hosts.map((given, index) => {
    const name = typeof given === 'string' ? hostName(given) : undefined;
    if (name !== undefined) return name;
    throw new ConfigurationError(
      `allowHosts[${index}] is ${show(given)}. Pass a host name or address without a port, such as "simulator".`,
    );
  });
  if (names.length > 0 || isLocalHost(host)) return names;
  throw new ConfigurationError(
    `host is ${show(host)}, which other machines can reach. List the hosts that they may use: allowHosts: ['simulator'].`,
  );
}
