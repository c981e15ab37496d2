// Remembers event ids in Redis: one hash for each, which only these scripts change, by the clock of the server.
import { createHash } from 'node:crypto';
import { ConfigurationError, StoreError } from '../errors.js';
import { newToken } from '../token.js';
import { refuseUnknownOptions } from '../unknown-option.js';
import {
  type Claim,
  type ClaimRequest,
  type ClaimResult,
  type IdempotencyStore,
  retentionMs,
} from './store.js';

class Script {
  readonly text: string;
  readonly sha: string;

  constructor(text: string) {
    this.text = text;
    this.sha = createHash('sha1').update(text).digest('hex');
  }
}

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

// Each script touches KEYS[1] alone, as a cluster demands, and leaves it with a time to live.
// The field `lease` is the millisecond at which it ends, or 'released', or 'completed'.
const CLAIM = new Script(`${NOW}
local token, lease, ttl, fingerprint = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local entry = redis.call('HMGET', KEYS[1], 'lease', 'attempt', 'finished', 'fingerprint')
if entry[1] == 'completed' then return { 'completed', entry[4] } end
local ends = tonumber(entry[1] or 0)
if ends and ends > now then return { 'in_progress', ends - now } end
local attempt = (entry[2] or 0) + 1
redis.call('HSET', KEYS[1], 'lease', now + lease, 'token', token, 'attempt', attempt, 'fingerprint', fingerprint)
redis.call('PEXPIRE', KEYS[1], ttl)
if entry[3] then return { 'claimed', attempt, entry[3] } end
return attempt`);

const RENEW = new Script(`${NOW}
local token, lease, ttl = ARGV[1], ARGV[2], ARGV[3]
local entry = redis.call('HMGET', KEYS[1], 'token', 'lease')
if entry[1] ~= token or entry[2] == 'completed' then return 0 end
redis.call('HSET', KEYS[1], 'lease', now + lease)
redis.call('PEXPIRE', KEYS[1], ttl)
return 1`);

// The token stays, so that the owner who lost the reply can ask again.
const COMPLETE = new Script(`
local token, ttl = ARGV[1], ARGV[2]
local entry = redis.call('HMGET', KEYS[1], 'token', 'lease', 'finished')
if entry[1] ~= token then return 0 end
if entry[2] == 'completed' then return 1 end
redis.call('HSET', KEYS[1], 'lease', 'completed')
if entry[3] then redis.call('HDEL', KEYS[1], 'finished') end
redis.call('PEXPIRE', KEYS[1], ttl)
return 1`);

const RELEASE = new Script(`
local token, ttl, finished = ARGV[1], ARGV[2], ARGV[3]
local entry = redis.call('HMGET', KEYS[1], 'token', 'lease')
if entry[1] ~= token or entry[2] == 'completed' then return 0 end
redis.call('HSET', KEYS[1], 'lease', 'released', 'finished', finished)
redis.call('HDEL', KEYS[1], 'token')
redis.call('PEXPIRE', KEYS[1], ttl)
return 1`);

/** Sends one command to Redis and resolves with its reply. */
export type SendCommand = (...args: [command: string, ...rest: string[]]) => Promise<unknown>;

export interface RedisStoreOptions {
  /**
   * - `redis`: `(...args) => client.sendCommand(args)`
   * - a cluster of `redis`: `(...args) => cluster.sendCommand(args[3], false, args)`
   * - `ioredis`, also a cluster: `(...args) => client.call(...args)`
   */
  readonly sendCommand: SendCommand;
  /** Stands before every key. @default 'webhook:' */
  readonly prefix?: string | undefined;
  /** How long an id is remembered after its last write: `ms`-style text or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

/**
 * A store that any number of processes share. What Redis forgets (evicted, restarted without persistence, failed
 * over) may run again.
 *
 * @throws {ConfigurationError} for a sendCommand that is no function, or a retention that is no duration
 * @example
 * const client = await createClient().on('error', console.error).connect();
 * const store = redisStore({ sendCommand: (...args) => client.sendCommand(args) });
 */
export function redisStore(options: RedisStoreOptions): IdempotencyStore {
  return new RedisStore(options ?? {});
}

class RedisStore implements IdempotencyStore {
  readonly scope = 'shared';
  readonly #send: SendCommand;
  readonly #prefix: string;
  readonly #retention: number;

