import { expect, test } from 'vitest'
import { isoNow, isProblem, sha256Hex } from '../../../../src/core/kit/index.ts'
import { deleteOldAnswers, watchFences } from '../../../../src/daemon/boxes/index.ts'
import { enqueueCommand } from '../../../../src/daemon/hosts/index.ts'
import { makeMetrics } from '../../../../src/daemon/http/index.ts'
import { fleetMetrics } from '../../../../src/daemon/service/index.ts'
import { silentLogger } from '../../../../src/node/index.ts'
import { aReport } from '../../../support/boxes.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { type LifeWorld, lifeWorld } from '../../../support/life-world.ts'

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'no problem',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const north = { params: { slug: 'north' } }
const minute = 60_000
const turn = async (world: LifeWorld, on: boolean) =>
  (await world.api()).maintainBox({ ...north, body: { on, reason: on ? 'moving its disk' : 'done' } })

onBothDialects('maintenance', (fresh) => {
  test('holds the box from the call until its agent has opened it again', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    await turn(world, true)
    expect(await world.holds()).toEqual(['maintenance'])
    await world.answer('host-1', 'tenant-box.maintenance')
    const since = expect.any(String)
    expect(await api.showBox(north)).toMatchObject({
      maintenance: { by: 'admin:anna', reason: 'moving its disk', since },
      fenced: true,
      fence: { holder: 'maintenance' },
      heldBy: 'maintenance',
      heldUntil: null,
    })
    await turn(world, false)
    expect(await world.holds()).toEqual(['maintenance'])
    await world.answer('host-1', 'tenant-box.maintenance')
    expect([await world.holds(), (await api.showBox(north)).maintenance]).toEqual([[], null])
    expect(await world.audit()).toEqual(expect.arrayContaining(['box.maintenance.on', 'box.maintenance.off']))
  })

  test('that the agent refuses does not begin; an end that it refuses leaves it on', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    await turn(world, true)
    await world.fail('host-1', 'BOX_HELD')
    expect([await world.holds(), (await api.showBox(north)).maintenance]).toEqual([[], null])
    await turn(world, true)
    await world.answer('host-1', 'tenant-box.maintenance')
    await turn(world, false)
    await world.fail('host-1', 'BOX_HELD')
    expect(await world.holds()).toEqual(['maintenance'])
  })

  test('is refused for boxes that are on hold, observed or on an offline host', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    expect(await code(turn(world, false))).toBe('CONFLICT')
    await world.db.insertInto('box_holds').values({ box_id: id, holder: 'rollout:r1', until: '2030-01-01T00:00:00.000Z' }).execute()
    expect(await code(turn(world, true))).toBe('BOX_HELD')
    await world.db.deleteFrom('box_holds').execute()
    await world.silence('host-1')
    expect(await code(turn(world, true))).toBe('HOST_OFFLINE')
    await world.silence()
    await world.db.updateTable('boxes').set({ managed: 0 }).execute()
    expect(await code(turn(world, true))).toBe('BOX_NOT_MANAGED')
  })
})

onBothDialects('logs', (fresh) => {
  test('can be read during other commands, and are audited', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    await api.checkBox(north)
    const check = await world.take('host-1') // it stays in hand
    const { commandId } = await api.readLogs({ ...north, body: { services: ['synapse'], lines: 10 } })
    const command = await world.take('host-1', [check])
    expect(command).toMatchObject({ id: commandId, kind: 'tenant-box.logs', payload: { services: ['synapse'], lines: 10 } })
    expect((await world.audit()).filter((action) => action === 'box.logs')).toHaveLength(1)
  })

  test('do not hide open commands, however often they are read', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    await turn(world, true)
    for (let asked = 0; asked < 25; asked++) await api.readLogs({ ...north, body: {} })
    expect((await api.showBox(north)).openCommands).toMatchObject([{ kind: 'tenant-box.maintenance', status: 'queued', host: 'host-1' }])
  })

  test('do not stay in the database', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    const { commandId } = await api.readLogs({ ...north, body: {} })
    await world.answer('host-1', 'tenant-box.logs')
    const kept = async () => (await world.db.selectFrom('commands').select('id').where('id', '=', commandId).execute()).length
    await world.clock.advance(9 * minute)
    await deleteOldAnswers(world, world.db)
    expect(await kept()).toBe(1)
    await world.clock.advance(minute)
    await deleteOldAnswers(world, world.db)
    expect(await kept()).toBe(0)
  })
})

async function counted({ room }: LifeWorld): Promise<string> {
  const { registry } = makeMetrics()
  fleetMetrics({ ...room, registry })
  return registry.metrics()
}

