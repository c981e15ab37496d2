// The Lua scripts of dead letters in Redis: each changes a letter as a whole, or not at all.
import { REDIS_TIME, Script } from '../redis/scripts.js';

// Three keys of one cluster slot. KEYS[1] is a hash with all letters. The name of each field is a character, a colon and the id of a
// letter: m (its identity), t (kept at), r c i a (reason, code, issues, attempts), k b h (key, body, head; not of a tombstone),
// d (who discarded it and why; only of a tombstone). The field e:<key> lists the letters of one event.
// KEYS[2] has the ids in the order of arrival, KEYS[3] by the millisecond from which their retention counts.
// Expired letters are deleted a few at a time, because Redis runs nothing else during a script.
// What deletes a letter starts with a deletion: a full Redis refuses a script whose first write is HSET.
const LETTERS = `${REDIS_TIME}
local letters, order, ages = KEYS[1], KEYS[2], KEYS[3]
local over = now - ARGV[1]

local function get(field) return redis.call('HGET', letters, field) end
local function event(key) return cjson.decode(get('e:' .. key) or '[]') end

local function alive(id)
  local age = redis.call('ZSCORE', ages, id)
  return age and tonumber(age) > over
end
local function is_letter(id) return redis.call('HEXISTS', letters, 'k:' .. id) == 1 and alive(id) end

local function leave_event(id)
  local key = get('k:' .. id)
  if not key then return end
  local others = {}
  for _, other in ipairs(event(key)) do
    if other[1] ~= id then others[#others + 1] = other end
  end
  if #others > 0 then redis.call('HSET', letters, 'e:' .. key, cjson.encode(others))
  else redis.call('HDEL', letters, 'e:' .. key) end
end

local function forget(id)
  redis.call('ZREM', order, id)
  redis.call('ZREM', ages, id)
  leave_event(id)
  for field in ('mtrciakbhd'):gmatch('.') do redis.call('HDEL', letters, field .. ':' .. id) end
end

local expired = redis.call('ZRANGEBYSCORE', ages, '-inf', over, 'LIMIT', 0, 100)
for _, id in ipairs(expired) do forget(id) end

local function row(id)
  local r = redis.call('HMGET', letters, 'm:' .. id, 't:' .. id, 'r:' .. id, 'c:' .. id, 'i:' .. id, 'a:' .. id, 'd:' .. id, 'h:' .. id)
  return { id, r[1], r[2], r[3], r[4], r[5], r[6], r[7], redis.call('ZSCORE', ages, id), r[8] }
end
`;

export const KEEP = new Script(`${LETTERS}
local id, key, fingerprint, identity = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local reason, code, issues, attempts, head, body = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]
for _, other in ipairs(event(key)) do
  if other[2] == fingerprint and is_letter(other[1]) then
    id = other[1]
    local more = math.max(get('a:' .. id) + 1, tonumber(attempts))
    redis.call('HSET', letters, 'r:' .. id, reason, 'c:' .. id, code, 'i:' .. id, issues, 'a:' .. id, more, 'h:' .. id, head)
    return id
  end
  if other[2] == fingerprint then forget(other[1]) end
end
local same = event(key)
same[#same + 1] = { id, fingerprint }
redis.call('HSET', letters, 'e:' .. key, cjson.encode(same),
  'k:' .. id, key, 'm:' .. id, identity, 't:' .. id, now, 'b:' .. id, body, 'h:' .. id, head,
  'r:' .. id, reason, 'c:' .. id, code, 'i:' .. id, issues, 'a:' .. id, attempts)
local serial = redis.call('HINCRBY', letters, 'serial', 1)
redis.call('ZADD', order, serial, id)
redis.call('ZADD', ages, now, id)
return id`);

export const REPLACE_BODY = new Script(`${LETTERS}
if not is_letter(ARGV[2]) then return 0 end
redis.call('HSET', letters, 'b:' .. ARGV[2], ARGV[3])
return 1`);

export const UPDATE = new Script(`${LETTERS}
local id, reason, code, issues, attempts = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not is_letter(id) then return 0 end
redis.call('HSET', letters, 'r:' .. id, reason, 'c:' .. id, code, 'i:' .. id, issues)
if attempts ~= '' then redis.call('HSET', letters, 'a:' .. id, attempts) end
return 1`);

export const REMOVE = new Script(`${LETTERS}
local removed = 0
for _, letter in ipairs(event(ARGV[2])) do
  local reason = get('r:' .. letter[1])
  if (letter[2] == ARGV[3] or reason == 'failed' or reason == 'unfinished') and alive(letter[1]) then
    forget(letter[1])
    removed = removed + 1
  end
end
return removed`);

export const DISCARD = new Script(`${LETTERS}
local id = ARGV[2]
if not is_letter(id) then return 0 end
redis.call('HDEL', letters, 'b:' .. id, 'h:' .. id)
leave_event(id)
redis.call('HSET', letters, 'd:' .. id, ARGV[3])
redis.call('HDEL', letters, 'k:' .. id)
redis.call('ZADD', ages, now, id)
return 1`);

/** One letter or tombstone with its body, and without its place; an empty list when it is gone. */
export const FIND = new Script(`${LETTERS}
local id = ARGV[2]
if not alive(id) then return {} end
local found = row(id)
found[#found + 1] = false
found[#found + 1] = get('b:' .. id)
return found`);

/** Returns the place after which the next page begins, or false if this one is empty; and all rows of this page, unfiltered. */
export const PAGE = new Script(`${LETTERS}
local arrivals = redis.call('ZRANGEBYSCORE', order, '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
local rows, last = {}, false
for index = 1, #arrivals, 2 do
  local id = arrivals[index]
  last = arrivals[index + 1]
  if alive(id) then
    local found = row(id)
    found[#found + 1] = last
    rows[#rows + 1] = found
  end
end
return { last, rows }`);

/** How many were deleted. */
export const PRUNE = new Script(`${LETTERS}
return #expired`);