  constructor(options: RedisStoreOptions) {
    const { sendCommand, prefix = 'webhook:', retention } = options;
    if (typeof sendCommand !== 'function') {
      throw new ConfigurationError(
        'sendCommand is no function; give "(...args) => client.sendCommand(args)" for a client of redis, ' +
          'or "(...args) => client.call(...args)" for one of ioredis.',
      );
    }
    refuseUnknownOptions(options, ['sendCommand', 'prefix', 'retention']);
    if (typeof prefix !== 'string')
      throw new ConfigurationError(`prefix is of type ${typeof prefix}; give text, like "webhook:".`);
    this.#send = sendCommand;
    this.#prefix = prefix;
    this.#retention = Math.ceil(retentionMs(retention));
  }

  async claim(key: string, { leaseMs, fingerprint }: ClaimRequest): Promise<ClaimResult> {
    const token = newToken('base64url');
    const lease = this.#lease(leaseMs);
    const reply = await this.#run(CLAIM, key, [token, ...lease, fingerprint]);
    // Most claims are the first of their event: one number instead of a list makes them a tenth cheaper.
    const [status, first, second] = Array.isArray(reply) ? reply.map(text) : ['claimed', text(reply), '[]'];
    if (status === 'completed' && first !== undefined) return { status, fingerprint: first };
    if (status === 'in_progress' && Number(first) > 0) return { status, retryAfterMs: Number(first) };
    if (status === 'claimed' && Number(first) >= 1)
      return {
        status,
        claim: this.#ownership(key, token, { attempt: Number(first), finished: names(second) }),
      };
    throw rubbish();
  }

  #ownership(key: string, token: string, { attempt, finished }: Pick<Claim, 'attempt' | 'finished'>): Claim {
    const ask = async (script: Script, ...args: string[]) =>
      flag(await this.#run(script, key, [token, ...args]));
    return {
      attempt,
      finished,
      renew: (leaseMs) => ask(RENEW, ...this.#lease(leaseMs)),
      complete: () => ask(COMPLETE, String(this.#retention)),
      release: (now) => ask(RELEASE, String(this.#retention), JSON.stringify(now)),
    };
  }

  /** The lease, and the time to live: what is worked on must not be forgotten. */
  #lease(leaseMs: number): [lease: string, ttl: string] {
    const lease = Math.ceil(leaseMs);
    return [String(lease), String(Math.max(lease, this.#retention))];
  }

  async #run(script: Script, key: string, args: readonly string[]): Promise<unknown> {
    const rest = ['1', this.#prefix + key, ...args];
    try {
      return await this.#send('EVALSHA', script.sha, ...rest);
    } catch (error) {
      // Redis has restarted, or never saw the script: nothing has happened yet.
      if (!String((error as Error | null)?.message).startsWith('NOSCRIPT')) throw error;
      return this.#send('EVAL', script.text, ...rest);
    }
  }
}

/** Clients answer with text, numbers, big integers or Buffers, by their settings. */
function text(reply: unknown): string | undefined {
  if (typeof reply === 'string') return reply;
  if (typeof reply === 'number' || typeof reply === 'bigint') return String(reply);
  return Buffer.isBuffer(reply) ? reply.toString() : undefined;
}

function flag(reply: unknown): boolean {
  const digit = text(reply);
  if (digit !== '0' && digit !== '1') throw rubbish();
  return digit === '1';
}

/** The list of finished handlers, as `release` wrote it. */
function names(json: string | undefined): string[] {
  if (json === '[]') return [];
  try {
    const list: unknown = JSON.parse(json ?? '');
    if (Array.isArray(list) && list.every((name) => typeof name === 'string')) return list;
  } catch {}
  throw rubbish();
}

function rubbish(): StoreError {
  return new StoreError(
    'The answer of Redis is none that the script gives; sendCommand must resolve with the reply as it came.',
  );
}
