// Checks for each kind of option: they return the value as it is used, or throw.
import { constants } from 'node:buffer';
import { parse as parseSize } from 'bytes';
import type { DeadLetterStore } from '../contracts/dead-letter-store.js';
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import { ConfigurationError } from '../errors.js';
import { isCredential } from '../http/headers.js';
import { isLogger, isTextFirst, type Logger, silentLogger } from '../logger.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import type { Observer } from '../observer.js';
import { isHeaderName } from '../signature.js';
import { MAX_TIMER_MS, parseDuration } from '../time.js';
import { type OptionRule, oneOf, option } from './define-options.js';

/** Milliseconds for a timer. */
export function duration(fallback: number | string, least = 1): OptionRule<number> {
  return option(fallback, (value, name) => milliseconds(name, value, least));
}

/** What happens to events by their `sandbox` flag. */
export type SandboxPolicy = 'accept' | 'ignore' | 'only';

/** What happens to a declared event whose payload does not fit. */
export type DriftPolicy = 'keep' | 'handle';

export function milliseconds(option: string, value: unknown, least: number): number {
  const ms = parseDuration(value);
  if (ms !== undefined && ms >= least && ms <= MAX_TIMER_MS) return ms;
  throw new ConfigurationError(
    `${option} is ${show(value)}. Pass milliseconds from ${least} to ${MAX_TIMER_MS.toLocaleString('en')}, or a string like "10s".`,
  );
}

export function boolean(option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ConfigurationError(`${option} is ${show(value)}. Pass true or false.`);
}

export function wholeNumber(option: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw new ConfigurationError(`${option} is ${show(value)}. Pass an integer from ${least}.`);
}

/** JSON is parsed from a string, and Node limits its length to 2²⁹ − 24 characters. */
const MAX_BODY = constants.MAX_STRING_LENGTH;

/** `bytes` also accepts text that only begins with a number, and raw-body treats a limit that it cannot parse as none. */
const SIZE = /^\d+(?:\.\d+)? *(?:b|kb|mb|gb|tb)?$/i;

export function bodyLimit(value: unknown): number {
  const text = typeof value === 'string' && SIZE.test(value.trim()) ? value.trim() : undefined;
  const size = text === undefined ? value : parseSize(text);
  if (Number.isSafeInteger(size) && (size as number) > MAX_BODY) {
    throw new ConfigurationError(
      `limit is ${show(value)}. Pass at most ${MAX_BODY.toLocaleString('en')} bytes, such as "511mb". A larger body cannot be parsed.`,
    );
  }
  if (Number.isSafeInteger(size) && (size as number) >= 1) return size as number;
  throw new ConfigurationError(
    `limit is ${show(value)}. Pass a number of bytes above 0, or a string like "256kb" or "1mb".`,
  );
}

export function headerName(value: unknown): string {
  if (isHeaderName(value)) return value.toLowerCase();
  throw new ConfigurationError(
    `signatureHeader is ${show(value)}. Pass the name of a header, like "X-SERVICE-SIGNATURE".`,
  );
}

export function namespace(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(value)) return value;
  throw new ConfigurationError(
    `namespace is ${show(value)}. Pass 1 to 64 letters, digits, dots, underscores or hyphens.`,
  );
}

/** Values by name. A list or a Map is refused: its entries would be ignored. */
export function byName<Value extends object>(
  option: string,
  value: Value | undefined,
  content: string,
): Value {
  if (value === undefined) return {} as Value;
  if (typeof value === 'object' && value !== null && !(Symbol.iterator in value)) {
    const inherited = inheritedEvent(value);
    if (inherited === undefined) return value;
    throw new ConfigurationError(
      `${option} inherits ${show(inherited)}, but only own properties are used. Pass an object of ${content}.`,
    );
  }
  const got = typeof value === 'object' && value !== null ? 'an array or a Map' : show(value);
  throw new ConfigurationError(`${option} is ${got}. Pass an object of ${content}.`);
}

/** `Object.entries()` skips inherited methods, so their events would be answered 200 without a handler. */
function inheritedEvent(value: object): string | undefined {
  for (let from = value; ; ) {
    from = Object.getPrototypeOf(from);
    if (from === null || from === Object.prototype) return undefined;
    // Other methods are not event names.
    const name = Object.getOwnPropertyNames(from).find(
      (name) => /[.*]/.test(name) && !Object.hasOwn(value, name),
    );
    if (name !== undefined) return name;
  }
}

/** `false`: no event ids are remembered. */
export function store(store: unknown): IdempotencyStore<object> | false | undefined {
  if (store === undefined || store === false) return store;
  if (typeof (store as { claim?: unknown } | null)?.claim === 'function')
    return store as IdempotencyStore<object>;
  throw new ConfigurationError(
    `store is ${show(store)}. Pass a store such as memoryStore(), or false to remember nothing.`,
  );
}

const KEEPING = ['keep', 'update', 'list', 'read', 'remove', 'discard'] as const;

