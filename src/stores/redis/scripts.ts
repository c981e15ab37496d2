// The Lua scripts of the Redis store, and how they are run.
import { createHash } from 'node:crypto';
import { StoreError } from '../../errors.js';

export class Script {
  readonly text: string;
  readonly sha: string;

  constructor(text: string) {
    this.text = text;
    this.sha = createHash('sha1').update(text).digest('hex');
  }
}

export const REDIS_TIME = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

// Each script touches only KEYS[1], as a cluster requires, and leaves it with a time to live.
// The field `lease` holds the millisecond at which the lease ends, or 'released', or 'completed'.
// A client that loses the connection sends its command again, so the same token may claim again.
// RENEW, COMPLETE and RELEASE write PEXPIRE first: a full Redis refuses a script whose first write is HSET, and handlers that
// succeeded would run again.
export const CLAIM = new Script(`
local key, token, lease, ttl, fingerprint = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local ends = redis.call('HGET', key, 'lease')
if ends == 'completed' then return { 'completed', redis.call('HGET', key, 'fingerprint') } end
${REDIS_TIME}
local attempt, finished = '1', false
if ends then
  local left = (tonumber(ends) or 0) - now
  local earlier = redis.call('HMGET', key, 'attempt', 'finished', 'token')
  local again = earlier[3] == token
  if left > 0 and not again then return { 'in_progress', left } end
  attempt, finished = (earlier[1] or 0) + (again and 0 or 1), earlier[2]
end
redis.call('HSET', key, 'lease', now + lease, 'token', token, 'attempt', attempt, 'fingerprint', fingerprint)
redis.call('PEXPIRE', key, ttl)
if finished then return { 'claimed', attempt, finished } end
return tonumber(attempt)`);

export const RENEW = new Script(`${REDIS_TIME}
local key, token, lease, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local entry = redis.call('HMGET', key, 'token', 'lease')
if entry[1] ~= token or entry[2] == 'completed' then return 0 end
redis.call('PEXPIRE', key, ttl)
redis.call('HSET', key, 'lease', now + lease)
return 1`);

// The token stays, so that an owner who lost the reply can call again.
export const COMPLETE = new Script(`
local key, token, ttl = KEYS[1], ARGV[1], ARGV[2]
local entry = redis.call('HMGET', key, 'token', 'finished')
if entry[1] ~= token then return 0 end
redis.call('PEXPIRE', key, ttl)
redis.call('HSET', key, 'lease', 'completed')
if entry[2] then redis.call('HDEL', key, 'finished') end
return 1`);

export const RELEASE = new Script(`
local key, token, ttl, finished = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local entry = redis.call('HMGET', key, 'token', 'lease')
if entry[1] ~= token or entry[2] == 'completed' then return 0 end
redis.call('PEXPIRE', key, ttl)
redis.call('HSET', key, 'lease', 'released', 'finished', finished)
redis.call('HDEL', key, 'token')
return 1`);

/** The fingerprint of an event that is completed. */
export const COMPLETED = new Script(`
local entry = redis.call('HMGET', KEYS[1], 'lease', 'fingerprint')
return entry[1] == 'completed' and entry[2]`);

/** Releases a lock. */
export const FORGET = new Script(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`);

/** The milliseconds left of a lease, 0 if the event is forgotten, or nothing if it is not known. */
export const FORGET_EVENT = new Script(`
local ends = redis.call('HGET', KEYS[1], 'lease')
if not ends then return false end
${REDIS_TIME}
local left = (tonumber(ends) or 0) - now
if left > 0 then return left end
redis.call('DEL', KEYS[1])
return 0`);

/** Every command of a claim, because a user or a full Redis may refuse only some. The key is gone afterwards. */
export const PING = new Script(`${REDIS_TIME}
local key = KEYS[1]
redis.call('HSET', key, 'token', ARGV[1])
redis.call('HGET', key, 'token')
redis.call('HMGET', key, 'token')
redis.call('HDEL', key, 'none')
redis.call('PEXPIRE', key, 0)
return 1`);

/** Sends one command to Redis and resolves with its reply. */
export type SendCommand = (...args: [command: string, ...rest: string[]]) => Promise<unknown>;

/** @param words how many keys, the keys, and what else the script is given */
export async function runScript(send: SendCommand, script: Script, words: string[]): Promise<unknown> {
  try {
    return await send('EVALSHA', script.sha, ...words);
  } catch (error) {
    // Redis restarted, or never saw the script. It has changed nothing yet.
    if (!messageOf(error).startsWith('NOSCRIPT')) throw explained(error, script);
  }
  try {
    return await send('EVAL', script.text, ...words);
  } catch (error) {
    throw explained(error, script);
  }
}

const NOT_ALLOWED = /no permissions to run|can.t run this command/;
const NOT_KNOWN = /unknown (?:redis )?command/i;
const NAMED = /'([\w|]+)' command|unknown command [`']([\w|]+)/i;

/** What to do about a command that Redis refuses or does not have; any other error as it is. */
function explained(error: unknown, script: Script): unknown {
  const message = messageOf(error);
  const unknown = NOT_KNOWN.test(message);
  if (!unknown && !NOT_ALLOWED.test(message)) return error;
  // Redis 7.0 names the line of the script, and not the command.
  const line = /@user_script: ?(\d+)/.exec(message)?.[1];
  const called = line && /redis\.call\('(\w+)'/.exec(script.text.split('\n')[Number(line) - 1] ?? '');
  const [, inScript, known] = called || (NAMED.exec(message) ?? []);
  const command = (inScript ?? known)?.toUpperCase() ?? 'one of its commands';
  const what = unknown
    ? `This Redis has no command ${command}. Do not rename or disable it`
    : `The Redis user may not run ${command}. Add +${command.toLowerCase()} to its ACL`;
  return new StoreError(`${what}: docs/stores.md has the list.`, { cause: error });
}

function messageOf(error: unknown): string {
  return String((error as Error | null | undefined)?.message);
}
