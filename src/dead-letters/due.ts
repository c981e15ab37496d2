// When a dead letter is retried automatically. Computed from the fields of a letter, so that no table needs a column for it.
import type { DeadLetter } from '../claims/dead-letter-store.js';
import type { Issue, Rejection } from '../errors.js';

/** Where the letter of an event whose handler asked for a retry says when. */
const RETRY_AFTER = 'Retry-After';

/** What a letter keeps of `RetryAfterError`: from when on, and when the handler asked. */
export function retryNote({ code, retryAfterMs = 0 }: Rejection): Issue[] {
  if (code !== 'RETRY_LATER') return [];
  const now = Date.now();
  // The largest time that a Date can hold.
  const until = Math.min(now + retryAfterMs, 8.64e15);
  return [
    { path: RETRY_AFTER, message: `${new Date(until).toISOString()}, asked ${new Date(now).toISOString()}` },
  ];
}

function retryOf({
  code,
  issues,
}: DeadLetter): { readonly until: number; readonly asked: number } | undefined {
  if (code !== 'RETRY_LATER') return undefined;
  const note = issues.find(({ path }) => path === RETRY_AFTER)?.message.split(', asked ');
  const [until, asked] = (note ?? []).map((time) => Date.parse(time));
  return Number.isFinite(until) && Number.isFinite(asked)
    ? { until: until as number, asked: asked as number }
    : undefined;
}

export function pointsPassed({ keptAt }: DeadLetter, points: readonly number[], now: number): number {
  return points.filter((point) => keptAt.getTime() + point <= now).length;
}

/**
 * How many points have been used, as far as the letter tells: each is an attempt after the first. The service may have made
 * more attempts than there are points.
 */
export function pointsUsed(letter: DeadLetter, passed: number): number {
  return Math.min(letter.attempts - 1, passed);
}

/**
 * When it is retried next; undefined if it is not retried again.
 *
 * @param used of how many points the try was made
 */
export function nextTryAt(letter: DeadLetter, points: readonly number[], used: number): number | undefined {
  const keptAt = letter.keptAt.getTime();
  const asked = retryOf(letter);
  if (asked) return asked.asked < keptAt + (points.at(-1) ?? 0) ? asked.until : undefined;
  const point = points[used];
  return point === undefined ? undefined : keptAt + point;
}

/** By what the letter alone tells. */
export function nextTry(
  letter: DeadLetter,
  { points, reasons }: { readonly points: readonly number[]; readonly reasons: readonly string[] },
): Date | undefined {
  if (!reasons.includes(letter.reason) || letter.discarded) return undefined;
  const at = nextTryAt(letter, points, pointsUsed(letter, pointsPassed(letter, points, Date.now())));
  return at === undefined ? undefined : new Date(at);
}
