// What a logger is, and what may be logged: codes, ids and names, never what a body, key or handler says.

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
const LONGEST = 64;
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
  return ['info', 'warn', 'error'].every((level) => typeof levels?.[level as LogLevel] === 'function');
}

/** pino-http puts a logger on each request. */
export function loggerOf(request: object): Logger | undefined {
  const { log } = request as { readonly log?: unknown };
  return isLogger(log) ? log : undefined;
}

/** Logs, and swallows what a broken logger throws: it must not cost an event. */
export function writeLog(logger: Logger, level: LogLevel, fields: object, message: string): void {
  try {
    const written: unknown = logger[level](fields, message);
    // A logger that sends its lines somewhere may be asynchronous.
    if (written !== undefined) Promise.resolve(written).catch(() => {});
  } catch {}
}

/** A logger that adds the fields to every line; the logger itself when it cannot make one. */
export function childLogger(logger: Logger, fields: Record<string, unknown>): Logger {
  try {
    const child = logger.child?.(fields);
    return isLogger(child) ? child : logger;
  } catch {
    return logger;
  }
}

/** A checked id or name, cut to a length that no log line suffers from. */
export function shorten(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/** Holds back repeated lines: a stranger must not be able to fill the disk. */
export class Throttle {
  readonly #reasons = new Map<string, { until: number; suppressed: number }>();

  /** How many lines were held back since the last one for this reason; undefined: hold this one back too. */
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
