import { Writable } from 'node:stream'
import pino from 'pino'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Logger } from '../../../src/node/index.ts'
import { systemClock } from '../../../src/node/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aReplica, aTenant, type Replica, said } from '../../support/limits-world.ts'
import { aRedisServer, hasRedis } from '../../support/redis-server.ts'

// Time runs freely here: a real server goes away and comes back. Deadlines are generous, a test machine is busy.

const patience = { timeout: 60_000, interval: 50 }

/** What was logged at warning or above, and of the store's return. */
function aLog() {
  const lines: string[] = []
  const sink = new Writable({
    write: (chunk, _, done) => {
      const { level, msg } = JSON.parse(String(chunk))
      if (/store of request budgets/.test(msg)) lines.push(level >= 40 ? 'away' : 'back')
      done()
    },
  })
  return { lines, log: pino({ level: 'info' }, sink) as unknown as Logger }
}

async function aWorld({ timeoutMs = 5000, replicas = 1 } = {}) {
  const redis = await aRedisServer()
  const { db } = await emptyDatabase('sqlite')
  onTestFinished(() => db.destroy())
  const anna = await aTenant(db, systemClock, 'anna')
  const made: (Replica & { lines: string[] })[] = []
  for (let n = 0; n < replicas; n++) {
    const { lines, log } = aLog()
    const env = {
      TENANTRY_REDIS: redis.url,
      TENANTRY_LIMITS_LIGHT: '50',
      TENANTRY_LIMITS_PER_ADDRESS: '100000',
      TENANTRY_LIMITS_STORE_TIMEOUT_MS: String(timeoutMs),
    }
    made.push({ ...(await aReplica(db, systemClock, { env, log })), lines })
  }
  return { redis, anna, replicas: made, replica: made[0] as Replica & { lines: string[] } }
}

const up = async ({ metric }: Replica) => (await metric('tenantry_budget_store_up'))[0]?.endsWith(' 1')
const unchecked = async ({ metric }: Replica) =>
  Number((await metric('tenantry_budget_requests_total')).find((line) => line.includes('unchecked'))?.split(' ')[1] ?? 0)

describe.skipIf(!hasRedis)('a Redis that goes away', () => {
  test('lets every request through, says so once and in a metric, and comes back by itself', async () => {
    const { redis, anna, replica } = await aWorld()
    expect(said(await replica.work(anna))).toEqual(['50', '49', undefined])
    await redis.kill()
    const answers = await Promise.all(Array.from({ length: 120 }, () => replica.work(anna)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(said(await replica.work(anna))).toEqual(['50', '50', undefined])
    expect([await up(replica), await unchecked(replica), replica.lines]).toEqual([false, 121, ['away']])
    await redis.start()
    await vi.waitFor(async () => expect(await up(replica)).toBe(true), patience)
    expect(said(await replica.work(anna))).toEqual(['50', '49', undefined])
    expect(replica.lines).toEqual(['away', 'back'])
    await redis.kill()
    await replica.work(anna)
    expect(replica.lines).toEqual(['away', 'back', 'away'])
  })

  test('is waited for no longer than the deadline, and then not at all, while it hangs', async () => {
    const { redis, anna, replica } = await aWorld({ timeoutMs: 1500 })
    await replica.work(anna)
    redis.hang()
    onTestFinished(redis.wake)
    await Promise.all(Array.from({ length: 20 }, () => replica.work(anna)))
    expect(replica.lines).toEqual(['away'])
    const began = systemClock.monotonicMs()
    for (let n = 0; n < 20; n++) expect((await replica.work(anna)).status).toBe(200)
    expect(systemClock.monotonicMs() - began).toBeLessThan(20 * 1500)
    redis.wake()
    await vi.waitFor(async () => expect(await up(replica)).toBe(true), patience)
    expect(Number(said(await replica.work(anna))[1])).toBeLessThan(49)
    expect(replica.lines).toEqual(['away', 'back'])
  })

  test('that cannot write counts as away', async () => {
    const { redis, anna, replica } = await aWorld()
    await redis.say('CONFIG', 'SET', 'maxmemory', '1')
    expect((await replica.work(anna)).status).toBe(200)
    expect([await up(replica), replica.lines]).toEqual([false, ['away']])
    await redis.say('CONFIG', 'SET', 'maxmemory', '0')
    await vi.waitFor(async () => expect(await up(replica)).toBe(true), patience)
  })

  test('of which nothing answers at the start does not keep the daemon from starting', async () => {
    const { redis, anna, replicas } = await aWorld({ replicas: 0 })
    expect(replicas).toEqual([])
    await redis.kill()
    const { db } = await emptyDatabase('sqlite')
    onTestFinished(() => db.destroy())
    const { lines, log } = aLog()
    const replica = await aReplica(db, systemClock, { env: { TENANTRY_REDIS: redis.url }, log })
    expect((await replica.work(anna)).status).toBe(200)
    expect(lines).toEqual(['away'])
    await redis.start()
    await vi.waitFor(async () => expect(await up(replica)).toBe(true), patience)
    expect(lines).toEqual(['away', 'back'])
  })
})

describe.skipIf(!hasRedis)('two replicas on one Redis', () => {
  test('serve one budget together, and go on together after its restart', async () => {
    const { redis, anna, replicas } = await aWorld({ replicas: 2 })
    const [one, other] = replicas
    if (!one || !other) throw new Error('two are needed')
    const both = (count: number) => Promise.all(Array.from({ length: count }, (_, n) => (n % 2 ? one : other).work(anna)))
    const first = await both(60)
    expect(first.filter(({ status }) => status === 200)).toHaveLength(50)
    expect(first.filter(({ code }) => code === 'RATE_LIMITED')).toHaveLength(10)
    await redis.kill()
    await redis.start()
    await both(2)
    await vi.waitFor(async () => expect([await up(one), await up(other)]).toEqual([true, true]), patience)
    const second = await both(60)
    expect(second.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(50)
    expect(await one.limits.store.used(anna)).toBe(50)
  })
})
