import { createHash } from 'node:crypto'

// A tenant is one hash: `h` the newest second, `t` the sum, and a field for each of the 60 buckets that holds any. Whole seconds of the
// server's clock, so that all replicas go by one. A clock that was set back by less than the window stands still until it has caught up;
// one that was set back further starts afresh. The key ends when its last request has left the window; the index of who is busy is swept by
// whoever reads it, which each daemon does all the time.

/** One script with the name that the server knows it by. */
export type Script = Readonly<{ text: string; sha: string }>

/** Whole seconds by the clock of the server, as Lua asks for them. */
export const serverSeconds = "redis.call('TIME')[1]"

const script = (text: string, seconds = serverSeconds): Script => {
  const whole = `local now = tonumber(${seconds})\n${text.trim()}`
  return { text: whole, sha: createHash('sha1').update(whole).digest('hex') }
}

/**
 * KEYS: the tenant's hash, the index of busy tenants. ARGV: budget, the tenant's name in the index. Answers how many were accepted before
 * this one, or, negative, after how many seconds one more fits.
 */
export const takeScript = (seconds: string): Script =>
  script(
    `
local slot = now % 60
local state = redis.call('HMGET', KEYS[1], 'h', 't', slot)
local head, total, count = tonumber(state[1]), tonumber(state[2]) or 0, tonumber(state[3]) or 0
local budget = tonumber(ARGV[1])
if head ~= now then
  local gone = head == nil
  if head and now < head then
    if head - now < 60 then
      now = head
      slot = now % 60
      count = tonumber(redis.call('HGET', KEYS[1], slot)) or 0
    else
      gone = true
    end
  elseif head then
    gone = now - head >= 60
  end
  if gone then
    if head then redis.call('DEL', KEYS[1]) end
    total, count = 0, 0
  elseif head < now then
    local passed = {}
    for second = head + 1, now do passed[#passed + 1] = second % 60 end
    for _, left in ipairs(redis.call('HMGET', KEYS[1], unpack(passed))) do total = total - (tonumber(left) or 0) end
    redis.call('HDEL', KEYS[1], unpack(passed))
    count = 0
  end
  redis.call('HSET', KEYS[1], 'h', now, 't', total)
  redis.call('EXPIRE', KEYS[1], 61)
  redis.call('ZADD', KEYS[2], now, ARGV[2])
end
if total < budget then
  redis.call('HSET', KEYS[1], 't', total + 1, slot, count + 1)
  return total
end
local window = {}
for second = now - 59, now do window[#window + 1] = second % 60 end
for age, left in ipairs(redis.call('HMGET', KEYS[1], unpack(window))) do
  total = total - (tonumber(left) or 0)
  if total < budget then return -age end
end
return -60
`,
    seconds,
  )

/** KEYS: the tenant's hash. Takes one from the newest second that has any. */
export const giveBackScript = script(`
local head = tonumber(redis.call('HGET', KEYS[1], 'h'))
if not head then return 0 end
for second = head, head - 59, -1 do
  local count = tonumber(redis.call('HGET', KEYS[1], second % 60)) or 0
  if count > 0 then
    redis.call('HINCRBY', KEYS[1], second % 60, -1)
    redis.call('HINCRBY', KEYS[1], 't', -1)
    return 1
  end
end
return 0
`)

/** KEYS: hashes of tenants. Answers the sum of the window for each, and changes nothing. */
export const usedScript = (seconds: string): Script =>
  script(
    `
local used = {}
for index, key in ipairs(KEYS) do
  local fields = redis.call('HGETALL', key)
  local head, sum = nil, 0
  for n = 1, #fields, 2 do if fields[n] == 'h' then head = tonumber(fields[n + 1]) end end
  if head and head - now < 60 then
    local first = math.max(now, head) - 60
    for n = 1, #fields, 2 do
      local slot = tonumber(fields[n])
      if slot and head - (head - slot) % 60 > first then sum = sum + tonumber(fields[n + 1]) end
    end
  end
  used[index] = sum
end
return used
`,
    seconds,
  )

/** KEYS: the index of busy tenants. Answers those that were asked for within the window, and forgets the others. */
export const busyScript = (seconds: string): Script =>
  script(
    `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 60)
return redis.call('ZRANGE', KEYS[1], 0, -1)
`,
    seconds,
  )
