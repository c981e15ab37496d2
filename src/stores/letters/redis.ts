// Keeps dead letters in Redis: one hash and two indexes in one cluster slot, changed by scripts.

import type { DeadLetterReason, DeadLetterStore } from '../../contracts/dead-letter-store.js';
import type { ErrorCode } from '../../errors.js';
import { defineOptions, type OptionRule } from '../../options/define-options.js';
import { CONNECTION_RULES, invalidReply, text, withSendCommand } from '../redis/connection.js';
import { runScript, type Script, type SendCommand } from '../redis/scripts.js';
import { DISCARD, FIND, KEEP, PAGE, PRUNE, REMOVE, REPLACE_BODY, UPDATE } from './redis-scripts.js';
import {
  type FullRow,
  LETTER_RULES,
  type LetterOptions,
  type LetterRows,
  StoredLetters,
} from './stored-letters.js';

export interface RedisDeadLettersOptions extends LetterOptions {
  /** As that of `redisStore()`. */
  readonly sendCommand: SendCommand;
  /** Prefix of every key. All letters are in one slot of a cluster. @default 'webhook:' */
  readonly prefix?: string | undefined;
}

export interface RedisDeadLetters extends DeadLetterStore {
  /** Deletes expired letters and tombstones, a hundred at a time, and resolves with their number. */
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
  const { encryptionKeys, ...given } = REDIS_LETTERS.read(withSendCommand(options));
  return new StoredLetters(redisLetterRows(given), encryptionKeys);
}

const REDIS_LETTERS = defineOptions({ ...CONNECTION_RULES, ...LETTER_RULES } satisfies Record<
  keyof RedisDeadLettersOptions,
  OptionRule<unknown>
>);

/** How many arrivals one script reads: a page of 100, and one more. Redis runs nothing else meanwhile. */
const MAX_SCANNED = '101';
const MAX_PRUNED = 100;

function redisLetterRows({
  sendCommand,
  prefix,
  retention,
}: Omit<ReturnType<typeof REDIS_LETTERS.read>, 'encryptionKeys'>): LetterRows {
  const keepMs = Math.ceil(retention);
  // The braces put the three of them into one slot.
  const letters = `${prefix}{dead-letters}`;
  /** How many keys, the keys, and the retention: what every script is given. */
  const words = ['3', letters, `${letters}:order`, `${letters}:ages`, String(keepMs)];
  const run = (script: Script, ...args: string[]) => runScript(sendCommand, script, [...words, ...args]);

  /** A letter or a tombstone. */
  const findRow = async (id: string): Promise<FullRow | 'unreadable' | undefined> => {
    const reply = await run(FIND, id);
    if (Array.isArray(reply) && reply.length === 0) return undefined;
    return readReply(reply) ?? 'unreadable';
  };

  return {
    retentionMs: keepMs,

    async keep(row) {
      const { id, key, fingerprint, namespace, eventName, eventId, sandbox } = row;
      const identity = JSON.stringify({ key, fingerprint, namespace, eventName, eventId, sandbox });
      const why = [row.reason, row.code ?? '', base64(row.issues), String(row.attempts)];
      const content = [base64(row.head), base64(row.body)];
      const kept = text(await run(KEEP, id, key, fingerprint, identity, ...why, ...content));
      if (!kept) throw invalidReply();
      return kept;
    },

    replaceBody: (id, body) => run(REPLACE_BODY, id, base64(body)),

    async find(id) {
      const row = await findRow(id);
      return row === 'unreadable' || !row?.discarded ? row : undefined;
    },

    async update(id, { reason, code, issues, attempts }) {
      const changed = await run(UPDATE, id, reason, code ?? '', base64(issues), String(attempts ?? ''));
      return numberOf(changed) === 1;
    },

    /** A batch of arrivals, whatever they are. */
    async list({ id }, { after }) {
      if (id !== undefined) {
        const row = await findRow(id);
        return { rows: row && row !== 'unreadable' ? [row] : [], next: undefined };
      }
      const reply = await run(PAGE, after, MAX_SCANNED);
      const [next, rows] = Array.isArray(reply) ? reply : [];
      if (!Array.isArray(rows)) throw invalidReply();
      return { rows: rows.map(readReply).filter((row) => row !== undefined), next: text(next) };
    },

    remove: async ({ key, fingerprint }) => numberOf(await run(REMOVE, key, fingerprint)),
    discard: async (id, why) => numberOf(await run(DISCARD, id, JSON.stringify(why))) === 1,

    async prune() {
      const pruned = numberOf(await run(PRUNE));
      return { pruned, more: pruned === MAX_PRUNED };
    },
  };
}

/** Undefined for a letter that has lost a field which identifies it. */
function readReply(reply: unknown): FullRow | undefined {
  if (!Array.isArray(reply)) throw invalidReply();
  const [id, m, keptAt, reason, code, issues, attempts, why, age, head, place, body] = reply.map(text);
  const { key, fingerprint, namespace, eventName, eventId, sandbox } = fieldsOf(m);
  const identity = { id, key, fingerprint, namespace, eventName, eventId };
  if (!areTexts(identity) || reason === undefined) return undefined;
  const { by = '', because = '' } = fieldsOf(why);
  return {
    ...identity,
    sandbox: sandbox === true,
    reason: reason as DeadLetterReason,
    code: code === '' ? undefined : (code as ErrorCode | undefined),
    attempts: Number(attempts),
    issues: bytesOf(issues) ?? Buffer.alloc(0),
    head: bytesOf(head),
    body: bytesOf(body),
    keptAt: Number(keptAt),
    place: place ?? '',
    ...(why !== undefined && {
      discarded: { by: String(by), because: String(because), at: new Date(Number(age)) },
    }),
  };
}

function areTexts<Name extends string>(given: Record<Name, unknown>): given is Record<Name, string> {
  return Object.values(given).every((value) => typeof value === 'string');
}

/** What is stored may have been changed to anything. */
function fieldsOf(json: string | undefined): Partial<Record<string, unknown>> {
  try {
    return JSON.parse(json ?? '{}') ?? {};
  } catch {
    return {};
  }
}

// Commands and replies are text: a client would decode bytes as UTF-8.
function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function bytesOf(base64: string | undefined): Buffer | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64');
}

function numberOf(reply: unknown): number {
  const number = Number(text(reply) ?? Number.NaN);
  if (!Number.isSafeInteger(number) || number < 0) throw invalidReply();
  return number;
}
