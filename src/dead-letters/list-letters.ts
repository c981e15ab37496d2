// Lists the dead letters of a query, page by page.

import type { DeadLetter } from '../claims/dead-letter-store.js';
import { StoreFailure } from '../claims/timed-calls.js';
import { StoreError } from '../errors.js';
import type { DeadLetterCalls } from './dead-letter-calls.js';
import type { LetterQuery } from './dead-letter-filter.js';

/** Letters in the order of their arrival. @throws {StoreError} when the store cannot list them */
export async function* listLetters(
  calls: DeadLetterCalls,
  query: LetterQuery,
): AsyncGenerator<DeadLetter, void> {
  for (let after: string | undefined; ; ) {
    const page = await calls.list(query, after);
    if (page instanceof StoreFailure) throw storeError(page);
    yield* page.letters;
    if (page.next === undefined) return;
    after = page.next;
  }
}

/** The error that a caller gets. What the store threw is its cause. */
export function storeError({ message, cause }: StoreFailure): StoreError {
  return new StoreError(`The dead letters cannot be reached. ${message}`, { cause });
}
