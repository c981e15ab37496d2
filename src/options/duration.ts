// Durations as people write them ("30d", "5 minutes", 1500) in milliseconds.

/** Milliseconds. The longest that a timer of Node can wait: it takes anything longer for one millisecond. */
export const LONGEST_TIMER = 2 ** 31 - 1;

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

/** Milliseconds (also for text without a unit), or undefined for what is no duration: a negative or endless number, or other text. */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const match = TEXT.exec(value.trim());
  if (!match) return undefined;
  const unit = ['ms', 's', 'm', 'h', 'd', 'w'].find((_, index) => match[index + 2] !== undefined) ?? 'ms';
  return Number(match[1]) * (UNITS.get(unit) ?? 1);
}
