import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import type { Taken } from '../../../src/core/limits/index.ts'
import type { BudgetStore } from '../../../src/daemon/limits/budget-store.ts'
import { memoryStore, redisStore } from '../../../src/daemon/limits/index.ts'
import { silentLogger, systemClock } from '../../../src/node/index.ts'
import { aRedisServer, hasRedis, type RedisServer } from '../../support/redis-server.ts'

// One suite for both stores: whoever asks must not see where it is counted.

/** A store, and its time, which stands still until it is moved. */
type Opened = Readonly<{ store: BudgetStore; passes(seconds: number): Promise<void> }>

const accepted = (taken: readonly Taken[]) => taken.filter((one) => one.accepted).length

function suite(title: string, open: () => Promise<Opened>): void {
  describe(title, () => {
    let number = 0
    const setUp = async () => ({ ...(await open()), anna: `ten_anna${number++}`, bert: `ten_bert${number++}` })

    test('counts each request after those before it', async () => {
      const { store, anna } = await setUp()
      for (const used of [0, 1, 2]) expect(await store.take(anna, 3)).toEqual({ accepted: true, used })
      expect(await store.used(anna)).toBe(3)
    })

    test('refuses at the budget and does not count what it refused', async () => {
      const { store, anna } = await setUp()
      await store.take(anna, 2)
      await store.take(anna, 2)
      for (let n = 0; n < 5; n++) expect((await store.take(anna, 2)).accepted).toBe(false)
      expect(await store.used(anna)).toBe(2)
      expect(await store.take(anna, 3)).toEqual({ accepted: true, used: 2 })
    })

    test('says after how many seconds one more fits', async () => {
      const { store, anna, passes } = await setUp()
      await store.take(anna, 1)
      expect(await store.take(anna, 1)).toEqual({ accepted: false, retryAfterSeconds: 60 })
      await passes(45)
      expect(await store.take(anna, 1)).toEqual({ accepted: false, retryAfterSeconds: 15 })
    })

    test('forgets to the second: after 59 s a request counts, after 60 s it does not', async () => {
      const { store, anna, passes } = await setUp()
      await store.take(anna, 5)
      await passes(20)
      await store.take(anna, 5)
      await passes(39)
      expect(await store.used(anna)).toBe(2)
      expect(await store.take(anna, 5)).toEqual({ accepted: true, used: 2 })
      await passes(1)
      expect(await store.used(anna)).toBe(2)
      expect(await store.take(anna, 5)).toEqual({ accepted: true, used: 2 })
      await passes(500)
      expect(await store.used(anna)).toBe(0)
      expect(await store.take(anna, 5)).toEqual({ accepted: true, used: 0 })
    })

    test('gives a smaller budget no request until enough have left', async () => {
      const { store, anna, passes } = await setUp()
      for (let n = 0; n < 4; n++) {
        await store.take(anna, 10)
        await passes(10)
      }
      expect(await store.take(anna, 2)).toEqual({ accepted: false, retryAfterSeconds: 40 })
    })

    test('each tenant has its own budget', async () => {
      const { store, anna, bert } = await setUp()
      await store.take(anna, 1)
      expect(await store.take(bert, 1)).toEqual({ accepted: true, used: 0 })
      expect((await store.take(anna, 1)).accepted).toBe(false)
    })

    test('takes a request back', async () => {
      const { store, anna, bert, passes } = await setUp()
      await store.take(anna, 2)
      await passes(3)
      await store.take(anna, 2)
      await store.giveBack(anna)
      expect(await store.used(anna)).toBe(1)
      await store.giveBack(anna)
      await store.giveBack(anna)
      await store.giveBack(bert)
      expect([await store.used(anna), await store.used(bert)]).toEqual([0, 0])
      expect(await store.take(anna, 2)).toEqual({ accepted: true, used: 0 })
    })

    test('names those who use any of their budget', async () => {
      const { store, anna, bert, passes } = await setUp()
      for (const tenantId of [anna, anna, bert]) await store.take(tenantId, 9)
      const busy = await store.busy()
      expect([busy.get(anna), busy.get(bert)]).toEqual([2, 1])
      await passes(60)
      expect((await store.busy()).has(anna)).toBe(false)
    })

    test('accepts exactly the budget of many that ask at once', async () => {
      const { store, anna } = await setUp()
      const taken = await Promise.all(Array.from({ length: 300 }, async () => store.take(anna, 120)))
      expect(accepted(taken)).toBe(120)
      const used = taken.flatMap((one) => (one.accepted ? [one.used] : [])).sort((a, b) => a - b)
      expect(used).toEqual(Array.from({ length: 120 }, (_, n) => n))
    })
  })
}

suite('in memory', async () => {
  const clock = manualClock()
  return { store: memoryStore(clock), passes: (seconds) => clock.advance(seconds * 1000) }
})

