import { expect, test } from 'vitest'
import type { InstalledVersions } from '../../../src/core/boxes/index.ts'
import { isoNow } from '../../../src/core/kit/index.ts'
import { type BoxRecord, boxBySlug, holdBox, releaseHold } from '../../../src/daemon/boxes/index.ts'
import { insertMove } from '../../../src/daemon/boxes/lifecycle/procedures.repo.ts'
import type { Command } from '../../../src/daemon/hosts/index.ts'
import { fixesOfEmergencies, versionsBeforeUpdate } from '../../../src/daemon/rollouts/index.ts'
import { resumeRollout, startRollout } from '../../../src/daemon/rollouts/testing.ts'
import { snapshotForMove } from '../../../src/daemon/snapshots/index.ts'
import { restoreBox } from '../../../src/daemon/snapshots/restore-box.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, emergencyWorld } from '../../support/emergencies.ts'
import { snapshotIdOf } from '../../support/rollout-world.ts'

const holes = { fixes: fixesOfEmergencies, versionsBefore: versionsBeforeUpdate }

onBothDialects('a restore of a snapshot from before an emergency', (fresh) => {
  const begin = async () => {
    const world = await emergencyWorld(await fresh(), [{ slug: 'acme' }, { slug: 'beta' }])
    const { db } = world.deps
    const api = await world.as()
    const deps = {
      ...world.deps,
      settings: { backupKey: Buffer.alloc(32, 7).toString('base64'), snapshotStore: 'file:/srv/snapshots' },
      deadlineMs: 3_600_000,
      ...holes,
    }
    const restore = (slug: string, allowHole = false, nth = 1) =>
      restoreBox(deps as never, anOperator, { slug, snapshotId: snapshotIdOf(slug, nth), reason: 'its database broke', allowHole })
    const queue = async (toChatServer = anOrder.toChatServer) => (await api.createEmergency({ body: { ...anOrder, toChatServer } })).id
    const start = (id: string) => startRollout(world.deps, anAdmin, { id })
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

  test('is refused with the vulnerability and the emergency that fixed it, and the agent gets no command', async () => {
    const { restore, emergency, held, said } = await begin()
    const id = await emergency()
    const holes = `CVE-2026-12345 (synapse 1.157.1; fixed in 1.163.4 by emergency ${id})`
    await expect(restore('acme')).rejects.toMatchObject({ code: 'REINTRODUCES_CVE', message: expect.stringContaining(holes) })
    await expect(restore('acme')).rejects.toThrow('tenantry rollouts create --target acme')
    expect([await held(), await said()]).toEqual([[], []])
  })

  test('is allowed in a move from a dead host, which names the same vulnerability', async () => {
    const { db, emergency } = await begin()
    const hole = { emergency: await emergency(), cveId: 'CVE-2026-12345', component: 'synapse', fixed: '1.163.4', version: '1.157.1' }
    const box = (await boxBySlug(db, 'acme')) as BoxRecord
    const chosen = await db.transaction().execute((tx) => snapshotForMove(holes)(tx, box))
    expect(chosen).toMatchObject({ snapshotId: snapshotIdOf('acme'), reopens: [hole] })
  })

  test('is allowed on request, and the audit log records the vulnerability', async () => {
    const { restore, emergency, held, said } = await begin()
    const hole = { emergency: await emergency(), cveId: 'CVE-2026-12345', component: 'synapse', fixed: '1.163.4', version: '1.157.1' }
    const { commandId, reopens } = await restore('acme', true)
    expect(reopens).toEqual([hole])
    expect(await held()).toEqual([{ holder: `restore:${commandId}` }])
    expect(await said()).toMatchObject([{ reason: 'its database broke', reopens: [hole] }])
  })

  test('behind an emergency without recorded fixes: only the components that it changed count', async () => {
    const { db, emergency, restore } = await begin()
    await emergency()
    const older = { migrationsHead: '0000', postgres: '17.5', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }
    await db
      .updateTable('snapshots')
      .set({ installed: JSON.stringify(older) })
      .execute()
    await db.updateTable('rollouts').set({ fixes: null }).execute()
    expect((await restore('acme', true)).reopens).toMatchObject([{ component: 'synapse', fixed: '1.163.4' }])
  })

  test('is allowed if the box has the vulnerability anyway, or the snapshot has none', async () => {
    const { restore, fates, queue, start, settle, said } = await begin()
    fates.set('acme', ['rolls-back'])
    await start(await queue())
    await settle()
    expect(await restore('acme')).toMatchObject({ reopens: [] })
    await settle() // it is back, and free
    expect(await said()).toEqual([expect.not.objectContaining({ reopens: expect.anything() })])
  })

  test.each([
    ['recorded', {}, 'synapse 1.157.1'],
    ['not recorded, as in an older database', { installed: null }, 'synapse unknown'],
  ])('is refused for a snapshot of an attempt that was repeated after the emergency, if its versions are %s', async (_, kept, says) => {
    const { deps, db, fates, started, settle, emergency, restore, statuses } = await begin()
    fates.set('acme', ['rolls-back'])
    const staged = await started()
    await settle()
    await emergency()
    await resumeRollout(deps, anOperator, { id: staged, skipFailed: false })
    await settle()
    expect(await statuses(staged)).toMatchObject({ acme: 'skipped' })
    await db
      .updateTable('snapshots')
      .set({ slug: 'acme', ...kept })
      .where('snapshot_id', '=', snapshotIdOf('acme'))
      .execute()
    await expect(restore('acme')).rejects.toMatchObject({ code: 'REINTRODUCES_CVE', message: expect.stringContaining(says) })
  })

  test('is refused by the time of the snapshot if its versions are unknown', async () => {
    const { db, clock, restore, emergency } = await begin()
    await emergency()
    await db.updateTable('snapshots').set({ command_id: null, installed: null }).execute()
    await expect(restore('acme')).rejects.toMatchObject({ code: 'REINTRODUCES_CVE', message: expect.stringContaining('synapse unknown') })
    await clock.advance(1000)
    await db.updateTable('snapshots').set({ taken_at: clock.now().toISOString() }).execute()
    expect(await restore('acme')).toMatchObject({ reopens: [] })
  })

  test('the emergency includes a fixed box that a move restores from a dead host, but not one that is handed over', async () => {
    const { db, installed, clock, queue, start, settle, started, show } = await begin()
    await started()
    await settle()
    const id = await queue('1.163.2')
    const move = async (slug: string, oldHostIsDead: boolean) => {
      const box = (await boxBySlug(db, slug)) as BoxRecord
      const holder = { boxId: box.id, holder: `move:mov_${slug}` }
      const sides = { boxId: box.id, fromHostId: box.hostId, toHostId: box.hostId, fromPort: null, toPort: slug === 'acme' ? 1 : 2 }
      const asked = {
        id: `mov_${slug}`,
        fromCopy: true,
        toCopy: true,
        snapshot: null,
        reason: 'why',
        by: 'anna',
        state: 'taking_over' as const,
      }
      const at = { startedAt: isoNow(clock), changedAt: isoNow(clock), keepUntil: null, epoch: 1, orders: 1, commandId: null, error: null }
      await db.transaction().execute(async (tx) => {
        await holdBox(tx, clock, { ...holder, until: '9999-12-31T23:59:59.999Z' })
        await insertMove(tx, { ...sides, ...asked, ...at, oldHostIsDead })
      })
      return () => db.transaction().execute((tx) => releaseHold(tx, holder))
    }
    const moved = await move('acme', true)
    await move('beta', false)
    await start(id)
    expect((await show(id)).actions.map(({ status }) => status)).toEqual(['pending', 'skipped'])
    installed.set('acme', { ...(installed.get('acme') as InstalledVersions), synapse: '1.157.1' })
    await moved()
    await settle()
    expect(await show(id)).toMatchObject({ status: 'done', actions: [{ status: 'succeeded' }, { status: 'skipped' }] })
    expect(installed.get('acme')?.synapse).toBe('1.163.2')
  })

  test('the emergency includes a fixed box whose hold was released while its restore has no known end', async () => {
    const { db, queue, start, settle, started, restore, show, open, take } = await begin()
    await started()
    await settle()
    const id = await queue('1.163.2')
    await restore('acme')
    const [command] = await open()
    await take((command as Command).id)
    await db.deleteFrom('box_holds').execute() // a person has released it
    await start(id)
    expect((await show(id)).actions.map(({ status }) => status)).toEqual(['pending', 'skipped'])
  })

  test('that began before the emergency: the emergency includes the box although it ran the fixed version', async () => {
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
