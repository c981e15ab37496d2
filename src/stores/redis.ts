// Remembers event ids in Redis, one hash for each, changed only by scripts: alone, or with dead letters as an inbox.

import { type ForgettableResult, lockOf } from '../claims/lock-of-claim.js';
import type { ClaimRequest, ForgetResult, IdempotencyStore } from '../contracts/idempotency-store.js';
import type { Inbox } from '../contracts/inbox.js';
import { newToken, type Owner } from '../contracts/token.js';
import { defineOptions, type OptionRule, RETENTION } from '../options/define-options.js';
import { INBOX_RULES, type InboxOptions, prunedInbox } from './inbox/pruned.js';
import { type RedisDeadLetters, redisDeadLetters } from './letters/redis.js';
import { CONNECTION_RULES, invalidReply, text, withSendCommand } from './redis/connection.js';
import {
  CLAIM,
  COMPLETE,
  COMPLETED,
  FORGET,
  FORGET_EVENT,
  PING,
  RELEASE,
  RENEW,
  runScript,
  type Script,
  type SendCommand,
} from './redis/scripts.js';

export type * from '../contracts/for-doors.js';
export {
  type RedisDeadLetters,
  type RedisDeadLettersOptions,
  redisDeadLetters,
} from './letters/redis.js';
export type { SendCommand };

export interface RedisStoreOptions {
  /**
   * - `redis`: `(...args) => client.sendCommand(args)`
   * - a cluster of `redis`: `(...args) => cluster.sendCommand(args[3], false, args)`; the fourth word is the key
   * - sentinels of `redis`: `(...args) => sentinel.sendCommand(false, args)`
   * - `ioredis`, also a cluster or sentinels: `(...args) => client.call(...args)`
   */
  readonly sendCommand: SendCommand;
  /** Prefix of every key. @default 'webhook:' */
  readonly prefix?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style string or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

export interface RedisInboxOptions extends InboxOptions {
  /** As that of `redisStore()`. */
  readonly sendCommand: SendCommand;
  /** Prefix of every key. @default 'webhook:' */
  readonly prefix?: string | undefined;
}

export interface RedisInbox extends Inbox {
  readonly deadLetters: RedisDeadLetters;
}

/**
 * Event ids and dead letters that any number of processes share. What Redis loses may run again, and a letter may be the last copy
 * of an event: a SQL database is the safer place.
 *
 * @throws {ConfigurationError} if sendCommand is not a function, a key does not have 32 bytes, or retention is not a duration
 * @example
 * const hooks = receiver({ inbox: redisInbox({ sendCommand: (...args) => client.sendCommand(args) }) });
 */
export function redisInbox(options: RedisInboxOptions): RedisInbox {
  const { encryptionKeys, prune, ...common } = REDIS_INBOX.read(withSendCommand(options));
  // Redis deletes expired ids itself.
  const deadLetters = redisDeadLetters({ ...common, encryptionKeys });
  return prunedInbox(redisStore(common), deadLetters, [deadLetters], prune);
}

const REDIS_INBOX = defineOptions({ ...CONNECTION_RULES, ...INBOX_RULES } satisfies Record<
  keyof RedisInboxOptions,
  OptionRule<unknown>
>);

/**
 * A store that any number of processes share. An event that Redis forgets (evicted, restarted without persistence,
 * failed over) may run again.
 *
 * @throws {ConfigurationError} if sendCommand is not a function, or retention is not a duration
 * @example
 * const client = await createClient().on('error', console.error).connect();
 * const store = redisStore({ sendCommand: (...args) => client.sendCommand(args) });
 */
export function redisStore(options: RedisStoreOptions): IdempotencyStore {
  const { sendCommand, prefix, retention: given } = REDIS_STORE.read(withSendCommand(options));
  const keepMs = Math.ceil(given);
  const retention = String(keepMs);

  const run = (script: Script, { key, token }: Owner, ...args: string[]) =>
    runScript(sendCommand, script, ['1', key, token, ...args]);

  /** The lease, and a time to live that never ends before it. */
  const times = (leaseMs: number): [lease: string, ttl: string] => {
    const lease = Math.ceil(leaseMs);
    return [String(lease), String(Math.max(lease, keepMs))];
  };

  const claim = async (
    id: string,
    { leaseMs, fingerprint }: Pick<ClaimRequest, 'leaseMs' | 'fingerprint'>,
  ): Promise<ForgettableResult> => {
    // In 22 characters, since it is kept with every id. `randomBytes()` would ask the system each time, which takes 10 µs.
    const owner = { key: prefix + id, token: Buffer.from(newToken(), 'hex').toString('base64url') };
    const reply = await run(CLAIM, owner, ...times(leaseMs), fingerprint);
    // The first claim of an event gets a number, not a list: most claims are that, and a list costs more.
    const [status, first, second] = Array.isArray(reply) ? reply.map(text) : ['claimed', text(reply), '[]'];
    if (status === 'completed' && first !== undefined) return { status, fingerprint: first };
    if (status === 'in_progress' && Number(first) > 0) return { status, retryAfterMs: Number(first) };
    if (status !== 'claimed' || !(Number(first) >= 1)) throw invalidReply();
    const flagged = async (script: Script, ...args: string[]) => flag(await run(script, owner, ...args));
    return {
      status,
      claim: {
        attempt: Number(first),
        finished: names(second),
        renew: (ms: number) => flagged(RENEW, ...times(ms)),
        complete: () => flagged(COMPLETE, retention),
        release: (finished: readonly string[]) => flagged(RELEASE, retention, JSON.stringify(finished)),
        forget: () => flagged(FORGET),
      },
    };
  };

  return {
    scope: 'shared',
    retentionMs: keepMs,
    claim,
    lock: (key, leaseMs) => lockOf((request) => claim(key, request), leaseMs),
    completedWith: async (key) => text(await run(COMPLETED, { key: prefix + key, token: '' })),

    async forget(key): Promise<ForgetResult> {
      const left = text(await run(FORGET_EVENT, { key: prefix + key, token: '' }));
      if (left === undefined) return { status: 'unknown' };
      const retryAfterMs = Number(left);
      if (!(retryAfterMs >= 0)) throw invalidReply();
      return retryAfterMs > 0
        ? { status: 'in_progress', retryAfterMs }
        : { status: 'forgotten', handlers: [] };
    },

    /** Through a script, so that a cluster routes it like a claim. Rejects unless claims can be written. */
    async ping(): Promise<void> {
      flag(await run(PING, { key: `${prefix}ping`, token: newToken() }));
    },
  };
}

const REDIS_STORE = defineOptions({ ...CONNECTION_RULES, retention: RETENTION } satisfies Record<
  keyof RedisStoreOptions,
  OptionRule<unknown>
>);

function flag(reply: unknown): boolean {
  const digit = text(reply);
  if (digit !== '0' && digit !== '1') throw invalidReply();
  return digit === '1';
}

/** The finished handlers, as `release` wrote them. */
function names(json: string | undefined): string[] {
  if (json === '[]') return [];
  try {
    const list: unknown = JSON.parse(json ?? '');
    if (Array.isArray(list) && list.every((name) => typeof name === 'string')) return list;
  } catch {}
  throw invalidReply();
}
