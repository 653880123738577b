import { expect, test } from 'vitest'
import { holdBox, releaseHold } from '../../../src/daemon/boxes/index.ts'
import { moveBox } from '../../../src/daemon/boxes/lifecycle/move-box.ts'
import { fixesOfEmergencies, versionsBeforeUpdate } from '../../../src/daemon/rollouts/index.ts'
import { startRollout } from '../../../src/daemon/rollouts/testing.ts'
import { snapshotForMove } from '../../../src/daemon/snapshots/index.ts'
import { restoreBox } from '../../../src/daemon/snapshots/restore-box.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { anAdmin, anOrder, emergencyWorld } from '../../support/emergencies.ts'
import { aGate, heldUpOrOver, stoppedBeforeCommit } from '../../support/held-up.ts'
import { snapshotIdOf } from '../../support/rollout-world.ts'

onBothDialects('a restore and an emergency at the same moment', (fresh) => {
  /** A box that a rollout has brought to the fixed version, with a snapshot from before. */
  const begin = async () => {
    const world = await emergencyWorld(await fresh(), [{ slug: 'acme' }, { slug: 'beta' }])
    await world.started()
    await world.settle()
    const api = await world.as()
    const rooms = {
      ...world.deps,
      settings: { backupKey: Buffer.alloc(32, 7).toString('base64'), snapshotStore: 'file:/srv/snapshots' },
      deadlineMs: 3_600_000,
      fixes: fixesOfEmergencies,
      versionsBefore: versionsBeforeUpdate,
    }
    const restore = (deps: Partial<typeof rooms> = {}) =>
      restoreBox({ ...rooms, ...deps } as never, anOperator, {
        ...{ slug: 'acme', snapshotId: snapshotIdOf('acme'), reason: 'its database broke', allowHole: false },
      })
    const queue = async () => (await api.createEmergency({ body: { ...anOrder, toChatServer: '1.163.2' } })).id
    const start = (id: string, db = world.deps.db) => startRollout({ ...world.deps, db }, anAdmin, { id })
    return { ...world, db: world.deps.db, rooms, restore, queue, start }
  }

  /** Looks for emergencies, and then waits at a gate. */
  const stoppedLook = () => {
    const looked = aGate()
    const fixes: typeof fixesOfEmergencies = async (tx) => {
      const found = await fixesOfEmergencies(tx)
      await looked.pass()
      return found
    }
    return { looked, fixes }
  }

  test('one that is made and started when the restore has looked for emergencies, and has not committed, takes its box in', async () => {
    const { db, restore, queue, start, settle, show, installed } = await begin()
    const { looked, fixes } = stoppedLook()
    const asked = restore({ fixes })
    await looked.reached
    const made = queue()
    const started = made.then((id) => start(id))
    await heldUpOrOver(db, started)
    looked.open()
    await Promise.all([asked, started])
    await settle()
    await settle() // the box was free only then
    expect(await show(await made)).toMatchObject({ status: 'done', actions: [{ status: 'succeeded' }, { status: 'skipped' }] })
    expect(installed.get('acme')?.synapse).toBe('1.163.2')
  })

  test('a restore that is asked for while one begins sees it, and names the hole', async () => {
    const { db, restore, queue, start, show } = await begin()
    const id = await queue()
    const begun = aGate()
    const started = start(id, stoppedBeforeCommit(db, begun))
    await begun.reached
    const asked = restore()
    await heldUpOrOver(db, asked)
    begun.open()
    await started
    await expect(asked).rejects.toMatchObject({ code: 'REINTRODUCES_CVE', message: expect.stringContaining(id) })
    expect((await show(id)).actions.map(({ status }) => status)).toEqual(['skipped', 'skipped'])
    expect(await db.selectFrom('box_holds').select('holder').execute()).toEqual([])
  })

  test('what the box runs is looked at once nobody else can change it: an update that begins after that look finds it held', async () => {
    const { db, clock, restore, queue, start } = await begin()
    const runs = (synapse: string) => ({ installed_synapse: synapse })
    await db.updateTable('boxes').set(runs('1.157.1')).where('slug', '=', 'acme').execute()
    const id = await queue()
    await start(id)
    const { looked, fixes } = stoppedLook()
    const asked = restore({ fixes })
    await looked.reached
    const hold = { boxId: 'box_acme' as never, holder: `rollout:${id}` }
    const updated = db.transaction().execute(async (tx) => {
      await holdBox(tx, clock, { ...hold, until: '9999-12-31T23:59:59.999Z' })
      await tx.updateTable('boxes').set(runs('1.163.2')).where('slug', '=', 'acme').execute()
      await releaseHold(tx, hold)
    })
    updated.catch(() => undefined) // told below
    await heldUpOrOver(db, updated)
    looked.open()
    expect(await asked).toMatchObject({ reopens: [] }) // it has the hole now, and the emergency closes it afterwards
    await expect(updated).rejects.toMatchObject({ code: 'BOX_HELD' })
  })

  test('a move from a dead host that has looked for emergencies is waited for: what it brings back is taken in', async () => {
    const { db, rooms, queue, start, show } = await begin()
    const id = await queue()
    await db.updateTable('hosts').set({ last_seen_at: '2026-01-01T00:00:00.000Z' }).where('name', '=', 'host-of-acme').execute()
    const { looked, fixes } = stoppedLook()
    const deps = { ...rooms, newestSnapshot: snapshotForMove({ ...rooms, fixes }) }
    const wish = { slug: 'acme', to: 'host-of-beta', oldHostIsDead: 'host-of-acme', reason: 'it burnt' }
    const moved = moveBox(deps as never, anOperator, wish)
    await looked.reached
    const started = start(id)
    await heldUpOrOver(db, started)
    looked.open()
    await Promise.all([moved, started])
    expect((await show(id)).actions.map(({ status }) => status)).toEqual(['pending', 'skipped'])
  })
})
