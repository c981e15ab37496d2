// The options of startSimulator(), checked and completed before anything is opened.
import { validateHeaderName } from 'node:http';
import { ConfigurationError } from '../errors.js';
import { isLogger, type Logger, silentLogger } from '../logger.js';
import { show } from '../option-checks.js';
import { keyFault } from '../signature.js';
import { refuseUnknownOptions } from '../unknown-option.js';
import { type RetrySchedule, retryPauses } from './retry-schedule.js';
import { seeds } from './seeds.js';

/** Options of `startSimulator()`. */
export interface SimulatorOptions {
  /** `0` takes any free port. @default 4747 */
  readonly port?: number;
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string;
  /** The developer account's live key; it begins with `pri_sim_`. @default 'pri_sim_dev' */
  readonly privateKey?: string;
  /** The developer account's sandbox key; it begins with `pri_sandbox_sim_`. @default 'pri_sandbox_sim_dev' */
  readonly sandboxKey?: string;
  /** Pauses between attempts. @default 'fast': 2 s, 5 s, 15 s, 60 s */
  readonly retry?: RetrySchedule;
  /** Milliseconds of real time in which an endpoint must answer. @default 10_000 */
  readonly timeout?: number;
  /** `'manual'`: retries wait until `advance()` is called; `'real'`: until their time has come. @default 'manual' */
  readonly clock?: 'manual' | 'real';
  /** A file that keeps everything over a restart. @default none: memory only */
  readonly state?: string;
  /** The same seed gives the same ids in every run. */
  readonly seed?: string | number;
  /** Hosts outside the loopback and private address ranges that webhooks may point at. */
  readonly allowTargets?: readonly string[];
  /** A pino-compatible logger, or `false` for silence. @default false */
  readonly logger?: Logger | false;
  /** Which key signs sandbox events. @default 'private-key', as documented */
  readonly sandboxSigning?: 'private-key' | 'sandbox-key';
  /** The signature header's real name at the service. @default 'X-SERVICE-SIGNATURE' */
  readonly signatureHeader?: string;
  /** Adds `X-SIM-DELIVERY`, `X-SIM-ATTEMPT` and `X-SIM-FAULT`, which the service does not send. @default false */
  readonly debugHeaders?: boolean;
  /** Starts also where `NODE_ENV` is `production`. @default false */
  readonly allowProduction?: boolean;
}

/** Every option, checked and complete. */
export interface Settings {
  readonly port: number;
  readonly host: string;
  readonly privateKey: string;
  readonly sandboxKey: string;
  readonly retry: readonly number[];
  readonly timeout: number;
  readonly clock: 'manual' | 'real';
  readonly state: string | undefined;
  readonly seed: string | number | undefined;
  readonly allowTargets: readonly string[];
  readonly logger: Logger;
  readonly sandboxSigning: 'private-key' | 'sandbox-key';
  readonly signatureHeader: string;
  readonly debugHeaders: boolean;
}

// A mapped type, so that the compiler insists that every option is in the list.
export const OPTIONS: { readonly [Name in keyof Required<SimulatorOptions>]: string } = {
  port: 'a port number from 0 to 65535',
  host: 'a host name or address to listen on',
  privateKey: 'a key that begins with "pri_sim_"',
  sandboxKey: 'a key that begins with "pri_sandbox_sim_"',
  retry: '"fast", "realistic", "off" or a list of pauses',
  timeout: 'milliseconds above 0, at most a day',
  clock: '"manual" or "real"',
  state: 'the path of a file',
  seed: 'text or a number',
  allowTargets: 'a list of host names or addresses',
  logger: 'a pino-compatible logger, or false',
  sandboxSigning: '"private-key" or "sandbox-key"',
  signatureHeader: 'the name of an HTTP header',
  debugHeaders: 'true or false',
  allowProduction: 'true or false',
};

