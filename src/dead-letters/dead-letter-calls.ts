// Calls a store of dead letters with a deadline, checks each answer, and logs each failure.

import {
  type DeadLetter,
  type DeadLetterChange,
  type DeadLetterContent,
  type DeadLetterGroup,
  type DeadLetterPage,
  type DeadLetterStore,
  type Discarded,
  type NewDeadLetter,
  type ProcessedEvent,
  REASONS,
} from '../claims/dead-letter-store.js';
import { StoreFailure, TimedCalls } from '../claims/timed-calls.js';
import { StoreError } from '../errors.js';
import type { Logger } from '../logger.js';
import type { LetterQuery } from './dead-letter-filter.js';
import { LetterGroups } from './letter-queries.js';

type Answered<Value> = Promise<Value | StoreFailure>;

/** How many letters are listed with one call, unless the caller wants fewer. */
export const MAX_PAGE = 100;

/** None of them rejects. */
export class DeadLetterCalls extends TimedCalls<{ readonly log: Logger }> {
  readonly store: DeadLetterStore;
  protected override readonly storeName = 'deadLetters';
  readonly #timeout: number;

  /** @param timeout milliseconds for one call */
  constructor(store: DeadLetterStore, caller: { readonly log: Logger }, timeout: number) {
    super(caller);
    this.store = store;
    this.#timeout = timeout;
  }

  /** @param onLate given the id of a letter that was kept after all, once the answer is no longer waited for */
  keep(letter: NewDeadLetter, onLate: (id: string) => void): Answered<string> {
    return this.#checkedCall(
      'the event was not kept as a dead letter',
      () => this.store.keep(letter),
      (id) => (typeof id === 'string' && id !== '' ? id : invalidAnswer('keep', 'the id of a letter')),
      onLate,
    );
  }

  update(id: string, change: DeadLetterChange): Answered<boolean> {
    const call = () => this.store.update(id, change);
    return this.#checkedCall('the dead letter was not changed', call, (answer) => boolean('update', answer));
  }

  remove(event: ProcessedEvent, transaction?: unknown): Answered<number> {
    return this.#checkedCall(
      transaction === undefined
        ? 'the event is processed, and its dead letter was not removed: a replay will remove it'
        : 'the dead letter was not removed, so nothing is committed',
      () => this.store.remove(event, transaction === undefined ? {} : { transaction }),
      (answer) => count('remove', answer),
    );
  }

  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Answered<boolean> {
    const call = () => this.store.discard(id, why);
    return this.#checkedCall('the dead letter was not discarded', call, (answer) =>
      boolean('discard', answer),
    );
  }

  /** With `keyId` it may list fewer than `limit`, and at least one where there is one. */
  async list(query: LetterQuery, after: string | undefined, limit = MAX_PAGE): Answered<DeadLetterPage> {
    for await (const page of this.pages(query, after, limit))
      if (page instanceof StoreFailure || page.letters.length > 0) return page;
    return { letters: [] };
  }

  /** Page after page, up to one that the store does not give. */
  async *pages(
    { keyId, ...query }: LetterQuery,
    after?: string,
    limit = MAX_PAGE,
  ): AsyncGenerator<DeadLetterPage | StoreFailure, void> {
    const seen = new Set([after]);
    for (let from = after; ; ) {
      const page = await this.#checkedCall(
        'the dead letters were not listed',
        () => this.store.list(query, { limit, after: from }),
        (answer) => readPage(answer, seen),
      );
      // Only the sealed part of a letter names its key, so no store can look for it.
      yield keyId === undefined || page instanceof StoreFailure
        ? page
        : { ...page, letters: page.letters.filter((letter) => letter.keyId === keyId) };
      if (page instanceof StoreFailure || page.next === undefined) return;
      seen.add(page.next);
      from = page.next;
    }
  }

  async count({ keyId, ...query }: LetterQuery): Answered<number> {
    if (keyId !== undefined) return this.#fold({ keyId, ...query }, 0, (sum, { length }) => sum + length);
    const call = () => this.store.count(query);
    return this.#checkedCall('the dead letters were not counted', call, (answer) => count('count', answer));
  }

  /** @param names for each reason at most so many; the letters of further ones are counted together */
  async countGroups({ keyId, ...query }: LetterQuery, names: number): Answered<readonly DeadLetterGroup[]> {
    if (this.store.countGroups && keyId === undefined) {
      const call = () => this.store.countGroups?.(query, { names });
      return this.#checkedCall('the dead letters were not counted', call, readGroups);
    }
    const groups = await this.#fold({ keyId, ...query }, new LetterGroups(names), (sum, letters) =>
      sum.add(letters),
    );
    return groups instanceof StoreFailure ? groups : groups.list();
  }

  async #fold<Sum>(
    query: LetterQuery,
    none: Sum,
    add: (sum: Sum, letters: DeadLetterPage['letters']) => Sum,
  ): Answered<Sum> {
    let sum = none;
    for await (const page of this.pages(query)) {
      if (page instanceof StoreFailure) return page;
      sum = add(sum, page.letters);
    }
    return sum;
  }

  read(id: string, transaction?: unknown): Answered<DeadLetterContent> {
    const call = () => this.store.read(id, transaction === undefined ? {} : { transaction });
    return this.#checkedCall('the dead letter was not read', call, readContent);
  }

  /** @param failed what the log says when there is no such answer */
  async #checkedCall<Value>(
    failed: string,
    call: () => unknown,
    check: (answer: unknown) => Value | StoreFailure,
    onLate?: (value: Value) => void,
  ): Answered<Value> {
    const answer = await this.call(call, this.#timeout, (late) => {
      const checked = onLate && check(late);
      if (checked !== undefined && !(checked instanceof StoreFailure)) onLate?.(checked);
    });
    const checked = answer instanceof StoreFailure ? answer : check(answer);
    if (checked instanceof StoreFailure) this.logFailure(failed, checked);
    return checked;
  }
}

