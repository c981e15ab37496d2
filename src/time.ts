// Durations such as "30d" and 1500 in milliseconds, the longest timer, and a deadline for a promise.
import { ConfigurationError } from './errors.js';
import { show } from './misuse.js';

/** Milliseconds. The maximum of `setTimeout`, which treats anything longer as one millisecond. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
]);

const TEXT =
  /^(\d+(?:\.\d+)?) ?(?:(ms|milliseconds?)|(s|secs?|seconds?)|(m|mins?|minutes?)|(h|hrs?|hours?)|(d|days?)|(w|weeks?))?$/i;

/** Milliseconds (also for text without a unit), or undefined if it is not a duration: a negative or infinite number, or other text. */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const match = TEXT.exec(value.trim());
  if (!match) return undefined;
  const unit = ['ms', 's', 'm', 'h', 'd', 'w'].find((_, index) => match[index + 2] !== undefined) ?? 'ms';
  return Number(match[1]) * (UNITS.get(unit) ?? 1);
}

/** Default time for which ids are remembered. It is the replay window: the service signs no timestamp. */
export const DEFAULT_RETENTION = '30d';

/** Databases store time in fewer bits than JavaScript. */
const MAX_RETENTION_MS = 36_500 * 86_400_000;

/** @throws {ConfigurationError} unless it is a duration from a millisecond to a century */
export function retentionMs(retention: number | string = DEFAULT_RETENTION): number {
  const ms = parseDuration(retention);
  if (ms === undefined || ms < 1 || ms > MAX_RETENTION_MS) {
    throw new ConfigurationError(
      `retention is ${show(retention)}; pass milliseconds, or a string like "12h" or "30d", up to "36500d".`,
    );
  }
  return ms;
}

/** Settles like the promise, or resolves with `late()` after this many milliseconds. */
export function withDeadline<Value>(promise: Promise<Value>, ms: number, late: () => Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late()), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
