// Dead letters as the page gives them, one page of a list after the other.
import type { DeadLetter } from '../../claims/dead-letter-store.js';
import { CommandError, EXIT } from './command.js';
import type { LetterFilter } from './letter-filter.js';
import type { LetterPage } from './letter-page.js';

/** As JSON: times are ISO 8601. */
export type JsonLetter = Omit<DeadLetter, 'keptAt' | 'discarded'> & {
  readonly keptAt: string;
  readonly discarded?: { readonly by: string; readonly because: string; readonly at: string };
};

/** As many as the page gives. */
const MOST_AT_ONCE = '100';

interface List {
  readonly letters: readonly JsonLetter[];
  readonly next: string | null;
}

/** @throws {CommandError} for a list that leads back to a page that was read before */
export async function* allLetters(
  page: LetterPage,
  filter: LetterFilter & { readonly discarded?: string },
): AsyncGenerator<JsonLetter, void> {
  const read = new Set<string>();
  for (let after: string | undefined; ; ) {
    const { letters, next } = await page.get<List>('letters', { ...filter, limit: MOST_AT_ONCE, after });
    yield* letters;
    if (typeof next !== 'string' || letters.length === 0) return;
    if (read.has(next)) {
      throw new CommandError(
        "The list of dead letters repeats itself. Check list() of the app's dead-letter store with deadLetterContract().",
        EXIT.failed,
        'REPEATED_PAGE',
      );
    }
    read.add(next);
    after = next;
  }
}
