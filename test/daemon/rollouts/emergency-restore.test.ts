import { expect, test } from 'vitest'
import { fixesOfEmergencies, versionsBeforeUpdate } from '../../../src/daemon/rollouts/index.ts'
import { startRollout } from '../../../src/daemon/rollouts/start-rollout.ts'
import { restoreBox } from '../../../src/daemon/snapshots/restore-box.ts'
import { anOperator } from '../../support/boxes-room.ts'
import { onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, emergencyWorld } from '../../support/emergencies.ts'
import { snapshotIdOf } from '../../support/rollout-world.ts'

onBothDialects('a person who brings a box back behind an emergency', (fresh) => {
  const begin = async () => {
    const world = await emergencyWorld(await fresh(), [{ slug: 'acme' }, { slug: 'beta' }])
    const { db } = world.needs
    const api = await world.as()
    const needs = {
      ...world.needs,
      settings: { backupKey: Buffer.alloc(32, 7).toString('base64'), snapshotStore: 'file:/srv/snapshots' },
      deadlineMs: 3_600_000,
      fixes: fixesOfEmergencies,
      versionsBefore: versionsBeforeUpdate,
    }
    const restore = (slug: string, allowHole = false, nth = 1) =>
      restoreBox(needs as never, anOperator, { slug, snapshotId: snapshotIdOf(slug, nth), reason: 'its database broke', allowHole })
    const queue = async (toChatServer = anOrder.toChatServer) => (await api.createEmergency({ body: { ...anOrder, toChatServer } })).id
    const start = (id: string) => startRollout(world.needs, anAdmin, { id })
    const emergency = async () => {
      const id = await queue()
      await start(id)
      await world.settle()
      return id
    }
    const held = () => db.selectFrom('box_holds').select('holder').execute()
    const said = async () =>
      (await db.selectFrom('audit').select('data').where('action', '=', 'box.restore').orderBy('seq').execute()).map(({ data }) =>
        JSON.parse(data),
      )
    return { ...world, db, restore, queue, start, emergency, held, said }
  }

  test('is told which hole of which emergency would be open again, and nothing is asked of the agent', async () => {
    const { restore, emergency, held, said } = await begin()
    const id = await emergency()
    const holes = `the hole of CVE-2026-12345 (synapse 1.157.1, and the emergency ${id} brought 1.163.4)`
    await expect(restore('acme')).rejects.toMatchObject({ code: 'REOPENS_HOLE', message: expect.stringContaining(holes) })
    await expect(restore('acme')).rejects.toThrow('tenantry rollouts create --target acme')
    expect([await held(), await said()]).toEqual([[], []])
  })

  test('may do it all the same by saying so, which the audit log keeps', async () => {
    const { restore, emergency, held, said } = await begin()
    const hole = { emergency: await emergency(), cveId: 'CVE-2026-12345', component: 'synapse', fixed: '1.163.4', version: '1.157.1' }
    const { commandId, reopens } = await restore('acme', true)
    expect(reopens).toEqual([hole])
    expect(await held()).toEqual([{ holder: `restore:${commandId}` }])
    expect(await said()).toMatchObject([{ reason: 'its database broke', reopens: [hole] }])
  })

  test('is asked nothing where the box has the hole anyway, or the snapshot has none', async () => {
    const { restore, fates, queue, start, settle, said } = await begin()
    fates.set('acme', ['rolls-back'])
    await start(await queue())
    await settle()
    expect(await restore('acme')).toMatchObject({ reopens: [] })
    await settle() // it is back, and free
    expect(await said()).toEqual([expect.not.objectContaining({ reopens: expect.anything() })])
  })

  test('of a snapshot that holds nobody knows what, by when it was taken', async () => {
    const { db, clock, restore, emergency } = await begin()
    await emergency()
    await db.updateTable('snapshots').set({ command_id: null }).execute()
    await expect(restore('acme')).rejects.toMatchObject({ code: 'REOPENS_HOLE', message: expect.stringContaining('nobody knows') })
    await clock.advance(1000)
    await db.updateTable('snapshots').set({ taken_at: clock.now().toISOString() }).execute()
    expect(await restore('acme')).toMatchObject({ reopens: [] })
  })

  test('before it begins is overtaken by it: what a restore has in hand is taken in, though it ran the fixed version', async () => {
    const { installed, queue, start, settle, started, restore, show } = await begin()
    await started()
    await settle()
    const id = await queue('1.163.2')
    expect((await show(id)).actions.map(({ status }) => status)).toEqual(['skipped', 'skipped'])
    await restore('acme')
    await start(id)
    await settle()
    await settle()
    expect((await show(id)).actions.map(({ status }) => status)).toEqual(['succeeded', 'skipped'])
    expect(installed.get('acme')?.synapse).toBe('1.163.2')
  })
})