export function deadLetters(store: unknown): DeadLetterStore | undefined {
  if (store === undefined) return undefined;
  const methods = store as Partial<Record<string, unknown>> | null;
  if (KEEPING.every((method) => typeof methods?.[method] === 'function')) return store as DeadLetterStore;
  throw new ConfigurationError(
    `deadLetters is ${show(store)}. Pass a store of dead letters such as memoryDeadLetters().`,
  );
}

export function keepHeaders(names: unknown = []): readonly string[] {
  if (!Array.isArray(names) || !names.every(isHeaderName))
    throw new ConfigurationError(`keepHeaders is ${show(names)}. Pass names of headers: ['x-tenant'].`);
  const kept = names.map((name) => name.toLowerCase());
  const credential = kept.find(isCredential);
  if (credential === undefined) return kept;
  throw new ConfigurationError(
    `keepHeaders names ${credential}, a header that carries credentials. Remove it: dead letters never keep credentials.`,
  );
}

/** The reasons for which a letter can be retried automatically. */
export type RedriveReason = 'failed' | 'unfinished' | 'unknown' | 'invalid';

/** When dead letters are retried automatically. */
export interface RedriveOptions {
  /** How long to wait before each try, from the one before it. @default ['1m', '5m', '30m', '2h', '12h', '1d'] */
  readonly delays?: readonly (number | string)[] | undefined;
  /** Letters with these reasons. @default ['failed', 'unfinished'] */
  readonly reasons?: readonly RedriveReason[] | undefined;
  /** How often to look for new letters: a first try can be that late. @default '30s' */
  readonly every?: number | string | undefined;
  /** Letters at once. @default 1 */
  readonly concurrency?: number | undefined;
}

/** All in milliseconds. */
export interface RedriveRules {
  /** When each try is due, counted from when the letter was kept. */
  readonly dueAfterMs: readonly number[];
  readonly reasons: readonly RedriveReason[];
  readonly every: number;
  readonly concurrency: number;
}

const DELAYS = ['1m', '5m', '30m', '2h', '12h', '1d'];
const REDRIVEN = oneOf<RedriveReason>('failed', 'unfinished', 'unknown', 'invalid');

export function redrive(value: unknown): RedriveRules | undefined {
  if (value === false) return undefined;
  if (value !== true && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    throw new ConfigurationError(
      `redrive is ${show(value)}. Pass true, or an object of delays, reasons, every and concurrency.`,
    );
  }
  const given = value === true ? {} : value;
  refuseUnknownOptions(given, ['delays', 'reasons', 'every', 'concurrency'], 'redrive: ');
  const {
    delays = DELAYS,
    reasons = ['failed', 'unfinished'],
    every = '30s',
    concurrency = 1,
  } = given as RedriveOptions;
  let sum = 0;
  return {
    dueAfterMs: list('redrive.delays', delays, "durations: ['1m', '5m']").map((delay, index) => {
      sum += milliseconds(`redrive.delays[${index}]`, delay, 1);
      return sum;
    }),
    reasons: list('redrive.reasons', reasons, "reasons: ['failed']").map((reason, index) =>
      REDRIVEN.check(reason, `redrive.reasons[${index}]`),
    ),
    every: milliseconds('redrive.every', every, 1),
    concurrency: wholeNumber('redrive.concurrency', concurrency, 1),
  };
}

function list(option: string, value: unknown, content: string): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  throw new ConfigurationError(`${option} is ${show(value)}. Pass an array of ${content}.`);
}

const WRAP_TEXT_FIRST =
  'takes the text first, as winston and LogTape do, so text or fields would be lost. ' +
  'Wrap it: const level = (name) => (fields, text) => ' +
  '(text === undefined ? log[name](fields) : log[name](text, fields)); ' +
  "and pass { info: level('info'), warn: level('warn'), error: level('error') }.";

const WRAP_NEST =
  'has log() in place of info(), as in NestJS. Wrap it: const level = (name) => (fields, text) => ' +
  'log[name](text === undefined ? fields : { msg: text, ...fields }); ' +
  "and pass { info: level('log'), warn: level('warn'), error: level('error') }.";

export function logger(logger: unknown): Logger | undefined {
  if (logger === undefined) return undefined;
  if (logger === false) return silentLogger;
  if (isLogger(logger)) return logger;
  if (isTextFirst(logger)) throw new ConfigurationError(`logger ${WRAP_TEXT_FIRST}`);
  const levels = logger as { readonly log?: unknown; readonly info?: unknown } | null;
  if (typeof levels?.log === 'function' && levels.info === undefined) {
    throw new ConfigurationError(`logger ${WRAP_NEST}`);
  }
  throw new ConfigurationError(
    `logger is ${show(logger)}. Pass a logger like pino, with info(fields, text), warn() and error(), or false for silence.`,
  );
}

export function observer(observer: unknown): Observer | undefined {
  if (observer === undefined) return undefined;
  if (typeof observer === 'object' && observer !== null) {
    const wrong = ['around', 'handler', 'settled', 'exhausted'].find((method) => {
      const value = (observer as Record<string, unknown>)[method];
      return value !== undefined && typeof value !== 'function';
    });
    if (wrong === undefined) return observer as Observer;
  }
  throw new ConfigurationError(
    `observer is ${show(observer)}. Pass an object with functions around, handler, settled or exhausted.`,
  );
}
