import { expect, test } from 'vitest'
import type { NewAlert } from '../../../src/core/alerts/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { closeAlerts, closeAuditBroken, raiseAlert, raiseAuditBroken } from '../../../src/daemon/alerts/index.ts'
import { type Db, eventsAfter } from '../../../src/daemon/db/index.ts'
import { rolloutPaused } from '../../../src/daemon/rollouts/alerts.ts'
import { stuckFence } from '../../support/alerts.ts'
import { onBothDialects } from '../../support/databases.ts'

const stuck = stuckFence('north')
const paused = rolloutPaused({ rolloutId: 'ro_1', reason: 'canary stopped. Next: look' })

onBothDialects('raising alerts', (fresh) => {
  const clock = manualClock()
  const raise = (db: Db, alert: NewAlert) => db.transaction().execute((tx) => raiseAlert(tx, clock, alert))
  const rows = (db: Db) => db.selectFrom('alerts').select(['id', 'subject', 'status', 'count', 'title', 'last_at']).orderBy('id').execute()

  test('an open alert with the same key is counted and gets the newest text; another key is another alert', async () => {
    const db = await fresh()
    const first = await raise(db, stuck)
    await clock.advance(1000)
    expect(await raise(db, { ...stuck, title: 'still' })).toBe(first)
    await raise(db, paused)
    expect(await rows(db)).toMatchObject([
      { subject: 'north', status: 'open', count: 2, title: 'still', last_at: clock.now().toISOString() },
      { subject: 'ro_1', status: 'open', count: 1 },
    ])
  })

  test('twenty concurrent raises are one alert with count twenty', async () => {
    const db = await fresh()
    await Promise.all(Array.from({ length: 20 }, () => raise(db, stuck)))
    expect(await rows(db)).toMatchObject([{ count: 20 }])
  })

  test('after a close the same key raises a new alert', async () => {
    const db = await fresh()
    await raise(db, stuck)
    const over = { subject: 'north', kinds: ['fence_stuck' as const], because: 'the fence was lifted' }
    await db.transaction().execute((tx) => closeAlerts(tx, clock, over))
    await raise(db, stuck)
    expect(await rows(db)).toMatchObject([
      { status: 'closed', count: 1 },
      { status: 'open', count: 1 },
    ])
  })

  test('a broken audit log closes when it matches again, even if acknowledged; the next break raises a new alert', async () => {
    const db = await fresh()
    const deps = { db, clock }
    const facts = { chain: 'admin', count: 3, at: '2026-01-05T02:00:00.000Z' }
    await raiseAuditBroken(deps, facts)
    await raiseAuditBroken(deps, facts)
    await db.updateTable('alerts').set({ status: 'acknowledged' }).execute()
    await closeAuditBroken(deps, 'rollout:1')
    expect(await rows(db)).toMatchObject([{ status: 'acknowledged', count: 2 }])
    await closeAuditBroken(deps, 'admin')
    await raiseAuditBroken(deps, facts)
    expect(await rows(db)).toMatchObject([{ status: 'closed' }, { status: 'open', count: 1 }])
  })

  test('closing leaves other kinds and subjects open', async () => {
    const db = await fresh()
    await raise(db, stuck)
    await raise(db, paused)
    await db.transaction().execute((tx) => closeAlerts(tx, clock, { subject: 'north', kinds: ['snapshot_damaged'], because: 'no' }))
    await db.transaction().execute((tx) => closeAlerts(tx, clock, { subject: 'ro_2', because: 'no' }))
    expect((await rows(db)).map(({ status }) => status)).toEqual(['open', 'open'])
  })

  test('closing several closes each by its kinds and reason, with one event per subject', async () => {
    const db = await fresh()
    for (const alert of [stuck, stuckFence('south'), stuckFence('east'), paused]) await raise(db, alert)
    const open = { kinds: ['fence_stuck' as const], because: 'the fence was lifted' }
    const all = [
      { subject: 'north', ...open },
      { subject: 'south', ...open },
      { subject: 'east', kinds: ['snapshot_damaged' as const], because: 'a drill succeeded' },
      { subject: 'west', ...open },
      { subject: 'ro_1', because: 'the rollout is over' },
    ]
    await db.transaction().execute(async (tx) => {
      for (const one of all) await closeAlerts(tx, clock, one)
    })
    const why = await db.selectFrom('alerts').select(['subject', 'closed_because']).orderBy('id').execute()
    expect(why.map(({ subject, closed_because }) => [subject, closed_because])).toEqual([
      ['north', 'the fence was lifted'],
      ['south', 'the fence was lifted'],
      ['east', null],
      ['ro_1', 'the rollout is over'],
    ])
    const told = (await eventsAfter(db, { stream: 'admin', after: 0 })).filter(({ eventType }) => eventType === 'alert.closed')
    expect(told.map(({ payload }) => (payload as { subject: string }).subject).toSorted()).toEqual(['north', 'ro_1', 'south'])
  })

  test('a rolled back transaction leaves no alert, event or message', async () => {
    const db = await fresh()
    const failed = db.transaction().execute(async (tx) => {
      await raiseAlert(tx, clock, stuck)
      throw new Error('the act failed')
    })
    await expect(failed).rejects.toThrow('the act failed')
    expect(await rows(db)).toEqual([])
    expect(await eventsAfter(db, { stream: 'admin', after: 0 })).toEqual([])
    expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })
})
