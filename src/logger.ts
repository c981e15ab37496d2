// The logger, and what may be logged: codes, ids and names, never bodies, keys or messages of others.
import { ANSWERS, ConfigurationError, WebhookError } from './errors.js';

/** One level of a pino-compatible logger. */
export interface LogMethod {
  (fields: object, message?: string): void;
  (message: string): void;
}

/** The part of a pino-compatible logger that is used. */
export interface Logger {
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  child?(bindings: Record<string, unknown>): Logger;
}

export type LogLevel = 'info' | 'warn' | 'error';

/** Longest id or name in a log line. */
const MAX_LENGTH = 64;
const THROTTLE_MS = 10_000;

const nothing: LogMethod = () => {};
export const silentLogger: Logger = {
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
};

export function isLogger(value: unknown): value is Logger {
  if (typeof value !== 'object' && typeof value !== 'function') return false;
  const levels = value as Partial<Logger> | null;
  const hasLevels = ['info', 'warn', 'error'].every(
    (level) => typeof levels?.[level as LogLevel] === 'function',
  );
  return hasLevels && !isTextFirst(value);
}

/**
 * winston, LogTape and npmlog have the same methods and take the text first: called like pino, they lose text or fields.
 * They are known by what no logger like pino has.
 */
export function isTextFirst(value: unknown): boolean {
  const marks = value as Readonly<Record<string, unknown>> | null | undefined;
  return (
    (typeof marks?.configure === 'function' && marks.transports !== undefined) ||
    (typeof marks?.getChild === 'function' && Array.isArray(marks.category)) ||
    (typeof marks?.addLevel === 'function' && Array.isArray(marks.record))
  );
}

/** pino-http puts a logger on each request. A getter of another middleware may throw. */
export function loggerOf(request: object): Logger | undefined {
  try {
    const { log } = request as { readonly log?: unknown };
    return isLogger(log) ? log : undefined;
  } catch {
    return undefined;
  }
}

/** Ignores errors of the logger: they must not lose an event. */
export function writeLog(logger: Logger, level: LogLevel, fields: object, message: string): void {
  try {
    const written: unknown = logger[level](fields, message);
    // An asynchronous logger may reject.
    if (written !== undefined) Promise.resolve(written).catch(() => {});
  } catch {}
}

/** A logger that adds the fields to every line; the same logger if it cannot make one. */
export function childLogger(logger: Logger, fields: Record<string, unknown>): Logger {
  try {
    // The first argument of child() in tslog is its settings; what it calls a sub-logger takes fields too.
    const { getSubLogger } = logger as { getSubLogger?: (settings: object, fields: object) => unknown };
    const child = getSubLogger ? getSubLogger.call(logger, {}, fields) : logger.child?.(fields);
    return isLogger(child) ? child : logger;
  } catch {
    return logger;
  }
}

/** Cuts an id or name to a length that fits a log line. */
export function shorten(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}

/** Suppresses repeated lines, so that a stranger cannot fill the disk. */
export class Throttle {
  readonly #reasons = new Map<string, { until: number; suppressed: number }>();

  /** How many lines were suppressed since the last one for this reason; undefined to suppress this one too. */
  admit(reason: string): number | undefined {
    const now = performance.now();
    const known = this.#reasons.get(reason);
    if (known && now < known.until) {
      known.suppressed += 1;
      return undefined;
    }
    this.#reasons.set(reason, { until: now + THROTTLE_MS, suppressed: 0 });
    return known?.suppressed ?? 0;
  }
}

const MAX_MESSAGE = 1_000;
const SYSTEM_OR_SQL = /^(?:E[A-Z0-9]{2,14}|EAI_AGAIN|[0-9][0-9A-Z]{4})$/;
const SYSTEM = /^(?:E[A-Z]{3,14}|EAI_AGAIN)$/;

/** The first word of an error reply of Redis; one from inside a script of Redis 6 has more text before it. */
const REPLY = /^(?:ERR .{0,200}@user_script: ?\d+: )?-?([A-Z]{2,20})\b/;
const REDIS_CODES: ReadonlySet<string> = new Set(
  (
    'ASK BUSY BUSYGROUP BUSYKEY CLUSTERDOWN CROSSSLOT DENIED EXECABORT INPROG IOERR LOADING MASTERDOWN MISCONF MOVED ' +
    'NOAUTH NOGOODSLAVE NOGROUP NOMASTERLINK NOPERM NOPROTO NOREPLICAS NOSCRIPT NOTBUSY OOM READONLY TRYAGAIN ' +
    'UNBLOCKED UNKILLABLE WRONGPASS WRONGTYPE'
  ).split(' '),
);

