// Where a claim looks for the dead letters of its event.
import { LETTER_TABLE } from '../../claims/dead-letter-store.js';
import type { JoinableLetters } from '../../claims/idempotency-store.js';

/** As SQL has its name. Undefined of letters that are a store of somebody else: nobody knows where those are. */
export function letterTableOf(letters: JoinableLetters | undefined): string | undefined {
  return (letters as { readonly [LETTER_TABLE]?: string } | undefined)?.[LETTER_TABLE];
}

/** A rival that has kept the event waits for our commit for a second. It has given up only where the commit took longer. */
const LONG_COMMIT_MS = 500;

/**
 * Whether there may be a letter once the commit is confirmed.
 *
 * @param kept what the completing statement saw; undefined where it was not asked
 * @param began when that statement was sent, by the monotonic clock
 */
export function keptAfterCommit(kept: boolean | undefined, began: number): boolean | undefined {
  return kept === false ? performance.now() - began > LONG_COMMIT_MS : kept;
}
