// Remembers event ids in Redis: one hash for each, changed only by scripts.

import type { ClaimRequest, IdempotencyStore, Lock } from '../claims/idempotency-store.js';
import { type ForgettableResult, lockOf } from '../claims/lock-of-claim.js';
import { newToken } from '../claims/token.js';
import { refuseUnknownOptions } from '../errors.js';
import { retentionMs } from '../options/duration.js';
import { connectionOf, invalidReply, text } from './redis/connection.js';
import {
  CLAIM,
  COMPLETE,
  COMPLETED,
  FORGET,
  PING,
  RELEASE,
  RENEW,
  type Script,
  Scripts,
  type SendCommand,
} from './redis/scripts.js';

export {
  type RedisDeadLetters,
  type RedisDeadLettersOptions,
  redisDeadLetters,
} from './redis/dead-letters.js';
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
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

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
  return new RedisStore(options ?? {});
}

class RedisStore implements IdempotencyStore {
  readonly scope = 'shared';
  readonly retentionMs: number;
  readonly #prefix: string;
  readonly #scripts: Scripts;

  constructor(options: RedisStoreOptions) {
    const { sendCommand, prefix } = connectionOf(options);
    refuseUnknownOptions(options, ['sendCommand', 'prefix', 'retention']);
    this.#prefix = prefix;
    this.retentionMs = Math.ceil(retentionMs(options.retention));
    this.#scripts = new Scripts(sendCommand, this.retentionMs);
  }

  /** Through a script, so that a cluster routes it like a claim; the key never exists. */
  async ping(): Promise<void> {
    const found = text(await this.#scripts.run(PING, { key: `${this.#prefix}ping`, token: '' }));
    if (found !== '0' && found !== '1') throw invalidReply();
  }

  async claim(key: string, { leaseMs, fingerprint }: ClaimRequest): Promise<ForgettableResult> {
    const scripts = this.#scripts;
    // In 22 characters, since it is kept with every id. `randomBytes()` would ask the system each time, which takes 10 µs.
    const owner = { key: this.#prefix + key, token: Buffer.from(newToken(), 'hex').toString('base64url') };
    const reply = await scripts.run(CLAIM, owner, ...scripts.times(leaseMs), fingerprint);
    // The first claim of an event gets a number, not a list: most claims are that, and a list costs more.
    const [status, first, second] = Array.isArray(reply) ? reply.map(text) : ['claimed', text(reply), '[]'];
    if (status === 'completed' && first !== undefined) return { status, fingerprint: first };
    if (status === 'in_progress' && Number(first) > 0) return { status, retryAfterMs: Number(first) };
    if (status !== 'claimed' || !(Number(first) >= 1)) throw invalidReply();
    const flagged = async (script: Script, ...args: string[]) =>
      flag(await scripts.run(script, owner, ...args));
    const claim = {
      attempt: Number(first),
      finished: names(second),
      renew: (ms: number) => flagged(RENEW, ...scripts.times(ms)),
      complete: () => flagged(COMPLETE, scripts.retention),
      release: (finished: readonly string[]) => flagged(RELEASE, scripts.retention, JSON.stringify(finished)),
      forget: () => flagged(FORGET),
    };
    return { status, claim };
  }

  async completedWith(key: string): Promise<string | undefined> {
    return text(await this.#scripts.run(COMPLETED, { key: this.#prefix + key, token: '' }));
  }

  lock(key: string, leaseMs: number): Promise<Lock | undefined> {
    return lockOf((request) => this.claim(key, request), leaseMs);
  }
}

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
