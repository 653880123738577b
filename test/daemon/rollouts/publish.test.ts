import { expect, test } from 'vitest'
import { isoNow, manualClock } from '../../../src/core/kit/index.ts'
import { verifyAudit } from '../../../src/daemon/audit/read-audit.ts'
import { type Db, eventsAfter, type Tx } from '../../../src/daemon/db/index.ts'
import {
  engineActor,
  publishActions,
  publishEvent,
  recordRolloutAudit,
  type StoredAction,
  type StoredRollout,
} from '../../../src/daemon/rollouts/testing.ts'
import { onBothDialects } from '../../support/databases.ts'

const clock = manualClock()
const rollout = (id: string) => ({ id, status: 'free_100', previousStatus: null }) as unknown as StoredRollout
const [ours, other] = [rollout('ro_1'), rollout('ro_2')]
const publish = async (tx: Tx, of: StoredRollout, reason: string) => {
  const step = { tx, clock, rollout: of }
  await publishEvent(step, { type: 'rollout.action', reason })
  await recordRolloutAudit(step, { actor: engineActor, action: reason })
}
const payloadsOf = async (db: Db, { id }: StoredRollout) =>
  (await eventsAfter(db, { stream: `rollout:${id}`, after: 0 })).map(({ payload }) => payload as { reason: string; action: StoredAction })
const reasonsOf = async (db: Db, of: StoredRollout) => (await payloadsOf(db, of)).map(({ reason }) => reason)

onBothDialects('events and audit entries of a rollout', (fresh) => {
  test('keep their order within and across transactions, with the time of each, in an unbroken chain', async () => {
    const db = await fresh()
    await db.transaction().execute((tx) => publish(tx, ours, 'before'))
    const at = isoNow(clock)
    await db.transaction().execute(async (tx) => {
      for (const reason of ['first', 'second', 'third']) await publish(tx, ours, reason)
      await clock.advance(60_000)
    })
    expect(await reasonsOf(db, ours)).toEqual(['before', 'first', 'second', 'third'])
    const entries = await db.selectFrom('audit').select(['action', 'at']).orderBy('seq').execute()
    expect(entries.slice(1)).toEqual(['first', 'second', 'third'].map((action) => ({ action, at })))
    expect(await verifyAudit({ db }, {})).toMatchObject([{ chain: 'rollout:ro_1', entries: 4, ok: true }])
  })

  test('of two rollouts in one transaction go to the stream of each', async () => {
    const db = await fresh()
    await db.transaction().execute(async (tx) => {
      await publish(tx, ours, 'ours')
      await publish(tx, other, 'other')
    })
    expect([await reasonsOf(db, ours), await reasonsOf(db, other)]).toEqual([['ours'], ['other']])
  })

  test('are rolled back with their transaction', async () => {
    const db = await fresh()
    const failing = db.transaction().execute(async (tx) => {
      await publish(tx, ours, 'lost')
      throw new Error('the step failed')
    })
    await expect(failing).rejects.toThrow('the step failed')
    await db.transaction().execute((tx) => publish(tx, ours, 'stored'))
    expect(await reasonsOf(db, ours)).toEqual(['stored'])
    expect(await verifyAudit({ db }, {})).toMatchObject([{ entries: 1, ok: true }])
  })

  test('of many actions at once keep the order of the actions', async () => {
    const db = await fresh()
    const slugs = Array.from({ length: 1200 }, (_, n) => `t${n}`)
    const actions = slugs.map((tenantSlug) => ({ tenantSlug }) as StoredAction)
    await db.transaction().execute((tx) => publishActions({ tx, clock, rollout: ours }, actions))
    const { seq } = await db.selectFrom('streams').select('seq').where('stream', '=', 'rollout:ro_1').executeTakeFirstOrThrow()
    expect(Number(seq)).toBe(slugs.length)
    const last = await eventsAfter(db, { stream: 'rollout:ro_1', after: slugs.length - 1 })
    expect(last.map(({ payload }) => (payload as { action: StoredAction }).action.tenantSlug)).toEqual(['t1199'])
  })
})
