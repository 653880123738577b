import { expect, test } from 'vitest'
import { drillBox } from '../../../src/daemon/snapshots/drill-box.ts'
import type { SnapshotsDeps } from '../../../src/daemon/snapshots/index.ts'
import { restoreBox } from '../../../src/daemon/snapshots/restore-box.ts'
import { enqueueTasks } from '../../../src/daemon/snapshots/snapshot-tasks.ts'

import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aGate, heldUpOrOver, stoppedBeforeCommit } from '../../support/held-up.ts'
import { startDueTasks } from '../../support/snapshot-tasks.ts'
import { dayMs, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

onBothDialects('a command for a snapshot and its expiry are serialized:', (fresh) => {
  const wanted = { slug: 'north', snapshotId: idOf('a'), reason: 'because', allowHole: false }
  const asks = {
    restore: (deps: SnapshotsDeps) => restoreBox(deps, anOperator, wanted),
    drill: (deps: SnapshotsDeps) => drillBox(deps, anOperator, wanted),
  }
  const begin = async () => {
    const { clock, heard, aBox, aSnapshot, deps, db, open } = await snapshotsWorld(await fresh())
    const box = await aBox('north')
    for (const word of ['a', 'b']) await aSnapshot('north', word)
    await clock.advance(100 * dayMs)
    await heard()
    await aSnapshot('north', 'c')
    await enqueueTasks(deps, 'prune', [box.tenantId])
    const left = async () => {
      const a = await db.selectFrom('snapshots').select('status').where('snapshot_id', '=', idOf('a')).executeTakeFirstOrThrow()
      return [a.status, ...(await open()).map(({ kind }) => kind)]
    }
    return { db, deps, left }
  }

  test.each(['restore', 'drill'] as const)('a %s requested before the prune', async (what) => {
    const { db, deps, left } = await begin()
    const asked = aGate()
    const first = asks[what]({ ...deps, db: stoppedBeforeCommit(db, asked) })
    await asked.reached
    const givingUp = startDueTasks(deps)
    await heldUpOrOver(db, givingUp)
    asked.open()
    await Promise.all([first, givingUp])
    expect(await left()).toEqual(['present', `tenant-box.${what}`])
  })

  test.each(['restore', 'drill'] as const)('a %s requested after the snapshot expired', async (what) => {
    const { db, deps, left } = await begin()
    const given = aGate()
    const givingUp = startDueTasks({ ...deps, db: stoppedBeforeCommit(db, given) })
    await given.reached
    const late = asks[what](deps)
    late.catch(() => undefined) // asserted below
    await heldUpOrOver(db, late)
    given.open()
    await givingUp
    await expect(late).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('has expired') })
    expect(await left()).toEqual(['forgotten', 'tenant-box.tend_snapshots'])
  })
})