onBothDialects('a fence', (fresh) => {
  const watch = (world: LifeWorld) => watchFences({ ...world.room, log: silentLogger() })
  const overdue = async (world: LifeWorld) => (await world.events()).filter(({ eventType }) => eventType === 'box.fence_overdue').length

  test('that is overdue is reported once, and again only for another fence', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    const fenced = (holder: string, since: string) => aReport('north', { at: isoNow(world.clock), fenced: true, fence: { holder, since } })
    await world.clock.advance(minute)
    const since = isoNow(world.clock)
    await world.report('host-1', [fenced('cmd_gone', since)])
    await world.clock.advance(14 * minute)
    await watch(world)
    expect((await api.showBox(north)).fence).toEqual({ holder: 'cmd_gone', since, overdueSince: null })
    await world.clock.advance(minute)
    await watch(world)
    await world.report('host-1', [fenced('cmd_gone', since)])
    await watch(world)
    expect([await overdue(world), (await api.showBox(north)).fenceOverdue]).toEqual([1, true])
    expect(await counted(world)).toContain('tenantry_fences{state="overdue"} 1')
    expect(await world.audit()).toContain('box.fence_overdue')
    await world.report('host-1', [aReport('north', { at: isoNow(world.clock) })])
    expect((await api.showBox(north)).fence).toBeNull()
    await world.clock.advance(minute)
    await world.report('host-1', [fenced('cmd_gone', isoNow(world.clock))])
    await world.clock.advance(16 * minute)
    await watch(world)
    expect(await overdue(world)).toBe(2)
  })

  test('for a known command may last until its deadline, and for maintenance without limit', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    await (await world.api()).moveBox({ ...north, body: { to: 'host-2', reason: 'host-1 is full' } })
    const { id } = await world.take('host-1')
    const fence = { holder: id, since: isoNow(world.clock) }
    await world.report('host-1', [aReport('north', { fenced: true, fence })])
    await world.clock.advance(60 * minute)
    await watch(world)
    expect(await overdue(world)).toBe(0)
    await world.aBox('south')
    await world.report('host-1', [aReport('south', { fenced: true, fence: { holder: 'maintenance', since: isoNow(world.clock) } })])
    await world.clock.advance(20 * 60 * minute)
    await watch(world)
    expect(await overdue(world)).toBe(1)
  })
})

onBothDialects('a fence that no command will lift', (fresh) => {
  const watch = (world: LifeWorld) => watchFences({ ...world.room, log: silentLogger() })
  const stuck = async ({ db }: LifeWorld) => db.selectFrom('alerts').select('kind').where('kind', '=', 'fence_stuck').execute()

  test('is reported with the first report after its command failed: the hand-over could not restart the box', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    await (await world.api()).moveBox({ ...north, body: { to: 'host-2', reason: 'host-1 is full' } })
    const command = await world.take('host-1')
    const fence = { holder: command.id, since: isoNow(world.clock) }
    const report = () => world.report('host-1', [aReport('north', { at: isoNow(world.clock), fenced: true, fence })])
    await report()
    await world.clock.advance(minute)
    await world.post('host-1', command, { ok: false, error: { code: 'SNAPSHOT_FAILED', message: 'north stays fenced on this host' } })
    await watch(world)
    expect(await stuck(world)).toEqual([])
    await world.clock.advance(minute)
    await report()
    await watch(world)
    expect(await stuck(world)).toHaveLength(1)
  })
})

onBothDialects('a stale hold', (fresh) => {
  const release = async (world: LifeWorld, confirm = 'north') =>
    (await world.api()).releaseBox({ ...north, body: { confirm, reason: 'its host burned' } })
  const held = (world: LifeWorld, id: string) =>
    world.db.insertInto('box_holds').values({ box_id: id, holder: 'rollout:r1', until: '2030-01-01T00:00:00.000Z' }).execute()

  test('is released with the slug as confirmation, and the result shows whether the box is fenced', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    expect(await code(release(world))).toBe('CONFLICT')
    await held(world, id)
    await world.db.updateTable('boxes').set({ fenced: 1 }).execute()
    expect(await code(release(world, 'south'))).toBe('VALIDATION')
    const { released, fenced, next } = await release(world)
    expect([released, fenced, await world.holds()]).toEqual(['rollout:r1', true, []])
    expect(next.join('\n')).toContain('tenantry snapshots restore north')
    expect(await world.audit()).toContain('box.released')
  })

  test('of a command that its agent took and never answered stays while the host is online, until the agent has lost it', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await held(world, id)
    const at = isoNow(world.clock)
    const command = { id: 'cmd_update', host_id: 'hst_host-1', box_id: id, kind: 'tenant-box.update', payload: '{}', revision: 1 }
    const times = { created_at: at, deadline_at: at, started_at: at, heard_at: at, finished_at: at, lease_until: null }
    await world.db
      .insertInto('commands')
      .values({ ...command, ...times, status: 'expired', lease_token: 1, progress: '[]', steps: '[]', result: null, error: null })
      .execute()
    expect(await code(release(world))).toBe('CONFLICT')
    await world.db.updateTable('commands').set({ heard_at: '2030-01-01T00:00:00.000Z' }).where('id', '=', 'cmd_update').execute()
    expect((await release(world)).next.join()).not.toContain('may still run')
  })

  test('stays while its owner may still finish', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    await turn(world, true)
    expect(await code(release(world))).toBe('CONFLICT')
    await world.silence('host-1')
    expect((await release(world)).released).toBe('maintenance')
    expect((await api.showBox(north)).maintenance).toBeNull()
    await world.silence()
    await api.moveBox({ ...north, body: { to: 'host-2', reason: 'host-1 is full' } })
    expect(await code(release(world))).toBe('CONFLICT')
  })
})

