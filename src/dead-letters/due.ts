// Computes from a dead letter when it is retried next, so that no table needs a column for it.
import type { DeadLetter } from '../contracts/dead-letter-store.js';
import type { Issue, Rejection } from '../errors.js';

/** The path of the issue in which a letter keeps what a `RetryAfterError` asked for. */
const RETRY_AFTER = 'Retry-After';

/** Notes from when on to retry, and when the handler asked for that. */
export function retryNote(rejection: Rejection | undefined): Issue[] {
  if (rejection?.code !== 'RETRY_LATER') return [];
  const now = Date.now();
  // The largest time that a Date can hold.
  const until = Math.min(now + (rejection.retryAfterMs ?? 0), 8.64e15);
  return [
    { path: RETRY_AFTER, message: `${new Date(until).toISOString()}, asked ${new Date(now).toISOString()}` },
  ];
}

function readRetryNote({ code, issues }: DeadLetter): { until: number; asked: number } | undefined {
  if (code !== 'RETRY_LATER') return undefined;
  const note = issues.find(({ path }) => path === RETRY_AFTER)?.message.split(', asked ');
  const [until = Number.NaN, asked = Number.NaN] = (note ?? []).map((time) => Date.parse(time));
  return Number.isNaN(until) || Number.isNaN(asked) ? undefined : { until, asked };
}

export function pointsPassed({ keptAt }: DeadLetter, points: readonly number[], now: number): number {
  return points.filter((point) => keptAt.getTime() + point <= now).length;
}

/** How many points are used, as far as the letter tells: the service may have made more attempts than there are points. */
export function pointsUsed(letter: DeadLetter, passed: number): number {
  return Math.min(letter.attempts - 1, passed);
}

/**
 * When it is retried next; undefined if it is not retried again.
 *
 * @param used how many points have had their try
 */
export function nextTryAt(letter: DeadLetter, points: readonly number[], used: number): number | undefined {
  const keptAt = letter.keptAt.getTime();
  const note = readRetryNote(letter);
  if (note) return note.asked < keptAt + (points.at(-1) ?? 0) ? note.until : undefined;
  const point = points[used];
  return point === undefined ? undefined : keptAt + point;
}

/** The same, from the letter alone. */
export function nextTry(
  letter: DeadLetter,
  { points, reasons }: { readonly points: readonly number[]; readonly reasons: readonly string[] },
): Date | undefined {
  if (!reasons.includes(letter.reason) || letter.discarded) return undefined;
  const at = nextTryAt(letter, points, pointsUsed(letter, pointsPassed(letter, points, Date.now())));
  return at === undefined ? undefined : new Date(at);
}
