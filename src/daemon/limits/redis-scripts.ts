import { createHash } from 'node:crypto'

// A tenant's window is one string of 4-byte integers: the newest second, the sum of the window, the sum before the newest second, and the counts
// of the 59 seconds before it, oldest first. So a request that is not the first of its second reads one string and writes one number.
// Seconds come from the server's clock, shared by all replicas. If that clock is set back by less than the window, counting continues in the
// newest second; if by more, the window starts empty. Keys expire with the window; `busyScript` removes expired tenants from the index.

/** A script and its SHA-1, the name for EVALSHA. */
export type Script = Readonly<{ text: string; sha: string }>

/** Lua expression for the seconds of the server's clock. */
export const serverSeconds = "redis.call('TIME')[1]"

/** The index entry of a busy tenant is refreshed at most this often. */
const indexedSeconds = 10

/** `earlier` sums the oldest seconds of a window. */
const common = `
local heads, number = '<I4I4I4', '<I4'
local function earlier(window, seconds)
  local sum = 0
  for at = 13, 9 + 4 * seconds, 4 do sum = sum + struct.unpack(number, window, at) end
  return sum
end
`.trim()

const script = (text: string): Script => {
  const whole = `${common}\n${text.trim()}`
  return { text: whole, sha: createHash('sha1').update(whole).digest('hex') }
}

/**
 * KEYS: the index of busy tenants, then one window per request, in order of arrival. ARGV: the budget of each. Returns per request the number of
 * accepted requests before it, or the negated seconds until one more fits.
 */
export const takeScript = (seconds: string): Script =>
  script(`
local clock = tonumber(${seconds})
local function free(past, total, budget)
  for second = 1, 59 do
    total = total - struct.unpack(number, past, 4 * second - 3)
    if total < budget then return second end
  end
  return 60
end
local answers = {}
for n = 2, #KEYS do
  local key, budget = KEYS[n], tonumber(ARGV[n - 1])
  local window = redis.call('GET', key)
  local head, total, before = 0, 0, 0
  if window then head, total, before = struct.unpack(heads, window) end
  local passed, past = clock - head, nil
  if passed >= 60 or passed <= -60 then
    past, total = string.rep('\\0', 236), 0
  elseif passed > 0 then
    past = string.sub(window .. struct.pack(number, total - before) .. string.rep('\\0', 4 * passed - 4), 13 + 4 * passed)
    total = total - earlier(window, passed)
  end
  if total >= budget then
    answers[n - 1] = -free(past or string.sub(window, 13), total, budget)
  else
    answers[n - 1] = total
    if past then
      redis.call('SET', key, struct.pack(heads, clock, total + 1, total) .. past, 'EX', 61)
      if math.floor(clock / ${indexedSeconds}) ~= math.floor(head / ${indexedSeconds}) then redis.call('ZADD', KEYS[1], clock, key) end
    else
      redis.call('SETRANGE', key, 4, struct.pack(number, total + 1))
    end
  end
end
return answers
`)

/** KEYS: a window. Removes one request from its newest non-empty second. */
export const giveBackScript = script(`
local window = redis.call('GET', KEYS[1])
if not window then return 0 end
local head, total, before = struct.unpack(heads, window)
if total == 0 then return 0 end
if total == before then
  local at = #window - 3
  while struct.unpack(number, window, at) == 0 do at = at - 4 end
  redis.call('SETRANGE', KEYS[1], at - 1, struct.pack(number, struct.unpack(number, window, at) - 1))
  before = before - 1
end
redis.call('SETRANGE', KEYS[1], 0, struct.pack(heads, head, total - 1, before))
return 1
`)

/** KEYS: windows. Returns the sum of each; read-only. */
export const usedScript = (seconds: string): Script =>
  script(`
local clock = tonumber(${seconds})
local used = {}
for n, key in ipairs(KEYS) do
  local window = redis.call('GET', key)
  local head, total = 0, 0
  if window then head, total = struct.unpack(heads, window) end
  local passed = math.max(clock - head, 0)
  used[n] = (passed < 60 and head - clock < 60) and total - earlier(window, passed) or 0
end
return used
`)

/** KEYS: the index of busy tenants. Returns windows that may be non-empty and removes expired ones. */
export const busyScript = (seconds: string): Script =>
  script(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(${seconds}) - 60 - ${indexedSeconds})
return redis.call('ZRANGE', KEYS[1], 0, -1)
`)
