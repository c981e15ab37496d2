// Keeps a bounded number of dead letters in this process, for tests and first steps.

import type {
  DeadLetter,
  DeadLetterChange,
  DeadLetterContent,
  DeadLetterGroup,
  DeadLetterPage,
  DeadLetterPageRequest,
  DeadLetterQuery,
  DeadLetterStore,
  Discarded,
  NewDeadLetter,
  ProcessedEvent,
} from '../../contracts/dead-letter-store.js';
import { StoreError } from '../../errors.js';
import {
  anything,
  defineOptions,
  integerFrom,
  type OptionRule,
  option,
  RETENTION,
} from '../../options/define-options.js';
import { LetterGroups, matchesQuery } from './count-letters.js';

export interface MemoryDeadLettersOptions {
  /** The maximum number of letters. When it is reached, deliveries that need another are answered 503. @default 1_000 */
  readonly max?: number | undefined;
  /** How long a letter is kept: `ms`-style string or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
  /** Milliseconds since 1970, for tests. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/**
 * Dead letters in the memory of this process: lost when it ends, and seen by no other.
 *
 * @throws {ConfigurationError} unless the bound is an integer above 0 and the retention a duration
 * @example
 * const hooks = receiver({ deadLetters: memoryDeadLetters() });
 */
export function memoryDeadLetters(options: MemoryDeadLettersOptions = {}): DeadLetterStore {
  return new MemoryDeadLetters(options);
}

const MEMORY_LETTER_OPTIONS = defineOptions({
  max: option(1_000, integerFrom(1)),
  retention: RETENTION,
  now: anything(Date.now),
} satisfies Record<keyof MemoryDeadLettersOptions, OptionRule<unknown>>);

type Writable<Of> = { -readonly [Name in keyof Of]: Of[Name] };

/** A letter with its bytes, or a tombstone without. */
interface Entry extends Writable<Omit<NewDeadLetter, 'rawBody' | 'headers'>> {
  /** Counted up: the order of arrival. */
  readonly serial: number;
  readonly keptAt: number;
  rawBody: Buffer;
  headers: Readonly<Record<string, string>>;
  discarded?: Discarded;
}

/** A tombstone has no content. */
const NO_CONTENT = { rawBody: Buffer.alloc(0), headers: {}, keyId: undefined, signaturePrefix: undefined };

class MemoryDeadLetters implements DeadLetterStore {
  readonly scope = 'process';
  readonly retentionMs: number;
  readonly #max: number;
  readonly #now: () => number;
  /** In the order of arrival, which a Map keeps. */
  readonly #letters = new Map<string, Entry>();
  readonly #ofEvents = new Map<string, readonly Entry[]>();
  readonly #tombstones = new Map<string, Entry>();
  #serial = 0;

  constructor(options: MemoryDeadLettersOptions) {
    const { max, retention, now } = MEMORY_LETTER_OPTIONS.read(options);
    this.#max = max;
    this.retentionMs = retention;
    this.#now = now;
  }

  keep(letter: NewDeadLetter): string {
    this.#forgetExpired();
    const known = this.#of(letter.key).find(({ fingerprint }) => fingerprint === letter.fingerprint);
    if (known) {
      const attempts = Math.max(known.attempts + 1, letter.attempts);
      const { reason, code, issues, headers, keyIndex, keyId, signaturePrefix } = letter;
      Object.assign(known, { reason, code, issues, headers, keyIndex, keyId, signaturePrefix, attempts });
      return known.id;
    }
    if (this.#letters.size >= this.#max)
      throw new StoreError(`The dead-letter store is full (max: ${this.#max}).`);
    this.#serial += 1;
    const kept = { ...letter, serial: this.#serial, keptAt: this.#now() };
    this.#letters.set(kept.id, kept);
    this.#ofEvents.set(kept.key, [...this.#of(kept.key), kept]);
    return letter.id;
  }

  update(id: string, { attempts, ...change }: DeadLetterChange): boolean {
    this.#forgetExpired();
    const letter = this.#letters.get(id);
    if (letter) Object.assign(letter, change, attempts !== undefined && { attempts });
    return letter !== undefined;
  }

  list(query: DeadLetterQuery, { limit, after = '0' }: DeadLetterPageRequest): DeadLetterPage {
    const letters = this.#matching(query).filter(({ serial }) => serial > Number(after));
    const page = letters.slice(0, limit);
    const next = letters.length > limit ? String(page.at(-1)?.serial) : undefined;
    return { letters: page.map(withoutBytes), next };
  }

  count(query: DeadLetterQuery): number {
    return this.#matching(query).length;
  }

  countGroups(query: DeadLetterQuery, { names }: { readonly names: number }): DeadLetterGroup[] {
    return new LetterGroups(names).add(this.#matching(query)).list();
  }

  read(id: string): DeadLetterContent {
    this.#forgetExpired();
    const letter = this.#letters.get(id);
    if (!letter) return { status: 'gone' };
    const { rawBody, headers, keyIndex, signaturePrefix } = letter;
    const content = { rawBody: Buffer.from(rawBody), headers: { ...headers }, keyIndex, signaturePrefix };
    return { status: 'found', letter: withoutBytes(letter), ...content };
  }

  remove({ key, fingerprint }: ProcessedEvent): number {
    this.#forgetExpired();
    const done = this.#of(key).filter(
      (letter) =>
        letter.fingerprint === fingerprint || letter.reason === 'failed' || letter.reason === 'unfinished',
    );
    for (const letter of done) this.#delete(letter);
    return done.length;
  }

  discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): boolean {
    this.#forgetExpired();
    const letter = this.#letters.get(id);
    if (!letter) return false;
    this.#delete(letter);
    const discarded = { by, because, at: new Date(this.#now()) };
    this.#tombstones.set(id, { ...letter, ...NO_CONTENT, discarded });
    const [oldest = ''] = this.#tombstones.keys();
    if (this.#tombstones.size > this.#max) this.#tombstones.delete(oldest);
    return true;
  }

  #delete(letter: Entry): void {
    this.#letters.delete(letter.id);
    const others = this.#of(letter.key).filter((other) => other !== letter);
    if (others.length > 0) this.#ofEvents.set(letter.key, others);
    else this.#ofEvents.delete(letter.key);
  }

  #of(key: string): readonly Entry[] {
    return this.#ofEvents.get(key) ?? [];
  }

  #matching(query: DeadLetterQuery): Entry[] {
    this.#forgetExpired();
    const entries = query.discarded ? this.#tombstones : this.#letters;
    return [...entries.values()]
      .filter((entry) => matchesQuery(entry, query))
      .sort((one, other) => one.serial - other.serial);
  }

  /** Called before each look-up, so that no call finds an expired letter. */
  #forgetExpired(): void {
    const expired = this.#now() - this.retentionMs;
    for (const letter of this.#letters.values()) {
      if (letter.keptAt > expired) break;
      this.#delete(letter);
    }
    for (const { id, discarded } of this.#tombstones.values()) {
      if (discarded && discarded.at.getTime() > expired) break;
      this.#tombstones.delete(id);
    }
  }
}

/** A copy, field by field: lists never hold the bytes. */
function withoutBytes(entry: Entry): DeadLetter {
  const { id, reason, namespace, eventName, eventId, sandbox, attempts, code, issues, keyId, discarded } =
    entry;
  return {
    ...{ id, reason, namespace, eventName, eventId, sandbox, attempts, code, keyId },
    keptAt: new Date(entry.keptAt),
    issues: issues.map((issue) => ({ ...issue })),
    ...(discarded && { discarded: { ...discarded, at: new Date(discarded.at) } }),
  };
}
