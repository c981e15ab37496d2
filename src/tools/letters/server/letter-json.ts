// One letter as JSON: the row of the list, the masked detail, and the exact bytes.
import { TextDecoder } from 'node:util';
import type { DeadLetter, DeadLetterContent, Discarded } from '../../../contracts/dead-letter-store.js';
import type { DeadLetters } from '../../../dead-letters/dead-letters.js';
import { isFieldName } from '../../../events/issues.js';

type Found = Extract<DeadLetterContent, { status: 'found' }>;

/** A letter as it is sent. Times are ISO 8601. */
export type JsonLetter = Omit<DeadLetter, 'keptAt' | 'discarded'> & {
  readonly keptAt: string;
  /** When its next automatic retry is due. */
  readonly nextTry?: string;
  readonly discarded?: Omit<Discarded, 'at'> & { readonly at: string };
};

export interface LetterList {
  readonly letters: readonly JsonLetter[];
  readonly next: string | null;
}

export interface LetterContent {
  readonly letter: JsonLetter;
  /** `unreadable`: the stored bytes were changed, or cannot be decrypted. */
  readonly content: 'found' | 'unreadable';
  /** The parsed body with each value replaced by its type; null if it is not JSON. */
  readonly payload: unknown;
  readonly size: number;
  /** Most values are masked. */
  readonly headers: Readonly<Record<string, string>>;
  readonly diagnosis: readonly string[];
  readonly wouldRun: boolean;
}

/** How many letters with one reason and event name have the same cause. */
export interface CauseCount {
  readonly reason: string;
  readonly eventName: string;
  readonly cause: string;
  readonly count: number;
}

export interface Revealed {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether `body` is Base64, because the bytes are not UTF-8. */
  readonly base64?: boolean;
}

/**
 * Copies only known fields: a custom store may return more than the contract requires.
 *
 * @param letters knows when the receiver retries a letter by itself
 */
export function letterJson(letter: DeadLetter, letters: Pick<DeadLetters, 'nextTry'>): object {
  const { id, reason, namespace, eventName, eventId, sandbox, attempts, keptAt, code, cause, keyId } = letter;
  const { discarded } = letter;
  return {
    ...{ id, reason, namespace, eventName, eventId, sandbox, attempts, keptAt, code, cause, keyId },
    nextTry: letters.nextTry(letter),
    issues: letter.issues.map(({ path, message }) => ({ path, message })),
    ...(discarded && { discarded: { by: discarded.by, because: discarded.because, at: discarded.at } }),
  };
}

/** The content that may be shown without an audit log line. */
export function maskedContent(
  content: DeadLetterContent,
): Pick<LetterContent, 'content' | 'payload' | 'size' | 'headers'> {
  if (content.status !== 'found') return { content: 'unreadable', payload: null, size: 0, headers: {} };
  const { rawBody, headers } = content;
  return {
    content: 'found',
    payload: maskedPayload(rawBody),
    size: rawBody.length,
    headers: maskedHeaders(headers),
  };
}

export function revealed({ rawBody, headers }: Found): Revealed {
  try {
    // Keeps a byte order mark: it is part of the bytes.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(rawBody);
    return { body: text, headers };
  } catch {
    return { body: rawBody.toString('base64'), base64: true, headers };
  }
}

const MAX_VALUES = 10_000;
const MAX_DEPTH = 32;

/**
 * The JSON of a body, or null, with each value replaced by the name of its type; keys and lists stay. A key that does not
 * look like a field name becomes `*`, because it may be personal data. Log lines mask paths by the same rule.
 */
function maskedPayload(rawBody: Buffer): unknown {
  let values = 0;
  const mask = (value: unknown, depth: number): unknown => {
    values += 1;
    if (values > MAX_VALUES || depth > MAX_DEPTH) return '…';
    if (value === null) return 'null';
    if (typeof value !== 'object') return typeof value;
    const isList = Array.isArray(value);
    const shown = new Map<string, unknown>();
    let hidden = 0;
    for (const [key, entry] of Object.entries(value)) {
      if (values > MAX_VALUES) break;
      const isShown = isList || isFieldName(key);
      if (!isShown) hidden += 1;
      const stars = hidden === 1 ? '*' : `* ${hidden}`;
      shown.set(isShown ? key : stars, mask(entry, depth + 1));
    }
    return isList ? [...shown.values()] : Object.fromEntries(shown);
  };
  try {
    return mask(JSON.parse(rawBody.toString()), 0);
  } catch {
    return null;
  }
}

const PLAIN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'content-length', 'user-agent', 'date']);

/** Keeps the values of headers without personal data, and only the names of all others. */
function maskedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, PLAIN_HEADERS.has(name) ? value : 'string']),
  );
}
