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

/** How many tries are due by now. @param dueAfterMs when each is due, counted from when the letter was kept */
export function countDue({ keptAt }: DeadLetter, dueAfterMs: readonly number[], now: number): number {
  return dueAfterMs.filter((ms) => keptAt.getTime() + ms <= now).length;
}

/** How many of them were made, as far as the letter tells: attempts of the service count too, and there may be more. */
export function countMade(letter: DeadLetter, triesDue: number): number {
  return Math.min(letter.attempts - 1, triesDue);
}

/**
 * When it is retried next; undefined if it is not retried again.
 *
 * @param triesMade by the service or by `redrive`
 */
export function nextTryAt(
  letter: DeadLetter,
  dueAfterMs: readonly number[],
  triesMade: number,
): number | undefined {
  const keptAt = letter.keptAt.getTime();
  const note = readRetryNote(letter);
  if (note) return note.asked < keptAt + (dueAfterMs.at(-1) ?? 0) ? note.until : undefined;
  const ms = dueAfterMs[triesMade];
  return ms === undefined ? undefined : keptAt + ms;
}

/** The same, from the letter alone. */
export function nextTry(
  letter: DeadLetter,
  { dueAfterMs, reasons }: { readonly dueAfterMs: readonly number[]; readonly reasons: readonly string[] },
): Date | undefined {
  if (!reasons.includes(letter.reason) || letter.discarded) return undefined;
  const triesMade = countMade(letter, countDue(letter, dueAfterMs, Date.now()));
  const at = nextTryAt(letter, dueAfterMs, triesMade);
  return at === undefined ? undefined : new Date(at);
}
