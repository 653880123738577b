import { expect, test } from 'vitest'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { type Db, drainOutbox, enqueueOutbox } from '../../../src/daemon/db/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { never, stopped } from '../../support/stopped-clock.ts'

onBothDialects('outbox', (fresh) => {
  const clock = manualClock()
  const put = (db: Db, payload: unknown) => db.transaction().execute((tx) => enqueueOutbox(tx, clock, { topic: 'mail', payload }))
  const statuses = async (db: Db) => (await db.selectFrom('outbox').select('status').orderBy('id').execute()).map((row) => row.status)

  test('work that fails is tried again later, not at once', async () => {
    const db = await fresh()
    const seen: unknown[] = []
    const handlers = {
      mail: async (payload: unknown) => {
        seen.push(payload)
        if (seen.length === 1) throw new Error('the mail server is away')
      },
    }
    await put(db, { to: 'a' })
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    expect(seen).toHaveLength(1)
    await clock.advance(5000)
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    expect(seen).toEqual([{ to: 'a' }, { to: 'a' }])
  })

  test('what was never tried goes before what failed: old work that cannot be done holds up nothing new', async () => {
    const db = await fresh()
    const seen: unknown[] = []
    const handlers = {
      mail: async (payload: unknown) => {
        seen.push(payload)
        if (payload !== 'new') throw new Error('the mail server is away')
      },
    }
    for (const payload of ['old 1', 'old 2']) await put(db, payload)
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    await clock.advance(5000)
    await put(db, 'new')
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    expect(seen).toEqual(['old 1', 'old 2', 'new', 'old 1', 'old 2'])
  })

  test('what alone a server does not answer holds up nothing else that waits for it, and the queue of what it answers is not away for long', async () => {
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
    for (let turn = 0; turn < 3; turn++) {
      await clock.advance(10_000)
      await drainOutbox(deps)
    }
    expect(seen).toEqual(['old'])
    for (let minute = 0; minute < 10; minute++) {
      await put(db, minute)
      for (let turn = 0; turn < 6; turn++) {
        await drainOutbox(deps)
        await clock.advance(10_000)
      }
    }
    expect(seen).toEqual(['old', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(await statuses(db)).toEqual(['queued', 'queued'])
  })

  test('work that is done leaves nothing behind', async () => {
    const db = await fresh()
    await put(db, { to: 'a' })
    expect(await drainOutbox({ db, clock, log: silentLogger(), handlers: { mail: async () => undefined } })).toBe(1)
    expect(await statuses(db)).toEqual([])
  })

  test('a worker that was slower than its lease takes nothing from the one after it', async () => {
    const db = await fresh()
    await put(db, {})
    const taken = { due_at: '2999-01-01T00:00:00.000Z', turn: Number.MAX_SAFE_INTEGER }
    for (const ends of [() => Promise.reject(new Error('too late')), () => Promise.resolve()]) {
      const slow = async () => {
        await db.updateTable('outbox_queues').set(taken).execute()
        await ends()
      }
      await drainOutbox({ db, clock, log: silentLogger(), handlers: { mail: slow } })
      expect(await statuses(db)).toEqual(['queued'])
      expect(await db.selectFrom('outbox_queues').select(['turn', 'due_at']).execute()).toEqual([taken])
      await db.updateTable('outbox_queues').set({ turn: 1, due_at: '2000-01-01T00:00:00.000Z' }).execute()
    }
  })

  test('work that never succeeds becomes a dead letter with its error', async () => {
    const db = await fresh()
    const handlers = { mail: () => Promise.reject(new Error('no such mailbox')) }
    await put(db, {})
    for (let n = 0; n < 12; n++) {
      await drainOutbox({ db, clock, log: silentLogger(), handlers })
      await clock.advance(3_600_000)
    }
    expect(await statuses(db)).toEqual(['dead'])
    expect((await db.selectFrom('outbox').select('last_error').executeTakeFirst())?.last_error).toBe('no such mailbox')
  })

  test('work whose process was killed is done by another after its lease, and not before', async () => {
    const db = await fresh()
    await put(db, { n: 1 })
    let begun = false
    void drainOutbox({ db, clock: stopped(clock), log: silentLogger(), handlers: { mail: () => never(() => (begun = true)) } })
    await expect.poll(() => begun, { timeout: 10_000 }).toBe(true)
    const seen: unknown[] = []
    const handlers = { mail: async (payload: unknown) => void seen.push(payload) }
    await clock.advance(59_999)
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    expect(seen).toHaveLength(0)
    await clock.advance(1)
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    expect(seen).toEqual([{ n: 1 }])
  })

  test('work that takes longer than a lease stays with the process that does it', async () => {
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
    const first = drainOutbox({ db, clock, log: silentLogger(), handlers })
    await expect.poll(() => began.length, { timeout: 10_000 }).toBe(1)
    for (let third = 0; third < 9; third++) {
      await expect.poll(() => clock.sleepers(), { timeout: 10_000 }).toBe(1)
      await clock.advance(20_000)
      const renewed = new Date(clock.now().getTime() + 60_000).toISOString()
      const dueAt = async () => (await db.selectFrom('outbox_queues').select('due_at').execute())[0]?.due_at
      await expect.poll(dueAt, { timeout: 10_000 }).toBe(renewed)
    }
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    finish()
    await first
    expect(began).toHaveLength(1)
    expect(await statuses(db)).toEqual([])
  })

  test('what a daemon of an older version noted or died at is done', async () => {
    const db = await fresh()
    const old = {
      topic: 'mail',
      payload: '1',
      attempts: 1,
      next_at: '2000',
      last_error: null,
      created_at: '2000',
      lane: null,
      queue: null,
      key: null,
    }
    await db
      .insertInto('outbox')
      .values({ ...old, status: 'pending', lease_until: null })
      .execute()
    await db
      .insertInto('outbox')
      .values({ ...old, status: 'leased', lease_until: '2000' })
      .execute()
    expect(await drainOutbox({ db, clock, log: silentLogger(), handlers: { mail: async () => undefined } })).toBe(2)
    expect(await statuses(db)).toEqual([])
  })
})
