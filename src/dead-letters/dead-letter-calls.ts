// Calls a dead-letter store with a deadline, checks each answer, and logs each failure.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { types } from 'node:util';
import { type StoreCaller, StoreFailure, type StoreReply, TimedCalls } from '../claims/timed-calls.js';
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
} from '../contracts/dead-letter-store.js';
import { StoreError } from '../errors.js';
import { LetterGroups, sumOf } from '../stores/letters/count-letters.js';
import { type LetterQuery, matchesSealed } from './dead-letter-filter.js';

/** How many letters are listed with one call, unless the caller wants fewer. */
export const MAX_PAGE = 100;

/** No method rejects. */
export class DeadLetterCalls extends TimedCalls {
  readonly store: DeadLetterStore;
  protected override readonly storeName = 'deadLetters';

  /** @param timeout milliseconds for one call */
  constructor(store: DeadLetterStore, caller: StoreCaller, timeout: number) {
    super(caller, timeout);
    this.store = store;
  }

  /** @param onLate called with the id of a letter that the store kept after the deadline */
  keep(letter: NewDeadLetter, onLate: (id: string) => void): StoreReply<string> {
    return this.checkedCall(
      'the event was not kept as a dead letter',
      () => this.store.keep(letter),
      (id) => (typeof id === 'string' && id !== '' ? id : invalidAnswer('keep', 'the id of a letter')),
      onLate,
    );
  }

  update(id: string, change: DeadLetterChange): StoreReply<boolean> {
    const call = () => this.store.update(id, change);
    return this.checkedCall('the dead letter was not changed', call, booleanOf('update'));
  }

  remove(event: ProcessedEvent): StoreReply<number> {
    return this.checkedCall(
      'the event is processed, and its dead letter was not removed: a replay will remove it',
      () => this.store.remove(event),
      countOf('remove'),
    );
  }

  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): StoreReply<boolean> {
    const call = () => this.store.discard(id, why);
    return this.checkedCall('the dead letter was not discarded', call, booleanOf('discard'));
  }

  /** The next page that is not empty. It may have fewer than `limit` letters although there are more. */
  async list(
    query: LetterQuery,
    after: string | undefined,
    limit = MAX_PAGE,
  ): Promise<DeadLetterPage | StoreFailure> {
    for await (const page of this.pages(query, after, limit))
      if (page instanceof StoreFailure || page.letters.length > 0) return page;
    return { letters: [] };
  }

  /** One page after another. A failure is the last. */
  async *pages(
    { keyId, cause, ...query }: LetterQuery,
    after?: string,
    limit = MAX_PAGE,
  ): AsyncGenerator<DeadLetterPage | StoreFailure, void> {
    const seen = new Set([after]);
    for (let from = after; ; ) {
      const page = await this.checkedCall(
        'the dead letters were not listed',
        () => this.store.list(query, { limit, after: from }),
        (answer) => readPage(answer, seen),
      );
      // Only the sealed part of a letter has its key and its cause, so no store can look for them.
      yield page instanceof StoreFailure
        ? page
        : { ...page, letters: page.letters.filter((letter) => matchesSealed(letter, { keyId, cause })) };
      if (page instanceof StoreFailure || page.next === undefined) return;
      seen.add(page.next);
      from = page.next;
      // A synchronous client of SQLite would block the event loop until the last page.
      await nextTurn();
    }
  }

  async count(query: LetterQuery): Promise<number | StoreFailure> {
    const { keyId, cause, ...stored } = query;
    if (this.store.count && keyId === undefined && cause === undefined) {
      const call = () => this.store.count?.(stored);
      return this.checkedCall('the dead letters were not counted', call, countOf('count'));
    }
    const groups = await this.countGroups(query, 1);
    return groups instanceof StoreFailure ? groups : sumOf(groups).total;
  }

  /** @param names at most this many for each reason; the letters of further names are counted together */
  async countGroups(query: LetterQuery, names: number): Promise<readonly DeadLetterGroup[] | StoreFailure> {
    const { keyId, cause, ...stored } = query;
    if (this.store.countGroups && keyId === undefined && cause === undefined) {
      const call = () => this.store.countGroups?.(stored, { names });
      return this.checkedCall('the dead letters were not counted', call, readGroups);
    }
    const groups = new LetterGroups(names);
    for await (const page of this.pages(query)) {
      if (page instanceof StoreFailure) return page;
      groups.add(page.letters);
    }
    return groups.list();
  }

  read(id: string): StoreReply<DeadLetterContent> {
    return this.checkedCall('the dead letter was not read', () => this.store.read(id), readContent);
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

function booleanOf(verb: string): (answer: unknown) => boolean | StoreFailure {
  return (answer) => (typeof answer === 'boolean' ? answer : invalidAnswer(verb, 'true or false'));
}

function countOf(verb: string): (answer: unknown) => number | StoreFailure {
  return (answer) =>
    typeof answer === 'number' && Number.isSafeInteger(answer) && answer >= 0
      ? answer
      : invalidAnswer(verb, 'a number');
}

function invalidAnswer(verb: string, expected: string): StoreFailure {
  return new StoreFailure(`Its answer to ${verb}() was not ${expected}.`);
}

type Fields = Readonly<Record<string, unknown>>;

/** @param seen where pages have begun: a store that returns to one of them would cause an endless loop */
function readPage(answer: unknown, seen: ReadonlySet<string | undefined>): DeadLetterPage | StoreFailure {
  return readSafely('list', () => {
    const { letters, next } = answer as Fields;
    if (!Array.isArray(letters) || !letters.every(isLetter)) return undefined;
    if (next === undefined || next === null) return { letters };
    if (typeof next !== 'string') return undefined;
    if (!seen.has(next)) return { letters, next };
    if (letters.length === 0) return { letters };
    return new StoreFailure('Its list() returned the same next twice, so its pages never end.');
  });
}

function readContent(answer: unknown): DeadLetterContent | StoreFailure {
  return readSafely('read', () => {
    const { status, letter, rawBody, headers, keyIndex, signaturePrefix } = answer as Fields;
    if (status === 'gone' || status === 'unreadable') return { status };
    if (status !== 'found' || !isLetter(letter) || !ArrayBuffer.isView(rawBody)) return undefined;
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
    return read() ?? new StoreFailure(`Its answer to ${verb}() breaks the contract.`);
  } catch (cause) {
    return new StoreFailure(`Its answer to ${verb}() threw when it was read.`, cause);
  }
}

function isLetter(given: unknown): given is DeadLetter {
  const letter = given as Fields | null;
  if (typeof letter !== 'object' || letter === null) return false;
  const texts = [letter.id, letter.namespace, letter.eventName, letter.eventId];
  return (
    texts.every((text) => typeof text === 'string' && text !== '') &&
    REASONS.has(letter.reason as string) &&
    types.isDate(letter.keptAt) &&
    typeof letter.sandbox === 'boolean' &&
    Number.isSafeInteger(letter.attempts) &&
    isOptionalText(letter.keyId) &&
    isOptionalText(letter.cause) &&
    Array.isArray(letter.issues)
  );
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isGroup(given: unknown): given is DeadLetterGroup {
  const { reason, eventName, count, oldest } = given as Fields;
  return (
    REASONS.has(reason as string) &&
    typeof eventName === 'string' &&
    Number.isSafeInteger(count) &&
    (count as number) > 0 &&
    types.isDate(oldest) &&
    !Number.isNaN(oldest.getTime())
  );
}
