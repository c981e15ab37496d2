// Where a claim looks for the dead letters of its event.
import { LETTER_TABLE } from '../../claims/dead-letter-store.js';
import type { JoinableLetters } from '../../claims/idempotency-store.js';

/** As SQL has its name. Undefined of letters that are a store of somebody else: nobody knows where those are. */
export function letterTableOf(letters: JoinableLetters | undefined): string | undefined {
  return (letters as { readonly [LETTER_TABLE]?: string } | undefined)?.[LETTER_TABLE];
}
