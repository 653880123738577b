import { expect, test } from 'vitest'
import { isoIn, manualClock, problem } from '../../../src/core/kit/index.ts'
import { type Db, enqueueJob } from '../../../src/daemon/db/index.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { never, stopped } from '../../support/stopped-clock.ts'

onBothDialects('jobs', (fresh) => {
  const clock = manualClock()
  const put = (db: Db, payload: unknown, more: { key?: string; runAt?: string } = {}) =>
    db.transaction().execute((tx) => enqueueJob(tx, clock, { topic: 'mail', payload, ...more }))
  const statuses = async (db: Db) => (await db.selectFrom('jobs').select('status').orderBy('id').execute()).map((row) => row.status)

  test('a failed job is retried later, not at once', async () => {
    const db = await fresh()
    const seen: unknown[] = []
    const handlers = {
      mail: async (payload: unknown) => {
        seen.push(payload)
        if (seen.length === 1) throw new Error('the mail server does not answer')
      },
    }
    await put(db, { to: 'a' })
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    expect(seen).toHaveLength(1)
    await clock.advance(5000)
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    expect(seen).toEqual([{ to: 'a' }, { to: 'a' }])
  })

  test('a new job runs before failed ones: jobs that keep failing delay no new one', async () => {
    const db = await fresh()
    const seen: unknown[] = []
    const handlers = {
      mail: async (payload: unknown) => {
        seen.push(payload)
        if (payload !== 'new') throw new Error('the mail server does not answer')
      },
    }
    for (const payload of ['old 1', 'old 2']) await put(db, payload)
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    await clock.advance(5000)
    await put(db, 'new')
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    expect(seen).toEqual(['old 1', 'old 2', 'new', 'old 1', 'old 2'])
  })

  test('a job that its server never answers delays no other job of the queue', async () => {
    const db = await fresh()
    const seen: unknown[] = []
    const handlers = {
      mail: async (payload: unknown) => {
        if (String(payload).startsWith('poison')) throw problem('HOMESERVER_UNREACHABLE', 'it answered 500')
        seen.push(payload)
      },
    }
    const deps = { db, clock, log: silentLogger(), handlers }
    for (const payload of ['poison 1', 'poison 2', 'old']) await put(db, payload)
    for (let round = 0; round < 3; round++) {
      await clock.advance(10_000)
      await drainJobs(deps)
    }
    expect(seen).toEqual(['old'])
    for (let minute = 0; minute < 10; minute++) {
      await put(db, minute)
      for (let round = 0; round < 6; round++) {
        await drainJobs(deps)
        await clock.advance(10_000)
      }
    }
    expect(seen).toEqual(['old', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(await statuses(db)).toEqual(['queued', 'queued'])
  })

  test('a job waits for the object store without using up its attempts', async () => {
    const db = await fresh()
    const handlers = { mail: () => Promise.reject(problem('OBJECT_STORE_UNAVAILABLE', 'it does not answer')) }
    await put(db, 'report')
    for (let attempt = 0; attempt < 15; attempt++) {
      await drainJobs({ db, clock, log: silentLogger(), handlers })
      await clock.advance(3_600_000)
    }
    expect(await statuses(db)).toEqual(['queued'])
  })

  test('a finished job is deleted', async () => {
    const db = await fresh()
    await put(db, { to: 'a' })
    expect(await drainJobs({ db, clock, log: silentLogger(), handlers: { mail: async () => undefined } })).toBe(1)
    expect(await statuses(db)).toEqual([])
  })

  test('a worker whose lease expired changes nothing of its successor', async () => {
    const db = await fresh()
    await put(db, {})
    const taken = { due_at: '2999-01-01T00:00:00.000Z', token: Number.MAX_SAFE_INTEGER }
    for (const ends of [() => Promise.reject(new Error('too late')), () => Promise.resolve()]) {
      const slow = async () => {
        await db.updateTable('job_queues').set(taken).execute()
        await ends()
      }
      await drainJobs({ db, clock, log: silentLogger(), handlers: { mail: slow } })
      expect(await statuses(db)).toEqual(['queued'])
      expect(await db.selectFrom('job_queues').select(['token', 'due_at']).execute()).toEqual([taken])
      await db.updateTable('job_queues').set({ token: 1, due_at: '2000-01-01T00:00:00.000Z' }).execute()
    }
  })

  test('a job that never succeeds becomes a dead letter with its error', async () => {
    const db = await fresh()
    const handlers = { mail: () => Promise.reject(new Error('no such mailbox')) }
    await put(db, {})
    for (let n = 0; n < 12; n++) {
      await drainJobs({ db, clock, log: silentLogger(), handlers })
      await clock.advance(3_600_000)
    }
    expect(await statuses(db)).toEqual(['dead'])
    expect((await db.selectFrom('jobs').select('last_error').executeTakeFirst())?.last_error).toBe('no such mailbox')
  })

  test('a job that was taken 24 times without an end becomes a dead letter without another attempt', async () => {
    const db = await fresh()
    const [seen, deps] = [[] as unknown[], { db, clock, log: silentLogger() }]
    const handlers = { mail: async (payload: unknown) => void seen.push(payload) }
    const takenBefore = (attempts: number) => db.updateTable('jobs').set({ attempts }).execute()
    await put(db, 'ends its process')
    await takenBefore(24)
    await drainJobs({ ...deps, handlers })
    expect([seen, await statuses(db)]).toEqual([[], ['dead']])
    await put(db, 'ends this time')
    await takenBefore(23)
    await drainJobs({ ...deps, handlers })
    expect([seen, await statuses(db)]).toEqual([['ends this time'], ['dead']])
  })

  test('a job of a killed process runs again when the lease expires, not before', async () => {
    const db = await fresh()
    await put(db, { n: 1 })
    let begun = false
    void drainJobs({ db, clock: stopped(clock), log: silentLogger(), handlers: { mail: () => never(() => (begun = true)) } })
    await expect.poll(() => begun).toBe(true)
    const seen: unknown[] = []
    const handlers = { mail: async (payload: unknown) => void seen.push(payload) }
    await clock.advance(59_999)
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    expect(seen).toHaveLength(0)
    await clock.advance(1)
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    expect(seen).toEqual([{ n: 1 }])
  })

  test('a job that takes longer than a lease stays with its process', async () => {
    const db = await fresh()
    await put(db, { n: 1 })
    const began: number[] = []
    let finish = () => {}
    const handlers = {
      mail: () => {
        began.push(began.length)
        return new Promise<void>((resolve) => {
          finish = resolve
        })
      },
    }
    const first = drainJobs({ db, clock, log: silentLogger(), handlers })
    await expect.poll(() => began.length).toBe(1)
    for (let renewal = 0; renewal < 12; renewal++) {
      await expect.poll(() => clock.sleepers()).toBe(1)
      await clock.advance(15_000)
      const renewed = new Date(clock.now().getTime() + 60_000).toISOString()
      const dueAt = async () => (await db.selectFrom('job_queues').select('due_at').execute())[0]?.due_at
      await expect.poll(dueAt).toBe(renewed)
    }
    await drainJobs({ db, clock, log: silentLogger(), handlers })
    finish()
    await first
    expect(began).toHaveLength(1)
    expect(await statuses(db)).toEqual([])
  })

  test('a job with a run time runs then, not before; others of its queue do not wait for it', async () => {
    const db = await fresh()
    const seen: unknown[] = []
    const deps = { db, clock, log: silentLogger(), handlers: { mail: async (payload: unknown) => void seen.push(payload) } }
    await put(db, 'later', { key: 'anna', runAt: isoIn(clock, 7_200_000) })
    expect(await drainJobs(deps)).toBe(0)
    expect((await db.selectFrom('job_queues').select('due_at').execute())[0]?.due_at).toBe(isoIn(clock, 7_200_000))
    await put(db, 'now')
    expect(await drainJobs(deps)).toBe(1)
    await clock.advance(7_199_999)
    expect(await drainJobs(deps)).toBe(0)
    await clock.advance(1)
    expect(await drainJobs(deps)).toBe(1)
    expect(seen).toEqual(['now', 'later'])
  })

  test('an equal job with a later run time is not merged into the one that is due', async () => {
    const db = await fresh()
    const seen: unknown[] = []
    const deps = { db, clock, log: silentLogger(), handlers: { mail: async (payload: unknown) => void seen.push(payload) } }
    await put(db, 'sync', { key: 'anna' })
    await put(db, 'sync', { key: 'anna' })
    await put(db, 'sync', { key: 'anna', runAt: isoIn(clock, 60_000) })
    await drainJobs(deps)
    expect(seen).toEqual(['sync'])
    await clock.advance(60_000)
    await drainJobs(deps)
    expect(seen).toEqual(['sync', 'sync'])
  })
})