/** Letters in the order of their arrival. @throws {StoreError} when the store cannot list them */
export async function* listLetters(
  calls: DeadLetterCalls,
  query: LetterQuery,
): AsyncGenerator<DeadLetter, void> {
  for await (const page of calls.pages(query)) yield* answerOrThrow(page).letters;
}

/** @throws {StoreError} when the store did not answer; what it threw is the cause */
export function answerOrThrow<Value>(answer: Value | StoreFailure): Value {
  if (!(answer instanceof StoreFailure)) return answer;
  const { message, cause } = answer;
  throw new StoreError(`The dead letters cannot be reached. ${message}`, { cause });
}

function boolean(verb: string, answer: unknown): boolean | StoreFailure {
  return typeof answer === 'boolean' ? answer : invalidAnswer(verb, 'true or false');
}

function count(verb: string, answer: unknown): number | StoreFailure {
  return Number.isSafeInteger(answer) && (answer as number) >= 0
    ? (answer as number)
    : invalidAnswer(verb, 'a number');
}

function invalidAnswer(verb: string, expected: string): StoreFailure {
  return new StoreFailure(`Its answer to ${verb}() was not ${expected}.`);
}

type Given = Readonly<Record<string, unknown>>;

/** @param seen where pages have begun: a store that returns to one of them would cause an endless loop */
function readPage(answer: unknown, seen: ReadonlySet<string | undefined>): DeadLetterPage | StoreFailure {
  return readSafely('list', () => {
    const { letters, next } = answer as Given;
    if (!Array.isArray(letters) || !letters.every(isLetter)) return undefined;
    if (next === undefined || next === null || letters.length === 0) return { letters };
    if (typeof next !== 'string') return undefined;
    return seen.has(next)
      ? new StoreFailure('Its list() returned the same next twice, so its pages never end.')
      : { letters, next };
  });
}

function readContent(answer: unknown): DeadLetterContent | StoreFailure {
  return readSafely('read', () => {
    const { status, letter, rawBody, headers, keyIndex, signaturePrefix } = answer as Given;
    if (status === 'gone' || status === 'unreadable') return { status };
    if (status !== 'found' || !isLetter(letter) || !(rawBody instanceof Uint8Array)) return undefined;
    if (typeof headers !== 'object' || headers === null || !Number.isSafeInteger(keyIndex)) return undefined;
    if (!isOptionalText(signaturePrefix)) return undefined;
    return {
      status,
      letter,
      rawBody: Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength),
      headers: headers as Readonly<Record<string, string>>,
      keyIndex: keyIndex as number,
      signaturePrefix,
    };
  });
}

function readGroups(answer: unknown): readonly DeadLetterGroup[] | StoreFailure {
  return readSafely('countGroups', () =>
    Array.isArray(answer) && answer.every(isGroup) ? answer : undefined,
  );
}

/** A getter of the answer may throw. */
function readSafely<Value>(verb: string, read: () => Value | StoreFailure | undefined): Value | StoreFailure {
  try {
    return read() ?? new StoreFailure(`Its answer to ${verb}() is not as the contract says.`);
  } catch (cause) {
    return new StoreFailure(`Its answer to ${verb}() threw when it was read.`, cause);
  }
}

function isLetter(given: unknown): given is DeadLetter {
  const letter = given as Given | null;
  if (typeof letter !== 'object' || letter === null) return false;
  const texts = [letter.id, letter.namespace, letter.eventName, letter.eventId];
  return (
    texts.every((text) => typeof text === 'string' && text !== '') &&
    REASONS.has(letter.reason as string) &&
    letter.keptAt instanceof Date &&
    typeof letter.sandbox === 'boolean' &&
    Number.isSafeInteger(letter.attempts) &&
    isOptionalText(letter.keyId) &&
    Array.isArray(letter.issues)
  );
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isGroup(given: unknown): given is DeadLetterGroup {
  const { reason, eventName, count, oldest } = given as Given;
  return (
    REASONS.has(reason as string) &&
    typeof eventName === 'string' &&
    Number.isSafeInteger(count) &&
    (count as number) > 0 &&
    oldest instanceof Date &&
    !Number.isNaN(oldest.getTime())
  );
}
