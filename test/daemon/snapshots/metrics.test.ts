import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { snapshotMetrics } from '../../../src/daemon/snapshots/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aDrill, dayMs, hourMs, snapshotsWorld } from '../../support/snapshots-world.ts'

onBothDialects('metrics of snapshots', (fresh) => {
  test('tell of the box that could lose most, and of the one whose data was not seen to come back for longest', async () => {
    const { aBox, aSnapshot, api, answer, clock, heard, db } = await snapshotsWorld(await fresh())
    const registry = new Registry()
    snapshotMetrics({ db, clock, registry })
    const values = async () =>
      Object.fromEntries((await registry.metrics()).split('\n').flatMap((line) => (/^tenantry/.test(line) ? [line.split(' ')] : [])))
    expect(await values()).toMatchObject({ tenantry_snapshot_age_seconds: '0', tenantry_boxes_snapshot_late: '0' })
    await aBox('north')
    await aBox('south')
    await aSnapshot('north', 'n')
    await api.drillBox({ params: { slug: 'north' }, body: {} })
    await answer('tenant-box.drill', aDrill())
    await clock.advance(30 * dayMs)
    await heard()
    await aSnapshot('south', 's')
    await clock.advance(25 * hourMs)
    expect(await values()).toMatchObject({
      tenantry_snapshot_age_seconds: String((30 * dayMs + 25 * hourMs) / 1000 + 2),
      tenantry_boxes_snapshot_late: '1',
      tenantry_boxes_proof_late: '0',
    })
    await clock.advance(5 * dayMs)
    expect(await values()).toMatchObject({ tenantry_boxes_snapshot_late: '2', tenantry_boxes_proof_late: '2' })
    await db.updateTable('boxes').set({ managed: 0 }).execute()
    expect(await values()).toMatchObject({ tenantry_boxes_snapshot_late: '0', tenantry_proven_restore_age_seconds: '0' })
  })
})
