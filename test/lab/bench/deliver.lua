-- Delivers for wrk: each delivery has an id of its own, unless repeated, and is signed as it is sent, unless forged. wrk … -- FOLDER FIRST_ID
-- The text of the request and what is signed come from FOLDER; only ids, times and the signature change in them.
local ffi = require('ffi')
-- From the libcrypto that wrk itself is linked with.
ffi.cdef [[
  const void *EVP_sha256(void);
  unsigned char *HMAC(const void *md, const void *key, int key_length, const uint8_t *data, size_t length,
                      uint8_t *mac, unsigned int *mac_length);
  int EVP_EncodeBlock(uint8_t *to, const uint8_t *from, int length);
]]

local mac, base64 = ffi.new('uint8_t[32]'), ffi.new('uint8_t[48]')
local HEX = ffi.new('uint8_t[16]', '0123456789abcdef')
local job, text, message, id

local function read(path)
  local file = assert(io.open(path, 'rb'))
  local content = file:read('*a')
  file:close()
  return { bytes = ffi.new('uint8_t[?]', #content + 1, content), length = #content }
end

-- Twelve digits that end before this place.
local function write_id(bytes, place)
  local rest = id
  for at = place - 1, place - 12, -1 do
    bytes[at] = 48 + rest % 10
    rest = math.floor(rest / 10)
  end
end

local function write_time(content, places)
  for _, place in ipairs(places) do ffi.copy(content.bytes + place, tostring(os.time()), 10) end
end

local function write_signature(bytes, place)
  if job.base64 then
    ffi.C.EVP_EncodeBlock(base64, mac, 32)
    ffi.copy(bytes + place, base64, 44)
    return
  end
  for index = 0, 31 do
    bytes[place + 2 * index] = HEX[bit.rshift(mac[index], 4)]
    bytes[place + 2 * index + 1] = HEX[bit.band(mac[index], 15)]
  end
end

function init(args)
  local folder = args[1]
  job, text, message = dofile(folder .. '/job.lua'), read(folder .. '/request'), read(folder .. '/message')
  id = tonumber(args[2])
  write_time(text, job.request_times)
  write_time(message, job.message_times)
end

function request()
  if not job.repeated then id = id + 1 end
  for index = 1, #job.request_ids do write_id(text.bytes, job.request_ids[index]) end
  -- A forged delivery keeps the signature of another body. To sign it would keep a fast server waiting.
  if not job.forged then
    for index = 1, #job.message_ids do write_id(message.bytes, job.message_ids[index]) end
    ffi.C.HMAC(ffi.C.EVP_sha256(), job.key, #job.key, message.bytes, message.length, mac, nil)
    write_signature(text.bytes, job.signature)
  end
  return ffi.string(text.bytes, text.length)
end

function done(summary)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format('{"requests":%d,"us":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, errors.status, broken))
end
