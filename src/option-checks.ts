// One check for each kind of option: the value as it is used, or an error that says what to give instead.
import { ConfigurationError } from './errors.js';
import { isLogger, type Logger, silentLogger } from './logger.js';
import type { Observer } from './observer.js';
import type { IdempotencyStore } from './stores/store.js';

/** What happens to events by their `sandbox` flag. */
export type SandboxPolicy = 'accept' | 'ignore' | 'only';

/** The longest that a timer of Node can wait; it would take more for a millisecond. */
export const LONGEST_TIMER = 2_147_483_647;

export function milliseconds(option: string, value: unknown, least: number): number {
  if (typeof value === 'number' && value >= least && value <= LONGEST_TIMER) return value;
  throw new ConfigurationError(
    `${option} is ${show(value)}; give milliseconds from ${least} to ${LONGEST_TIMER.toLocaleString('en')}.`,
  );
}

export function wholeNumber(option: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw new ConfigurationError(`${option} is ${show(value)}; give a whole number from ${least}.`);
}

const SIZE = /^(\d+(?:\.\d+)?) *(b|kb|mb|gb|tb)?$/i;
const SIZE_UNITS: ReadonlyMap<string, number> = new Map([
  ['b', 1],
  ['kb', 1_024],
  ['mb', 1_048_576],
  ['gb', 1_073_741_824],
  ['tb', 1_099_511_627_776],
]);

/** Read here and not by raw-body, which takes a size that it cannot read for no limit at all. */
export function bodyLimit(value: unknown): number {
  const match = typeof value === 'string' ? SIZE.exec(value.trim()) : undefined;
  const bytes = match
    ? Math.floor(Number(match[1]) * (SIZE_UNITS.get(match[2]?.toLowerCase() ?? 'b') ?? 1))
    : value;
  if (Number.isSafeInteger(bytes) && (bytes as number) >= 1) return bytes as number;
  throw new ConfigurationError(
    `limit is ${show(value)}; give a number of bytes above 0, or text like "256kb" or "1mb".`,
  );
}

export function headerName(value: unknown): string {
  if (typeof value === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value)) return value.toLowerCase();
  throw new ConfigurationError(
    `signatureHeader is ${show(value)}; give the name of a header, like "X-SERVICE-SIGNATURE".`,
  );
}

export function sandboxPolicy(value: unknown): SandboxPolicy {
  if (value === 'accept' || value === 'ignore' || value === 'only') return value;
  throw new ConfigurationError(`sandbox is ${show(value)}; give "accept", "ignore" or "only".`);
}

export function namespace(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(value)) return value;
  throw new ConfigurationError(
    `namespace is ${show(value)}; give 1 to 64 letters, digits, dots, underscores or hyphens.`,
  );
}

/** Values by name. A list or a Map has no names of its own, so it would pass for an empty object. */
export function byName<Value extends object>(
  option: string,
  value: Value | undefined,
  content: string,
): Value {
  if (value === undefined) return {} as Value;
  if (typeof value === 'object' && value !== null && !(Symbol.iterator in value)) return value;
  const got = typeof value === 'object' && value !== null ? 'a list or a Map' : show(value);
  throw new ConfigurationError(`${option} is ${got}; give an object of ${content}.`);
}

export function store(store: unknown): IdempotencyStore<object> | undefined {
  if (store === undefined) return undefined;
  if (typeof (store as { claim?: unknown } | null)?.claim === 'function')
    return store as IdempotencyStore<object>;
  throw new ConfigurationError(
    `store is ${show(store)}; give a store such as memoryStore(), or false to remember nothing.`,
  );
}

export function logger(logger: unknown): Logger | undefined {
  if (logger === undefined) return undefined;
  if (logger === false) return silentLogger;
  if (isLogger(logger)) return logger;
  throw new ConfigurationError(
    `logger is ${show(logger)}; give a logger with info(), warn() and error(), or false for silence.`,
  );
}

export function observer(observer: unknown): Observer | undefined {
  if (observer === undefined) return undefined;
  if (typeof observer === 'object' && observer !== null) {
    const wrong = ['around', 'handler', 'settled'].find((method) => {
      const value = (observer as Record<string, unknown>)[method];
      return value !== undefined && typeof value !== 'function';
    });
    if (wrong === undefined) return observer as Observer;
  }
  throw new ConfigurationError(
    `observer is ${show(observer)}; give an object with functions around, handler or settled.`,
  );
}

/** A value for an error message: text and numbers as they are, of anything else only the kind. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined)
    return String(value);
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}
