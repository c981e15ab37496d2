// What a store of dead letters answers, checked like what a sender says: a store is somebody else's code.

import {
  type DeadLetter,
  type DeadLetterContent,
  type DeadLetterGroup,
  type DeadLetterPage,
  REASONS,
} from '../claims/dead-letter-store.js';
import { StoreFailure } from '../claims/timed-calls.js';

type Given = Readonly<Record<string, unknown>>;

/** @param after where this page began: a store that returns to it would be asked for ever */
export function readPage(answer: unknown, after: string | undefined): DeadLetterPage | StoreFailure {
  return reading('list', () => {
    const { letters, next } = answer as Given;
    if (!Array.isArray(letters) || !letters.every(isLetter)) return undefined;
    if (next === undefined || next === null || letters.length === 0) return { letters };
    return typeof next === 'string' && next !== after ? { letters, next } : undefined;
  });
}

export function readContent(answer: unknown): DeadLetterContent | StoreFailure {
  return reading('read', () => {
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

export function readGroups(answer: unknown): readonly DeadLetterGroup[] | StoreFailure {
  return reading('countGroups', () => (Array.isArray(answer) && answer.every(isGroup) ? answer : undefined));
}

/** A getter of the answer may throw. */
function reading<Value>(verb: string, read: () => Value | undefined): Value | StoreFailure {
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
