import { expect, test } from 'vitest'
import { isoNow, manualClock } from '../../../src/core/kit/index.ts'
import { verifyAudit } from '../../../src/daemon/audit/verify-audit.ts'
import { type Db, eventsAfter, type Tx } from '../../../src/daemon/db/index.ts'
import type { StoredRollout } from '../../../src/daemon/rollouts/rollouts.repo.ts'
import { engineActor, recordRolloutAudit, tell, toldAtEnd } from '../../../src/daemon/rollouts/tell.ts'
import { onBothDialects } from '../../support/databases.ts'

const clock = manualClock()
const rollout = (id: string) => ({ id, status: 'free_100', previousStatus: null }) as unknown as StoredRollout
const [ours, other] = [rollout('ro_1'), rollout('ro_2')]
const say = async (tx: Tx, of: StoredRollout, reason: string) => {
  await tell(tx, clock, of, { type: 'rollout.action', reason })
  await recordRolloutAudit(tx, clock, of, { actor: engineActor, action: reason })
}
const toldOf = async (db: Db, { id }: StoredRollout) =>
  (await eventsAfter(db, { stream: `rollout:${id}`, after: 0 })).map(({ payload }) => (payload as { reason: string }).reason)

onBothDialects('what is told at the end of a transaction', (fresh) => {
  test('stands in its order behind what stood there, dated when it was said, in an unbroken chain', async () => {
    const db = await fresh()
    await db.transaction().execute((tx) => say(tx, ours, 'before'))
    const at = isoNow(clock)
    await db.transaction().execute((tx) =>
      toldAtEnd(tx, ours.id, async () => {
        for (const what of ['first', 'second', 'third']) await say(tx, ours, what)
        await clock.advance(60_000)
      }),
    )
    expect(await toldOf(db, ours)).toEqual(['before', 'first', 'second', 'third'])
    const entries = await db.selectFrom('audit').select(['action', 'at']).orderBy('seq').execute()
    expect(entries.slice(1)).toEqual(['first', 'second', 'third'].map((action) => ({ action, at })))
    expect(await verifyAudit({ db }, {})).toMatchObject([{ chain: 'rollout:ro_1', entries: 4, ok: true }])
  })

  test('is only what is told of that rollout; what is told of others is appended at once', async () => {
    const db = await fresh()
    await db.transaction().execute((tx) =>
      toldAtEnd(tx, ours.id, async () => {
        await say(tx, ours, 'ours')
        await say(tx, other, 'other')
        const known = await tx.selectFrom('events').select('stream').execute()
        expect(known).toEqual([{ stream: 'rollout:ro_2' }])
      }),
    )
    expect([await toldOf(db, ours), await toldOf(db, other)]).toEqual([['ours'], ['other']])
  })

  test('is gone with a transaction that fails, and nothing of it comes up in the next', async () => {
    const db = await fresh()
    const failing = db.transaction().execute((tx) =>
      toldAtEnd(tx, ours.id, async () => {
        await say(tx, ours, 'lost')
        throw new Error('changed my mind')
      }),
    )
    await expect(failing).rejects.toThrow('changed my mind')
    await db.transaction().execute((tx) => toldAtEnd(tx, ours.id, () => say(tx, ours, 'kept')))
    expect(await toldOf(db, ours)).toEqual(['kept'])
    expect(await verifyAudit({ db }, {})).toMatchObject([{ entries: 1, ok: true }])
  })
})
