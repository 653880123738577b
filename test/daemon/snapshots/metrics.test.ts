import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { snapshotMetrics } from '../../../src/daemon/snapshots/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aDrill, dayMs, hourMs, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

onBothDialects('metrics of snapshots', (fresh) => {
  test('report the box with the oldest snapshot, and the one with the oldest proof', async () => {
    const { aBox, aSnapshot, api, answer, clock, heard, db, deps } = await snapshotsWorld(await fresh())
    const registry = new Registry()
    snapshotMetrics({ ...deps, registry })
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

  test('the summary of proofs names the box with the oldest one, and counts boxes without any', async () => {
    const { aBox, aSnapshot, api, answer, clock, heard, db } = await snapshotsWorld(await fresh())
    expect(await api.summarizeProofs()).toEqual({ boxes: 0, unproven: 0, oldest: null })
    for (const slug of ['north', 'south', 'west']) await aBox(slug)
    expect(await api.summarizeProofs()).toEqual({ boxes: 3, unproven: 3, oldest: null })
    const provenAt: string[] = []
    for (const slug of ['south', 'north']) {
      await heard()
      await aSnapshot(slug, slug)
      await api.drillBox({ params: { slug }, body: {} })
      await answer('tenant-box.drill', aDrill())
      provenAt.push((await api.summarizeProofs()).oldest?.at ?? '')
      await clock.advance(dayMs)
    }
    expect(await api.summarizeProofs()).toEqual({ boxes: 3, unproven: 1, oldest: { slug: 'south', at: provenAt[0] } })
    await db.updateTable('boxes').set({ managed: 0 }).where('slug', '=', 'south').execute()
    expect(await api.summarizeProofs()).toMatchObject({ boxes: 2, unproven: 1, oldest: { slug: 'north' } })
  })

  test('query proofs and snapshots once per scrape, with one row per tenant', async () => {
    const { aBox, clock, db, deps } = await snapshotsWorld(await fresh())
    const box = await aBox('north')
    const drills = ['1', '2', '3'].map((command_id) => ({
      command_id,
      at: `2026-01-0${command_id}T00:00:00.000Z`,
      ok: command_id === '3' ? 0 : 1,
    }))
    const rest = { tenant_id: box.tenantId, snapshot_id: idOf('a'), duration_ms: null, restore_ms: null, error: null, media: null }
    await db
      .insertInto('snapshot_drills')
      .values(drills.map((drill) => ({ ...drill, ...rest })))
      .execute()
    const asked: number[] = []
    const watching = db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        if (result.rows.some((row) => 'tenant_id' in row && 'at' in row)) asked.push(result.rows.length)
        return result
      },
    })
    const registry = new Registry()
    snapshotMetrics({ ...deps, db: watching, registry })
    for (const scrapes of [1, 2]) {
      const age = clock.now().getTime() - Date.parse('2026-01-02T00:00:00.000Z')
      expect(await registry.metrics()).toContain(`tenantry_proven_restore_age_seconds ${age / 1000}\n`)
      expect(asked).toEqual(Array(scrapes).fill(1))
    }
  })
})