onBothDialects('releasing a box that a restore holds', (fresh) => {
  const restoring = async () => {
    const world = await lifeWorld(await fresh())
    const { id: boxId, tenantId } = await world.aBox('north')
    const id = 'cmd_restore'
    const asked = { command_id: id, tenant_id: tenantId, box_id: boxId, slug: 'north', snapshot_id: sha256Hex('s'), reason: 'lost a room' }
    const payload = {
      ...{ slug: 'north', boxId, ownershipEpoch: 1, snapshotId: sha256Hex('s'), snapshotSha256: null },
      ...{ probe: world.room.probe, deadlineMs: minute },
    }
    await world.db.transaction().execute(async (tx) => {
      await enqueueCommand(tx, world.clock, {
        id,
        hostId: 'hst_host-1',
        boxId,
        kind: 'tenant-box.restore',
        payload,
        deadlineMs: 60 * minute,
      })
      await tx
        .insertInto('box_restores')
        .values({ ...asked, status: 'open', asked_at: isoNow(world.clock), ended_at: null, duration_ms: null })
        .execute()
      await tx
        .insertInto('box_holds')
        .values({ box_id: boxId, holder: `restore:${id}`, until: '2030-01-01T00:00:00.000Z' })
        .execute()
    })
    const release = async () => (await world.api()).releaseBox({ ...north, body: { confirm: 'north', reason: 'its host burned' } })
    const restore = () => world.db.selectFrom('box_restores').select('status').executeTakeFirstOrThrow()
    return { world, release, restore }
  }

  test('cancels the restore that no agent fetched', async () => {
    const { world, release, restore } = await restoring()
    await world.silence('host-1')
    expect((await release()).next.join()).not.toContain('may still run')
    expect([await restore(), await world.holds(), await world.offered('host-1')]).toEqual([{ status: 'failed' }, [], null])
    expect(await world.audit()).toEqual(expect.arrayContaining(['box.restore_failed', 'box.released']))
  })

  test('warns that a restore that its agent fetched may still run', async () => {
    const { world, release, restore } = await restoring()
    await world.take('host-1')
    await world.silence('host-1')
    expect((await release()).next[0]).toContain('tenant-box.restore (cmd_restore) may still run')
    expect(await restore()).toEqual({ status: 'open' })
  })
})

onBothDialects('the list of boxes', (fresh) => {
  test('matches a part of the slug literally', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north-1')
    await world.aBox('north')
    const slugs = async (slug: string) => (await (await world.api()).listBoxes({ query: { slug } })).boxes.map((box) => box.slug)
    expect(await slugs('north')).toEqual(['north', 'north-1'])
    expect(await slugs('h-1')).toEqual(['north-1'])
    for (const pattern of ['n%h', '%', '_', 'nort_', '\\']) expect(await slugs(pattern)).toEqual([])
  })
})

onBothDialects('a box whose agent lost its state folder', (fresh) => {
  const again = async (world: LifeWorld) => (await world.api()).adoptAgain({ ...north, body: {} })

  test('is registered again on its host, also while it is on hold, and its fence is known', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await world.db.insertInto('box_holds').values({ box_id: id, holder: 'rollout:r1', until: '2030-01-01T00:00:00.000Z' }).execute()
    const { commandId } = await again(world)
    const since = isoNow(world.clock)
    const report = aReport('north', { at: since, fenced: true, fence: { holder: 'ro_1.update', since } })
    const command = await world.answer('host-1', 'tenant-box.adopt_again', { report })
    expect(command).toMatchObject({ id: commandId, payload: { slug: 'north', boxId: id, managed: true } })
    expect((await (await world.api()).showBox(north)).fence).toMatchObject({ holder: 'ro_1.update' })
    expect(await world.audit()).toContain('box.adopt.again')
  })

  test('needs its host', async () => {
    const world = await lifeWorld(await fresh())
    expect(await code(again(world))).toBe('NOT_FOUND')
    await world.aBox('north')
    await world.silence('host-1')
    expect(await code(again(world))).toBe('HOST_OFFLINE')
  })
})
