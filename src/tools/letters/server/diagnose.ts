// Explains why a letter was kept, what to fix, and what a replay would do now.
import type { DeadLetter, DeadLetterReason } from '../../../contracts/dead-letter-store.js';
import type { DeadLetters } from '../../../dead-letters/dead-letters.js';
import type { ReplayEnd, ReplayReport } from '../../../dead-letters/replay.js';
import type { ErrorCode, Issue } from '../../../errors.js';
import type { LetterContent } from './letter-json.js';

/** A dry run waits while the receiver is busy. The page does not wait longer than this. */
const DRY_RUN_TIMEOUT_MS = 2_000;
const MAX_PATHS = 5;

export type Diagnosed = Pick<LetterContent, 'diagnosis' | 'wouldRun'>;

/** Runs no handler and changes nothing. @throws {StoreError} when the store of letters is down */
export async function diagnose(letter: DeadLetter, letters: DeadLetters): Promise<Diagnosed> {
  const { id, attempts } = letter;
  const signal = AbortSignal.timeout(DRY_RUN_TIMEOUT_MS);
  const report = await letters.replay({ id, dryRun: true, signal });
  const tried = attempts === 1 ? [] : [`It was tried ${attempts} times.`];
  const diagnosis = [KEPT[letter.reason](letter), ...tried, ...nowOf(letter, report)];
  return { diagnosis, wouldRun: report.processed > 0 };
}

const KEPT: Readonly<Record<DeadLetterReason, (letter: DeadLetter) => string>> = {
  unknown: ({ eventName }) =>
    `${eventName} was not declared when it arrived, and the receiver has no onUnknown handler.`,
  invalid: ({ eventName, eventId, issues }) =>
    isDigest(eventId)
      ? `It is authentic, but it does not have the documented shape${at(issues)}. Its id is the digest of its bytes.`
      : `Its payload did not match the schema of ${eventName}${at(issues)}, and the receiver has no onInvalid handler.`,
  failed: ({ code, cause }) =>
    `${FAILED.get(code) ?? 'Its handlers did not succeed'}${cause === undefined ? '' : ` (${cause})`}.`,
  conflict: () => 'An event with the same id but different bytes was processed first.',
  rejected: () => 'A handler rejected it permanently: it threw NonRetriableError.',
  unfinished: () =>
    'The journal kept it before its handlers ran. They are still running, or their process has died.',
};

const FAILED: ReadonlyMap<ErrorCode | undefined, string> = new Map([
  ['HANDLER_FAILED', 'A handler failed'],
  ['RETRY_LATER', 'A handler asked for a retry later: it threw RetryAfterError'],
  ['HANDLER_TIMEOUT', 'A handler took too long'],
  ['CLAIM_LOST', 'Its claim was lost while its handlers ran'],
  ['STORE_UNAVAILABLE', 'The store of event ids did not answer'],
]);

function nowOf(letter: DeadLetter, report: ReplayReport): string[] {
  if (report.stopped === 'closing') return ['The receiver is shutting down, so a replay does nothing now.'];
  if (report.stopped) return ['The receiver is busy, so it is unknown what a replay would do now.'];
  const [event] = report.events;
  const end = event && (Object.keys(NOW) as ReplayEnd[]).find((name) => event[name] > 0);
  return end ? NOW[end](letter, event.issues) : NOW.gone(letter, []);
}

type Sentences = (letter: DeadLetter, issues: readonly Pick<Issue, 'path'>[]) => string[];

const GONE: Sentences = () => ['It was processed or discarded a moment ago.'];

const NOW: Readonly<Record<ReplayEnd, Sentences>> = {
  processed: ({ reason, code, eventId, eventName }) => [
    ...(reason === 'rejected'
      ? ['Change the handler to accept the event and deploy, or discard the letter.']
      : []),
    ...(reason === 'failed' && code !== 'RETRY_LATER'
      ? [`Fix what made it fail: the log has the error, with the event id ${eventId}.`]
      : []),
    ...(reason === 'unknown' ? [`${eventName} has a handler now.`] : []),
    ...(reason === 'invalid' ? ['A handler accepts it now.'] : []),
    reason === 'unfinished'
      ? 'A replay would run its handlers, unless they are still running.'
      : 'A replay would run its handlers now.',
  ],
  stillUnknown: ({ eventName }) => [
    `Declare ${eventName} in the option events, and register a handler for it.`,
    'A replay would leave it here: the event is still not declared.',
  ],
  stillInvalid: ({ eventName, eventId }, issues) => [
    isDigest(eventId)
      ? 'Apply its effect by hand and discard it, or update payment-webhooks to a version that accepts it.'
      : `Change the schema of ${eventName} to accept what arrives.`,
    `A replay would leave it here: it still does not match${at(issues)}.`,
  ],
  failed: ({ eventName }) => [
    `Fix the schema of ${eventName} or the key function: one of them throws or takes too long.`,
    'A replay would leave it here.',
  ],
  // A dry run calls no handler.
  later: GONE,
  rejected: GONE,
  conflicts: () => [
    'A replay never runs it, because its event was processed. Compare the two, fix any difference by hand, and discard it.',
  ],
  ignored: ({ eventName }) => [
    `Register a handler for ${eventName}, or check the option sandbox.`,
    'A replay would leave it here: no handler matches it.',
  ],
  unreadable: () => [
    'The stored content was altered or cannot be decrypted, so it is never replayed. Check encryptionKeys, and who can write to the store.',
  ],
  keyNotConfigured: ({ keyId = 'unknown' }) => [
    `The private key that signed it is not configured (key ID ${keyId}).`,
    'If that key has leaked, the event may be forged: discard it. After a rotation, replay it on the command line with --keys any.',
  ],
  duplicates: GONE,
  inProgress: () => ['A delivery or another replay is processing it.'],
  gone: GONE,
};

/** Whether a letter without an event id was kept under the digest of its bytes. */
function isDigest(eventId: string): boolean {
  return /^[0-9a-f]{64}$/.test(eventId);
}

function at(issues: readonly Pick<Issue, 'path'>[]): string {
  if (issues.length === 0) return '';
  const paths = issues.slice(0, MAX_PATHS).map(({ path }) => path);
  return ` at ${paths.join(', ')}${issues.length > MAX_PATHS ? ' and elsewhere' : ''}`;
}
