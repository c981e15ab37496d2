// One letter as JSON: the row of the list, the masked detail, and the exact bytes.
import type { DeadLetter, DeadLetterContent } from '../../../claims/dead-letter-store.js';
import type { DeadLetters } from '../../../dead-letters/dead-letters.js';
import { isFieldName } from '../../../events/issues.js';

type Found = Extract<DeadLetterContent, { status: 'found' }>;

/**
 * Field by field: a store of somebody else may list more than the contract says.
 *
 * @param letters of the receiver, which knows when it retries a letter by itself
 */
export function letterJson(letter: DeadLetter, letters: Partial<DeadLetters>): object {
  const { id, reason, namespace, eventName, eventId, sandbox, attempts, keptAt, code, keyId, discarded } =
    letter;
  return {
    ...{ id, reason, namespace, eventName, eventId, sandbox, attempts, keptAt, code, keyId },
    // The receiver may be of an older version.
    nextTry: letters.nextTry?.(letter),
    issues: letter.issues.map(({ path, message }) => ({ path, message })),
    ...(discarded && { discarded: { by: discarded.by, because: discarded.because, at: discarded.at } }),
  };
}

/** What may be seen without a trace in the log. */
export function maskedContent(content: DeadLetterContent): object {
  if (content.status !== 'found') return { content: 'unreadable', payload: null, size: 0, headers: {} };
  const { rawBody, headers } = content;
  return {
    content: 'found',
    payload: maskedPayload(rawBody),
    size: rawBody.length,
    headers: maskedHeaders(headers),
  };
}

function maskedPayload(rawBody: Buffer): unknown {
  try {
    return masked(JSON.parse(rawBody.toString()));
  } catch {
    return null;
  }
}

export function revealed({ rawBody, headers }: Found): object {
  try {
    // A byte order mark is one of the bytes.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(rawBody);
    return { body: text, headers };
  } catch {
    return { body: rawBody.toString('base64'), base64: true, headers };
  }
}

const MAX_VALUES = 10_000;
const MAX_DEPTH = 32;
/** Stands for what is left out. */
const MORE = '…';

/**
 * Each value is the name of its type; keys and lists stay. A key that does not look like a field is `*`, because it may be
 * a name or an address. The same rule decides what a log line may say of a path.
 */
function masked(value: unknown): unknown {
  return new Mask().of(value, 0);
}

class Mask {
  #values = 0;

  of(value: unknown, depth: number): unknown {
    this.#values += 1;
    if (this.#values > MAX_VALUES || depth > MAX_DEPTH) return MORE;
    if (value === null) return 'null';
    if (Array.isArray(value)) return this.#list(value, depth);
    return typeof value === 'object' ? this.#fields(value, depth) : typeof value;
  }

  #list(values: readonly unknown[], depth: number): unknown[] {
    const shown: unknown[] = [];
    for (const value of values) {
      shown.push(this.of(value, depth + 1));
      if (this.#values > MAX_VALUES) break;
    }
    return shown;
  }

  #fields(fields: object, depth: number): object {
    const shown = new Map<string, unknown>();
    let hidden = 0;
    for (const [key, value] of Object.entries(fields)) {
      if (!isFieldName(key)) hidden += 1;
      const name = isFieldName(key) ? key : hidden === 1 ? '*' : `* ${hidden}`;
      shown.set(name, this.of(value, depth + 1));
      if (this.#values > MAX_VALUES) break;
    }
    return Object.fromEntries(shown);
  }
}

const PLAIN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'content-length', 'user-agent', 'date']);

/** Headers that say nothing of a person stay; of the others only the names. */
function maskedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, PLAIN_HEADERS.has(name) ? value : 'string']),
  );
}