/** The code with which Redis refused a command. @param anyWord whether the error is known to be a reply of Redis */
export function redisCodeOf(
  { message }: { readonly message?: unknown },
  anyWord = false,
): string | undefined {
  const code = typeof message === 'string' ? REPLY.exec(message)?.[1] : undefined;
  return code !== undefined && (anyWord || REDIS_CODES.has(code)) ? code : undefined;
}

/** What is logged about an error of a handler, a store or an observer. */
export interface ErrorDescription {
  readonly type: string;
  /** A system, SQL or Redis code, or one of this package. */
  readonly code?: string;
  /** Of a {@link ConfigurationError}, which quotes no customer. */
  readonly message?: string;
  /** `file:line:column` of frames, from the innermost one that is not in a package or in Node itself. */
  readonly at?: string[];
}

/**
 * The type of an error, its code, and where it came from. The message of others is left out, because it may quote a customer.
 * Getters of the error may throw.
 */
export function describeError(error: unknown): ErrorDescription {
  try {
    if (!isError(error)) return { type: error === null ? 'null' : typeof error };
    // Not its own `constructor`, which may be data that was copied into it.
    const type = /^[\w$]{1,64}$/.exec(Object.getPrototypeOf(error).constructor.name)?.[0] ?? 'Error';
    const given = String((error as { code?: unknown }).code);
    const code = WebhookError.is(error) ? given : (SYSTEM_OR_SQL.exec(given)?.[0] ?? redisCodeOf(error));
    const message = ConfigurationError.is(error) ? error.message.slice(0, MAX_MESSAGE) : undefined;
    const at = describeFrames(error);
    return { type, ...(code && { code }), ...(message && { message }), ...(at && { at }) };
  } catch {
    return { type: 'unreadable' };
  }
}

/** Of any realm: jsdom and vm have errors of their own. A DOMException is not a native error. */
function isError(value: unknown): value is Error {
  return (
    value instanceof Error ||
    /^\[object (?:Error|DOMException)\]$/.test(Object.prototype.toString.call(value))
  );
}

