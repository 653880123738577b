import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { mortal } from '../../support/dying.ts'
import { aManifest, aModulesWorld, approve } from '../../support/modules-world.ts'
import { codeOf } from '../../support/tasks-world.ts'

const params = { moduleId: 'attendance' }
const dayMs = 86_400_000

/** `attendance` with a document in two tenants. */
async function twoActive(db: Parameters<typeof aModulesWorld>[0]) {
  const room = await aModulesWorld(db)
  await approve(db, aManifest(), 'ten_two')
  for (const who of ['mia', 'olga']) {
    await room.as(who).installModule({ body: { ...params, approvedPermissions: [] } })
    await room.as(who).activateModule({ params })
  }
  await room.addDocuments('attendance', 0, ['a', 'b'])
  await room.addDocuments('attendance', 0, ['c'], 'ten_two')
  return { ...room, mia: room.as('mia'), olga: room.as('olga') }
}

onBothDialects('module-data-cleanup', (fresh) => {
  test('deletes exactly the data that is due, with an event and an audit entry; retention goes on in suspended tenants', async () => {
    const room = await twoActive(await fresh())
    await room.mia.deactivateModule({ params })
    await room.clock.advance(10 * dayMs)
    await room.olga.uninstallModule({ params })
    await room.db.updateTable('tenants').set({ status: 'suspended' }).where('id', '=', 'ten_one').execute()
    await room.clock.advance(20 * dayMs - 1)
    expect(await room.cron('module-data-cleanup')).toBe('data of 0 modules deleted')
    await room.clock.advance(1)
    expect(await room.cron('module-data-cleanup')).toBe('data of 1 module deleted')
    expect(await room.documents()).toEqual(['ten_two attendance 0 c'])
    expect(await room.row()).toMatchObject({ status: 'deleted', data_delete_at: null, data_bytes: 0, permissions: '[]' })
    expect((await room.events()).at(-1)).toEqual({ type: 'module.data_deleted', payload: { moduleId: 'attendance', version: '1.0.0' } })
    expect((await room.audited()).at(-1)).toBe('module.data_deleted one')
    expect(await room.cron('module-data-cleanup')).toBe('data of 0 modules deleted')
    await room.clock.advance(10 * dayMs)
    expect(await room.cron('module-data-cleanup')).toBe('data of 1 module deleted')
    expect(await room.documents()).toEqual([])
  })

  test('a module that was activated again in time keeps its data', async () => {
    const room = await twoActive(await fresh())
    await room.mia.deactivateModule({ params })
    await room.clock.advance(30 * dayMs - 1)
    await room.mia.activateModule({ params })
    await room.clock.advance(dayMs)
    expect(await room.cron('module-data-cleanup')).toBe('data of 0 modules deleted')
    expect(await room.documents()).toHaveLength(3)
  })

  test('killed at each statement: all of a module is deleted, or nothing', async () => {
    const db = await fresh()
    const room = await twoActive(db)
    await room.mia.deactivateModule({ params })
    await room.clock.advance(31 * dayMs)
    for (let steps = 1; ; steps++) {
      const dying = mortal(db, steps)
      const replica = await aModulesWorld(db, { isFirst: false, clock: room.clock, deps: { db: dying.db } })
      await Promise.resolve(replica.cron('module-data-cleanup')).catch(() => undefined)
      const isDeleted = (await room.row()).status === 'deleted'
      expect(await room.documents()).toHaveLength(isDeleted ? 1 : 3)
      expect((await room.events()).filter(({ type }) => type === 'module.data_deleted')).toHaveLength(isDeleted ? 1 : 0)
      if (isDeleted) break
      expect(steps).toBeLessThan(60)
    }
  })

  test('killed at each statement of an activation: afterwards it is active with all that belongs to it, or not at all', async () => {
    const db = await fresh()
    const room = await aModulesWorld(db)
    await approve(db, aManifest(), 'ten_two')
    await room.as('mia').installModule({ body: { ...params, approvedPermissions: [] } })
    for (let steps = 1; ; steps++) {
      const dying = mortal(db, steps)
      const replica = await aModulesWorld(db, { isFirst: false, clock: room.clock, deps: { db: dying.db } })
      await codeOf(replica.as('mia').activateModule({ params }))
      const isActive = (await room.row()).status === 'active'
      const counts = [
        (await room.events()).filter(({ type }) => type === 'module.activated').length,
        (await room.audited()).filter((entry) => entry.startsWith('module.activated')).length,
        (await db.selectFrom('usage_events').selectAll().execute()).length,
        (await db.selectFrom('module_positions').selectAll().execute()).length,
        (await db.selectFrom('jobs').selectAll().where('topic', '=', 'modules.billing').execute()).length,
        (await room.as('mia').bootstrap()).modules.length,
      ]
      expect(counts).toEqual(counts.map(() => (isActive ? 1 : 0)))
      if (isActive) break
      await room.clock.advance(76_000)
      expect(steps).toBeLessThan(80)
    }
  })
})