/** @throws {ConfigurationError} naming the option, what it got and what it takes */
export function resolveSettings(options: SimulatorOptions = {}): Settings {
  refuseUnknownOptions(options, Object.keys(OPTIONS));
  const { port = 4747, host = '127.0.0.1', timeout = 10_000, clock = 'manual', seed, state } = options;
  const { sandboxSigning = 'private-key', signatureHeader = 'X-SERVICE-SIGNATURE' } = options;
  const { allowTargets = [], debugHeaders = false, allowProduction = false } = options;
  expect('port', port, Number.isInteger(port) && port >= 0 && port <= 65_535);
  expect('host', host, isText(host));
  expect('timeout', timeout, Number.isFinite(timeout) && timeout > 0 && timeout <= 86_400_000);
  expect('clock', clock, clock === 'manual' || clock === 'real');
  expect('state', state, state === undefined || isText(state));
  expect('seed', seed, seed === undefined || isText(seed) || Number.isFinite(seed));
  expect('allowTargets', allowTargets, Array.isArray(allowTargets) && allowTargets.every(isText));
  expect('sandboxSigning', sandboxSigning, ['private-key', 'sandbox-key'].includes(sandboxSigning));
  expect('signatureHeader', signatureHeader, isHeaderName(signatureHeader));
  expect('debugHeaders', debugHeaders, typeof debugHeaders === 'boolean');
  expect('allowProduction', allowProduction, typeof allowProduction === 'boolean');
  refuseProduction(allowProduction);
  return {
    ...{ port, host, timeout, clock, seed, state, sandboxSigning, signatureHeader, debugHeaders },
    allowTargets: allowTargets.map((target) => target.toLowerCase()),
    privateKey: simulatorKey('privateKey', options.privateKey ?? 'pri_sim_dev'),
    sandboxKey: simulatorKey('sandboxKey', options.sandboxKey ?? 'pri_sandbox_sim_dev'),
    retry: retryPauses(options.retry ?? 'fast'),
    logger: resolveLogger(options.logger),
  };
}

/**
 * Only keys that are plainly made for a simulator: a real one must never end up in a tool that prints and stores.
 *
 * @throws {ConfigurationError} that never quotes the key
 */
export function simulatorKey(option: 'privateKey' | 'sandboxKey', key: unknown): string {
  const fault = keyFault(key);
  if (fault) throw new ConfigurationError(`${option} ${fault}. Give ${OPTIONS[option]}.`);
  const text = String(key);
  const prefix = option === 'privateKey' ? 'pri_sim_' : 'pri_sandbox_sim_';
  if (!text.startsWith(prefix) || text === prefix) {
    throw new ConfigurationError(
      `${option} does not begin with "${prefix}", so it may be a real key. The simulator takes only keys made for it.`,
    );
  }
  if (!/^[!-9;-~]+$/.test(text)) {
    throw new ConfigurationError(`${option} has a space, a colon or a character outside ASCII in it.`);
  }
  if (seeds.keys.some((seed) => seed.key === text && seed.account !== 'acc_sim_dev')) {
    throw new ConfigurationError(`${option} is the seeded key of another account. Choose another one.`);
  }
  return text;
}

function expect(option: keyof SimulatorOptions, value: unknown, right: boolean): void {
  if (right) return;
  throw new ConfigurationError(`${option} is ${show(value)}; give ${OPTIONS[option]}.`);
}

function refuseProduction(allowed: boolean): void {
  if (allowed || process.env.NODE_ENV !== 'production') return;
  throw new ConfigurationError(
    'NODE_ENV is "production": the simulator is for development and tests. ' +
      'Unset NODE_ENV, or give allowProduction: true (--allow-production) if you are sure.',
  );
}

function resolveLogger(logger: Logger | false = false): Logger {
  if (logger === false) return silentLogger;
  expect('logger', logger, isLogger(logger));
  return logger;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isHeaderName(name: string): boolean {
  try {
    validateHeaderName(name);
    return true;
  } catch {
    return false;
  }
}
