import { createHash } from 'node:crypto'

// A tenant's window is a hash: accepted requests by second of the last minute. Seconds come from the server's clock, shared by all replicas. If that
// clock is set back by less than the window, counting continues in the newest second; if by more, the window starts empty. Keys expire with the
// window; `busyScript` removes expired tenants from the index.

/** A script and its SHA-1, the name for EVALSHA. */
export type Script = Readonly<{ text: string; sha: string }>

/** Lua expression for the seconds of the server's clock. */
export const serverSeconds = "redis.call('TIME')[1]"

/** The counts of a window by second, their sum, its newest second, and the seconds that no longer count. */
const common = `
local function read(key, clock)
  local fields = redis.call('HGETALL', key)
  local counts, total, newest, old = {}, 0, clock, {}
  for n = 1, #fields, 2 do newest = math.max(newest, tonumber(fields[n])) end
  local isReset = newest - clock >= 60
  if isReset then newest = clock end
  for n = 1, #fields, 2 do
    local second, count = tonumber(fields[n]), tonumber(fields[n + 1])
    if isReset or newest - second >= 60 then
      old[#old + 1] = fields[n]
    else
      counts[second], total = count, total + count
    end
  end
  return counts, total, newest, old
end
`.trim()

const script = (text: string): Script => {
  const whole = `${common}\n${text.trim()}`
  return { text: whole, sha: createHash('sha1').update(whole).digest('hex') }
}

/**
 * KEYS: the index of busy tenants, and a window. ARGV: its budget. Counts a request that fits: returns the number of accepted requests before it,
 * or the negated seconds until one more fits.
 */
export const takeScript = (seconds: string): Script =>
  script(`
local clock, key, budget = tonumber(${seconds}), KEYS[2], tonumber(ARGV[1])
local counts, total, newest, old = read(key, clock)
if total < budget then
  if #old > 0 then redis.call('HDEL', key, unpack(old)) end
  redis.call('HINCRBY', key, newest, 1)
  redis.call('EXPIRE', key, 61)
  if not counts[newest] then redis.call('ZADD', KEYS[1], clock, key) end
  return total
end
for second = 1, 59 do
  total = total - (counts[newest - 60 + second] or 0)
  if total < budget then return -second end
end
return -60
`)

/** KEYS: a window. Removes one request from its newest second. */
export const giveBackScript = script(`
local newest
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do newest = math.max(newest or 0, tonumber(field)) end
if newest and redis.call('HINCRBY', KEYS[1], newest, -1) == 0 then redis.call('HDEL', KEYS[1], newest) end
return 1
`)

/** KEYS: windows. Returns the sum of each; read-only. */
export const usedScript = (seconds: string): Script =>
  script(`
local clock = tonumber(${seconds})
local used = {}
for n, key in ipairs(KEYS) do
  local _, total = read(key, clock)
  used[n] = total
end
return used
`)

/** KEYS: the index of busy tenants. Returns windows that may be non-empty and removes expired ones. */
export const busyScript = (seconds: string): Script =>
  script(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(${seconds}) - 61)
return redis.call('ZRANGE', KEYS[1], 0, -1)
`)
