import { expect, test } from 'vitest'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { defaultBudgets } from '../../../src/core/limits/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import type { BudgetStore } from '../../../src/daemon/limits/budget-store.ts'
import { budgetWatch, memoryStore } from '../../../src/daemon/limits/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aTenant } from '../../support/limits-world.ts'
import { roundsOf } from '../../support/loops.ts'

const alertsOf = async (db: Db) =>
  (await db.selectFrom('alerts').select(['kind', 'subject', 'status', 'count']).orderBy('id').execute()).map(
    ({ kind, subject, status, count }) => `${kind} ${subject} ${status} ${count}x`,
  )
const mailsOf = async (db: Db) =>
  (await db.selectFrom('jobs').select('topic').execute()).filter(({ topic }) => topic === 'alerts.tell').length

const watchBudgets = (deps: Parameters<typeof budgetWatch>[0] & Readonly<{ owner: string }>) => roundsOf(deps, budgetWatch(deps))()

onBothDialects('a tenant above 80 percent of its budget', (fresh) => {
  async function aWatch() {
    const [db, clock] = [await fresh(), manualClock()]
    const store = memoryStore(clock)
    const budgets = { ...defaultBudgets, light: 10 }
    const anna = await aTenant(db, clock, 'anna')
    const replica = (owner: string) => ({ db, clock, store, budgets, owner })
    /** So many minutes in which the tenant uses so much, and each replica looks every half minute. */
    const minutes = async (count: number, used: number, owners = ['one']) => {
      for (let n = 0; n < count * 2; n++) {
        await atUse(store, anna, used)
        for (const owner of owners) await watchBudgets(replica(owner))
        await clock.advance(30_000)
      }
    }
    return { db, clock, store, minutes, replica, anna }
  }

  /** Uses so many of the window, whatever is left in it. */
  async function atUse(store: BudgetStore, tenantId: string, used: number) {
    while ((await store.used(tenantId)) < used) await store.take(tenantId, 1000)
    while ((await store.used(tenantId)) > used) await store.giveBack(tenantId)
  }

  test('is told after ten minutes, once, and is over when it was below for a minute', async () => {
    const { db, minutes } = await aWatch()
    await minutes(10, 9)
    expect(await alertsOf(db)).toEqual([])
    await minutes(30, 9)
    expect([await alertsOf(db), await mailsOf(db)]).toEqual([['budget_high anna open 1x'], 1])
    await minutes(2, 8)
    expect(await alertsOf(db)).toEqual(['budget_high anna closed 1x'])
    await minutes(12, 10)
    expect([await alertsOf(db), await mailsOf(db)]).toEqual([['budget_high anna closed 1x', 'budget_high anna open 1x'], 2])
  })

  test('is not told when it stays at 80 percent, or was below in between', async () => {
    const { db, minutes } = await aWatch()
    await minutes(12, 8)
    await minutes(9, 10)
    await minutes(1, 8)
    await minutes(9, 10)
    expect(await alertsOf(db)).toEqual([])
  })

  test('is told once by several replicas, also when the one that watched is gone', async () => {
    const { db, minutes } = await aWatch()
    await minutes(4, 9, ['one', 'two', 'three'])
    await minutes(3, 9, ['two', 'three'])
    await minutes(6, 9, ['three', 'two'])
    expect([await alertsOf(db), await mailsOf(db)]).toEqual([['budget_high anna open 1x'], 1])
  })

  test('leaves nothing behind once it is over', async () => {
    const { db, minutes } = await aWatch()
    await minutes(11, 9)
    expect(await db.selectFrom('budget_episodes').select(['tenant_id', 'notified']).execute()).toHaveLength(1)
    await minutes(2, 0)
    expect(await db.selectFrom('budget_episodes').selectAll().execute()).toEqual([])
  })

  test('is not seen while the store is away: nothing happens then', async () => {
    const { db, minutes, replica } = await aWatch()
    await minutes(11, 9)
    const away: BudgetStore = { ...replica('one').store, busy: () => Promise.reject(problem('UNAVAILABLE', 'away')) }
    await watchBudgets({ ...replica('one'), store: away })
    expect(await alertsOf(db)).toEqual(['budget_high anna open 1x'])
  })
})
