import { createHash } from 'node:crypto'

// A tenant is one short string of whole numbers, four bytes each: the newest second, the sum of the window, how much of it came before that
// second, and then the 59 seconds before it, oldest first. What falls to the newest second is sum less before, so a request that is not the
// first of its second reads one string and writes one number. Whole seconds of the server's clock, so that all replicas go by one. A clock that
// was set back by less than the window stands still until it has caught up; one that was set back further starts afresh. The key ends when its
// last request has left the window; the index of who is busy is swept by whoever reads it, which each daemon does all the time.

/** One script with the name that the server knows it by. */
export type Script = Readonly<{ text: string; sha: string }>

/** Whole seconds by the clock of the server, as Lua asks for them. */
export const serverSeconds = "redis.call('TIME')[1]"

/** The index learns of a tenant that asks all the time no more often than this. */
const indexedSeconds = 10

/** `earlier` adds up the oldest seconds of a window, past its head. */
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
 * KEYS: the index of busy tenants, then a window for each request, in the order they came. ARGV: the budget of each. Answers for each how many
 * were accepted before it, or, negative, after how many seconds one more fits.
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

/** KEYS: a window. Takes one from its newest second that has any. */
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

/** KEYS: windows. Answers the sum of each, and changes nothing. */
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

/** KEYS: the index of busy tenants. Answers the windows that may hold any, and forgets those that cannot. */
export const busyScript = (seconds: string): Script =>
  script(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(${seconds}) - 60 - ${indexedSeconds})
return redis.call('ZRANGE', KEYS[1], 0, -1)
`)
