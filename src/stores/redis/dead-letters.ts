// Keeps dead letters in Redis: one hash and two indexes in one cluster slot, changed by scripts.

import type {
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
} from '../../claims/dead-letter-store.js';
import { LetterGroups, matchesQuery } from '../../dead-letters/letter-queries.js';
import { LetterSeal, sealWith } from '../../dead-letters/seal.js';
import { refuseUnknownOptions } from '../../errors.js';
import { retentionMs } from '../../options/duration.js';
import { connectionOf } from './connection.js';
import { bytesOf, letterOf, readStored, type StoredLetter } from './letter-reply.js';
import { DISCARD, FIND, KEEP, PAGE, PRUNE, REMOVE, UPDATE } from './letter-scripts.js';
import { invalidReply, text } from './replies.js';
import { runScript, type Script, type SendCommand } from './scripts.js';

export interface RedisDeadLettersOptions {
  /** As that of `redisStore()`. */
  readonly sendCommand: SendCommand;
  /** Prefix of every key. All letters are in one slot of a cluster. @default 'webhook:' */
  readonly prefix?: string | undefined;
  /**
   * 32 random bytes each, as they are or as base64 text. The first encrypts bytes, headers and issues; all of them decrypt.
   * @default none: what is in Redis can be read, and changed
   */
  readonly encryptionKeys?: readonly (Uint8Array | string)[] | undefined;
  /** How long a letter is kept: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

export interface RedisDeadLetters extends DeadLetterStore {
  /** Deletes letters and tombstones whose retention is over, a hundred at a time, and resolves with their number. */
  prune(): Promise<number>;
}

/**
 * Dead letters that any number of processes share. What Redis forgets (evicted, restarted without persistence, failed
 * over) is lost, and a letter may be the last copy of an event: Postgres is the safer place.
 *
 * @throws {ConfigurationError} if sendCommand is not a function, a key does not have 32 bytes, or retention is not a duration
 * @example
 * const deadLetters = redisDeadLetters({ sendCommand: (...args) => client.sendCommand(args) });
 * const hooks = receiver({ store: redisStore({ sendCommand: (...args) => client.sendCommand(args) }), deadLetters });
 */
export function redisDeadLetters(options: RedisDeadLettersOptions): RedisDeadLetters {
  return new StoredLetters(options ?? {});
}

/** How many arrivals a script looks through, while everybody else waits. */
const BATCH = 200;
const PRUNE_BATCH = 100;

/** After a place that no page gave there is nothing, as in the memory store. */
const PLACE = /^\d{1,18}$/;

class StoredLetters implements RedisDeadLetters {
  readonly scope = 'shared';
  readonly retentionMs: number;
  readonly #send: SendCommand;
  /** How many keys, the keys, and the retention: what every script is given. */
  readonly #words: readonly string[];
  readonly #seal: LetterSeal;

  constructor(options: RedisDeadLettersOptions) {
    const { sendCommand, prefix } = connectionOf(options);
    refuseUnknownOptions(options, ['sendCommand', 'prefix', 'encryptionKeys', 'retention']);
    this.#seal = new LetterSeal(sealWith(options.encryptionKeys));
    this.retentionMs = Math.ceil(retentionMs(options.retention));
    this.#send = sendCommand;
    // The braces put the three of them into one slot.
    const letters = `${prefix}{dead-letters}`;
    this.#words = ['3', letters, `${letters}:order`, `${letters}:ages`, String(this.retentionMs)];
  }

