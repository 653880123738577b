import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { type Db, drainOutbox, enqueueOutbox } from '../../../src/daemon/db/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'

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

  test('work that is done leaves nothing behind', async () => {
    const db = await fresh()
    await put(db, { to: 'a' })
    expect(await drainOutbox({ db, clock, log: silentLogger(), handlers: { mail: async () => undefined } })).toBe(1)
    expect(await statuses(db)).toEqual([])
  })

  test('a worker that was slower than its lease takes nothing from the one after it', async () => {
    const db = await fresh()
    await put(db, {})
    const slow = async () => {
      await db.updateTable('outbox').set({ attempts: 2, lease_until: '2999-01-01T00:00:00.000Z' }).execute()
      throw new Error('too late')
    }
    await drainOutbox({ db, clock, log: silentLogger(), handlers: { mail: slow } })
    expect(await statuses(db)).toEqual(['leased'])
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

  test('a row whose worker died is done by another after its lease', async () => {
    const db = await fresh()
    await put(db, { n: 1 })
    await db
      .updateTable('outbox')
      .set({ status: 'leased', attempts: 1, lease_until: new Date(clock.now().getTime() + 1000).toISOString() })
      .execute()
    const seen: unknown[] = []
    const handlers = { mail: async (payload: unknown) => void seen.push(payload) }
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    expect(seen).toHaveLength(0)
    await clock.advance(1000)
    await drainOutbox({ db, clock, log: silentLogger(), handlers })
    expect(seen).toEqual([{ n: 1 }])
  })
})
