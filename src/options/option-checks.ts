// Checks for each kind of option: they return the value as it is used, or throw.
import { constants } from 'node:buffer';
import { parse as parseSize } from 'bytes';
import type { DeadLetterStore } from '../contracts/dead-letter-store.js';
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import type { Inbox } from '../contracts/inbox.js';
import { ConfigurationError } from '../errors.js';
import { isCredential } from '../http/headers.js';
import { isLogger, isTextFirst, type Logger, silentLogger } from '../logger.js';
import { show } from '../misuse.js';
import type { Observer } from '../observer.js';
import { isHeaderName } from '../signature.js';
import {
  defineOptions,
  duration,
  durationFrom,
  integerFrom,
  type OptionRule,
  oneOf,
  option,
  plainObject,
} from './define-options.js';

/** What happens to events by their `sandbox` flag. */
export type SandboxPolicy = 'accept' | 'ignore' | 'only';

/** What happens to a declared event whose payload does not fit. */
export type DriftPolicy = 'keep' | 'handle';

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

/** The values of a plain object by name. */
export function ownEntries<Value>(
  value: { readonly [name: string]: Value } | undefined,
  name: string,
  content: string,
): [name: string, value: Value][] {
  const object = plainObject(value, name, content);
  const inherited = inheritedEvent(object);
  if (inherited === undefined) return Object.entries(object);
  throw new ConfigurationError(
    `${name} inherits ${show(inherited)}, but only own properties are used. Pass an object of ${content}.`,
  );
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

/** Both parts of an inbox, each where it may be given alone. */
function isInbox(value: unknown): value is Inbox<object> {
  const { store, deadLetters } = (value ?? {}) as {
    readonly store?: unknown;
    readonly deadLetters?: unknown;
  };
  return isStore(store) && keepsLetters(deadLetters);
}

export function inbox(value: unknown): Inbox<object> | undefined {
  if (value === undefined || isInbox(value)) return value;
  const other = isStore(value) ? 'store' : keepsLetters(value) ? 'deadLetters' : undefined;
  const cure = other
    ? `Pass it as ${other}, or pass an inbox`
    : typeof value === 'function'
      ? 'Call it'
      : 'Pass an inbox';
  throw new ConfigurationError(
    `inbox is ${other ? 'a store' : show(value)}. ${cure}, such as postgresInbox({ pool }).`,
  );
}

function isStore(value: unknown): value is IdempotencyStore<object> {
  return typeof (value as { claim?: unknown } | null | undefined)?.claim === 'function';
}

/** `false`: no event ids are remembered. */
export function store(store: unknown): IdempotencyStore<object> | false | undefined {
  if (store === undefined || store === false) return store;
  if (isStore(store)) return store;
  refuseInbox('store', store);
  throw new ConfigurationError(
    `store is ${show(store)}. Pass a store such as memoryStore(), or false to remember nothing.`,
  );
}

function refuseInbox(option: 'store' | 'deadLetters', value: unknown): void {
  if (isInbox(value))
    throw new ConfigurationError(`${option} is an inbox. Pass it as inbox: receiver({ inbox }).`);
}

const KEEPING = ['keep', 'update', 'list', 'read', 'remove', 'discard'] as const;

export function deadLetters(store: unknown): DeadLetterStore | undefined {
  if (store === undefined) return undefined;
  if (keepsLetters(store)) return store;
  refuseInbox('deadLetters', store);
  throw new ConfigurationError(
    `deadLetters is ${show(store)}. Pass a store of dead letters such as memoryDeadLetters().`,
  );
}

function keepsLetters(value: unknown): value is DeadLetterStore {
  const methods = value as Partial<Record<string, unknown>> | null | undefined;
  return KEEPING.every((method) => typeof methods?.[method] === 'function');
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

const REASON = oneOf<RedriveReason>('failed', 'unfinished', 'unknown', 'invalid');
const REDRIVE_OPTIONS = defineOptions(
  {
    delays: option(['1m', '5m', '30m', '2h', '12h', '1d'], dueTimes),
    reasons: option(['failed', 'unfinished'], (value, name): readonly RedriveReason[] =>
      list(value, name, "reasons: ['failed']").map((reason, index) =>
        REASON.check(reason, `${name}[${index}]`),
      ),
    ),
    every: duration('30s'),
    concurrency: option(1, integerFrom(1)),
  } satisfies Record<keyof RedriveOptions, OptionRule<unknown>>,
  'redrive',
);

/** All in milliseconds. */
export interface RedriveRules {
  /** When each try is due, counted from when the letter was kept. */
  readonly dueAfterMs: readonly number[];
  readonly reasons: readonly RedriveReason[];
  readonly every: number;
  readonly concurrency: number;
}

export function redrive(value: unknown): RedriveRules | undefined {
  if (value === false) return undefined;
  if (value !== true && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    throw new ConfigurationError(
      `redrive is ${show(value)}. Pass true, or an object of delays, reasons, every and concurrency.`,
    );
  }
  const { delays: dueAfterMs, ...rules } = REDRIVE_OPTIONS.read(value === true ? {} : value);
  return { dueAfterMs, ...rules };
}

function dueTimes(delays: unknown, name: string): readonly number[] {
  let sum = 0;
  return list(delays, name, "durations: ['1m', '5m']").map((delay, index) => {
    sum += durationFrom(1)(delay, `${name}[${index}]`);
    return sum;
  });
}

function list(value: unknown, name: string, content: string): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  throw new ConfigurationError(`${name} is ${show(value)}. Pass an array of ${content}.`);
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