describe.skipIf(!hasRedis)('with a Redis', () => {
  let redis: RedisServer
  const stores: BudgetStore[] = []
  const overs: (() => Promise<void>)[] = []
  const open = async (seconds?: string) => {
    const deps = { clock: systemClock, log: silentLogger(), url: redis.url, deadlineMs: 5000 }
    const store = await redisStore({ ...deps, ...(seconds ? { seconds } : {}) })
    stores.push(store)
    return store
  }
  beforeAll(async () => {
    redis = await aRedisServer((close) => void overs.push(close))
  })
  afterAll(async () => {
    for (const store of stores) await store.close()
    for (const close of overs) await close()
  })

  /** A clock for the scripts that stands still until it is moved. */
  let clocks = 0
  const atItsOwnTime = async () => {
    const key = `clock:${clocks++}`
    let now = 1_800_000_000
    const set = (to: number) => {
      now = to
      return redis.say('SET', key, String(now))
    }
    await set(now)
    const store = await open(`redis.call('GET', '${key}')`)
    return { store, passes: async (seconds: number) => void (await set(now + seconds)) }
  }

  suite('in Redis', atItsOwnTime)

  test('two replicas share one budget exactly, also when both begin at once', async () => {
    const [one, other] = await Promise.all([open(), open()])
    const taken = await Promise.all(Array.from({ length: 600 }, async (_, n) => (n % 2 === 0 ? one : other).take('ten_shared', 250)))
    expect(accepted(taken)).toBe(250)
    expect([await one.used('ten_shared'), await other.used('ten_shared')]).toEqual([250, 250])
  })

  test('more tenants than one question has keys for are each counted', async () => {
    const store = await open()
    const taken = await Promise.all(Array.from({ length: 1100 }, (_, n) => store.take(`ten_crowd${n}`, 9)))
    expect(accepted(taken)).toBe(1100)
    expect((await store.busy()).size).toBeGreaterThanOrEqual(1100)
  })

  test('a server that forgot the script is told it again', async () => {
    const store = await open()
    await store.take('ten_script', 9)
    await redis.say('SCRIPT', 'FLUSH')
    expect(await store.take('ten_script', 9)).toEqual({ accepted: true, used: 1 })
  })

  test('a tenant that asks no more leaves nothing behind: its key ends by itself, and the index is swept', async () => {
    const store = await open()
    await store.take('ten_gone', 9)
    const left = (await redis.say('TTL', 'tenantry:seconds:ten_gone')) as number
    expect(left).toBeGreaterThan(50)
    expect(left).toBeLessThanOrEqual(61)
    const { store: later, passes } = await atItsOwnTime()
    await later.take('ten_swept', 9)
    await passes(70)
    await later.busy()
    expect(await redis.say('ZSCORE', 'tenantry:busy', 'tenantry:seconds:ten_swept')).toBeNull()
  })

  describe('when the clock of the server was set back', () => {
    test('by some seconds: what was counted stays counted, nobody gets more', async () => {
      const { store, passes } = await atItsOwnTime()
      await store.take('ten_back', 2)
      await passes(-20)
      expect(await store.take('ten_back', 2)).toEqual({ accepted: true, used: 1 })
      expect(await store.take('ten_back', 2)).toEqual({ accepted: false, retryAfterSeconds: 60 })
      expect(await store.used('ten_back')).toBe(2)
      await passes(80)
      expect(await store.used('ten_back')).toBe(0)
    })

    test('by an hour: nobody is shut out for an hour', async () => {
      const { store, passes } = await atItsOwnTime()
      await store.take('ten_hour', 1)
      await passes(-3600)
      expect(await store.used('ten_hour')).toBe(0)
      expect(await store.take('ten_hour', 1)).toEqual({ accepted: true, used: 0 })
      expect((await store.busy()).get('ten_hour')).toBe(1)
    })
  })

  test('the script decides as the window in memory, whatever comes', async () => {
    const passed = fc.oneof(fc.constant(0), fc.nat(3), fc.nat(70))
    const ask = fc.record({ passed, budget: fc.integer({ min: 1, max: 6 }), isGivenBack: fc.boolean() })
    const asks = fc.array(ask, { minLength: 10, maxLength: 40 })
    const { store, passes } = await atItsOwnTime()
    let number = 0
    await fc.assert(
      fc.asyncProperty(asks, async (all) => {
        const tenantId = `ten_model${number++}`
        const clock = manualClock()
        const memory = memoryStore(clock)
        for (const { passed, budget, isGivenBack } of all) {
          if (isGivenBack) await Promise.all([store.giveBack(tenantId), memory.giveBack(tenantId)])
          if (passed > 0) await Promise.all([passes(passed), clock.advance(passed * 1000)])
          expect(await store.take(tenantId, budget)).toEqual(memory.take(tenantId, budget))
          expect(await store.used(tenantId)).toBe(memory.used(tenantId))
        }
      }),
      { numRuns: 15 },
    )
  })
})