/** Base name and line, without what a bundler adds to the name. */
const FILE_AND_LINE = /(?:^|[\\/])([^\\/?#:\s]{1,60})(?:\?[^\\/\s]{0,100})?:(\d{1,7}):\d+$/;
/** Of Node, SQL, Prisma, MySQL or MongoDB. Any other word might be one that a customer typed, such as a coupon. */
const MADE_CODE = /^(?:ERR_[A-Z_]{1,36}|[0-9][0-9A-Z]{4}|P\d{4}|\d{1,5})$/;
const MAX_CAUSE = 200;

/**
 * Why a handler failed, in one line that tells bugs apart: `mark-paid: TypeError ECONNREFUSED at orders.ts:10`. It names the
 * handler, the class of the error, its code, and the innermost frame of the user. It never holds a word of a message, which may
 * quote a customer. Getters of the error may throw.
 */
export function causeOf(handler: string, error: unknown): string {
  const { type, at: [frame = ''] = [] } = describeError(error);
  const [, file, line] = (NOT_OF_THE_USER.test(frame) ? undefined : FILE_AND_LINE.exec(frame)) ?? [];
  return causeText(handler, [type, codeOf(error), file && `at ${file}:${line}`].filter(Boolean).join(' '));
}

/** The same of a failure that no error of the user says, such as a deadline. */
export function causeText(handler: string, what: string): string {
  // Line breaks would forge a log line, and quotes end the cause in a search.
  return `${shorten(handler.replace(/["\p{C}\p{Z}]+/gu, ' '))}: ${what}`.slice(0, MAX_CAUSE);
}

/** Only codes in the form of a known maker; one that is not of the system is also left out if the message has it. */
function codeOf(error: unknown): string | undefined {
  try {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    const text = typeof code === 'number' ? String(code) : code;
    if (typeof text !== 'string') return undefined;
    if (SYSTEM.test(text) || (WebhookError.is(error) && Object.hasOwn(ANSWERS, text))) return text;
    return MADE_CODE.test(text) && !String(message).includes(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

const MAX_STACK = 4_000;

const HIDDEN =
  'Its message is not logged, because it may quote a customer. To see it, set NODE_ENV=development, or catch and log it in the handler.';

/**
 * The fields of a log line. In development and tests they include the message and the stack.
 *
 * @param simulated whether a key of the simulator signed the delivery
 */
export function handlerErrorFields(
  error: unknown,
  simulated = false,
): { error: ErrorDescription & { stack?: string }; hint?: string } {
  const description = describeError(error);
  if (!isDevelopment(simulated)) {
    return description.message ? { error: description } : { error: description, hint: HIDDEN };
  }
  try {
    const { message, stack } =
      typeof error === 'string' ? { message: error, stack: undefined } : (error as Error);
    return {
      error: {
        ...description,
        ...(typeof message === 'string' && { message: message.slice(0, MAX_MESSAGE) }),
        ...(typeof stack === 'string' && { stack: stack.slice(0, MAX_STACK) }),
      },
    };
  } catch {
    return { error: description };
  }
}

/** Few set NODE_ENV on their own machine. There the simulator signs, or somebody reads the terminal. */
function isDevelopment(simulated: boolean): boolean {
  const { NODE_ENV } = process.env;
  if (NODE_ENV) return NODE_ENV === 'development' || NODE_ENV === 'test';
  return simulated || process.stdout?.isTTY === true;
}

// Only paths and URLs: code can set a stack to any text, which might quote a customer.
const FRAME =
  /^\s{4}at (?:.{1,100} \(|async )?((?:file:\/|https?:\/|webpack(?:-internal)?:\/|node:|ext:|bun:|\/|[A-Za-z]:[\\/]).{1,300}?:\d+:\d+)\)?$/;
/** A frame without a file, such as `Array.map`. Bun names such files in its own way. */
const NO_FILE = /^\s{4}at .{1,100} \((?:<anonymous>|unknown|(?:native)?(?::\d+){0,2}|index \d+)\)$/;
/** Of a runtime, or of a package. The cache of Deno has no `node_modules`, but a folder `npm` with one for each registry. */
const NOT_OF_THE_USER =
  /^(?:node|ext|bun):|[\\/](?:node_modules|npm[\\/][\w-]+\.[\w.-]+)[\\/]|[\\/]payment-webhooks[\\/]dist[\\/]/;
const MAX_FRAMES = 5;
/** Frames are a few hundred bytes each, and most stacks have ten. */
const MAX_FRAME_TEXT = 16_384;
/** The start of a stack up to the message: `Name: `, or the name alone if the message is empty. */
const HEADER = /^(?:[^\n]{1,200}: )?$/;
const BARE_HEADER = /^[\w$.]{1,100}(?: \[\w{1,60}\])?(?=\n)/;

/**
 * `file:line:column` of frames, or undefined if message and frames cannot be told apart. They begin with the innermost frame
 * of the user: what a driver called inside itself says less.
 */
function describeFrames(error: Error): string[] | undefined {
  const { stack, message } = error;
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined;
  // V8 writes "Name: message" and then the frames. A message may itself look like a frame, so cut it away. It may also have
  // been changed since: then the stack still quotes the first one, and where that ends cannot be known.
  const start = message === '' ? BARE_HEADER.exec(stack)?.[0].length : stack.indexOf(message);
  if (start === undefined || start < 0 || (message !== '' && !HEADER.test(stack.slice(0, start))))
    return undefined;
  const end = start + message.length;
  const [rest, ...lines] = stack.slice(end, end + MAX_FRAME_TEXT).split('\n');
  if (rest !== '') return undefined;
  const frames: string[] = [];
  for (const line of lines) {
    const frame = FRAME.exec(line)?.[1];
    if (frame !== undefined) frames.push(frame);
    else if (!NO_FILE.test(line)) break;
  }
  const first = Math.max(
    frames.findIndex((frame) => !NOT_OF_THE_USER.test(frame)),
    0,
  );
  return frames.length > 0 ? frames.slice(first, first + MAX_FRAMES) : undefined;
}

/** The key of the receiver's logger on `hooks.deadLetters`, for a page of another copy of this package. */
export const LETTERS_LOGGER = Symbol.for('payment-webhooks.dead-letters.logger');

/** Whether this is Cloudflare Workers, or workerd. */
export function runsInWorker(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent === 'Cloudflare-Workers';
}