  async keep(letter: NewDeadLetter): Promise<string> {
    const { id, key, fingerprint, namespace, eventName, eventId, sandbox, reason, code, attempts } = letter;
    const { issues, head, body } = this.#seal.close(letter);
    const identity = JSON.stringify({ key, fingerprint, namespace, eventName, eventId, sandbox });
    const why = [reason, code ?? '', base64(issues), String(attempts)];
    const content = [base64(head), base64(body)];
    const kept = text(await this.#run(KEEP, id, key, fingerprint, identity, ...why, ...content));
    if (!kept) throw invalidReply();
    return kept;
  }

  async update(id: string, { reason, code, issues, attempts }: DeadLetterChange): Promise<boolean> {
    // What issues are tied to never changes while the letter is there.
    const found = await this.#find(id);
    if (!found) return false;
    const sealed = base64(this.#seal.closeIssues(issues, found.identity));
    const changed = await this.#run(UPDATE, id, reason, code ?? '', sealed, String(attempts ?? ''));
    return count(changed) === 1;
  }

  async list(query: DeadLetterQuery, { limit, after = '0' }: DeadLetterPageRequest): Promise<DeadLetterPage> {
    if (!PLACE.test(after)) return { letters: [], next: undefined };
    const found: StoredLetter[] = [];
    for await (const stored of this.#matching(query, after)) {
      found.push(stored);
      // One more tells that there is a page after this one.
      if (found.length > limit) break;
    }
    const page = found.slice(0, limit);
    const [next] = found.length > limit ? (page.at(-1)?.rest ?? []) : [];
    return { letters: page.map((stored) => letterOf(stored, this.#seal)), next };
  }

  async count(query: DeadLetterQuery): Promise<number> {
    let letters = 0;
    for await (const _ of this.#matching(query, '0')) letters += 1;
    return letters;
  }

  async countGroups(
    query: DeadLetterQuery,
    { names }: { readonly names: number },
  ): Promise<DeadLetterGroup[]> {
    const groups = new LetterGroups(names);
    for await (const { reason, identity, keptAt } of this.#matching(query, '0'))
      groups.add([{ reason, eventName: identity.eventName, keptAt }]);
    return groups.list();
  }

  async read(id: string): Promise<DeadLetterContent> {
    const reply = await this.#run(FIND, id);
    if (Array.isArray(reply) && reply.length === 0) return { status: 'gone' };
    const stored = readStored(reply);
    if (stored?.discarded) return { status: 'gone' };
    const [body] = stored?.rest ?? [];
    const { head = Buffer.alloc(0), issues } = stored ?? {};
    const parts = issues && { body: bytesOf(body), head, issues };
    const opened = parts && stored && this.#seal.open(stored.identity, parts);
    if (!opened) return { status: 'unreadable' };
    const { rawBody, headers, keyIndex, signaturePrefix } = opened;
    const letter = letterOf(stored, this.#seal);
    return { status: 'found', letter, rawBody, headers, keyIndex, signaturePrefix };
  }

  async remove({ key, fingerprint }: ProcessedEvent): Promise<number> {
    return count(await this.#run(REMOVE, key, fingerprint));
  }

  async discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    return count(await this.#run(DISCARD, id, JSON.stringify({ by, because }))) === 1;
  }

  async prune(): Promise<number> {
    for (let pruned = 0; ; ) {
      const deleted = count(await this.#run(PRUNE));
      pruned += deleted;
      if (deleted < PRUNE_BATCH) return pruned;
    }
  }

  async #find(id: string): Promise<StoredLetter | undefined> {
    const reply = await this.#run(FIND, id);
    return Array.isArray(reply) && reply.length === 0 ? undefined : readStored(reply);
  }

  /** Letters in the order of arrival, a batch of arrivals at a time. */
  async *#matching(query: DeadLetterQuery, from: string): AsyncGenerator<StoredLetter, void> {
    if (query.id !== undefined) {
      const stored = await this.#find(query.id);
      if (stored && matches(stored, query)) yield stored;
      return;
    }
    for (let after: string | undefined = from; after !== undefined; ) {
      const reply = await this.#run(PAGE, after, String(BATCH));
      const [last, rows] = Array.isArray(reply) ? reply : [];
      if (!Array.isArray(rows)) throw invalidReply();
      for (const row of rows) {
        const stored = readStored(row);
        if (stored && matches(stored, query)) yield stored;
      }
      after = text(last);
    }
  }

  #run(script: Script, ...args: string[]): Promise<unknown> {
    return runScript(this.#send, script, [...this.#words, ...args]);
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function count(reply: unknown): number {
  const number = Number(text(reply) ?? Number.NaN);
  if (!Number.isSafeInteger(number) || number < 0) throw invalidReply();
  return number;
}

function matches({ identity, reason, keptAt, discarded }: StoredLetter, query: DeadLetterQuery): boolean {
  return (
    (discarded !== undefined) === query.discarded && matchesQuery({ ...identity, reason, keptAt }, query)
  );
}
