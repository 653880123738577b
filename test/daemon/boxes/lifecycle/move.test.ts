import { describe, expect, test } from 'vitest'
import { isoNow, isProblem, sha256Hex } from '../../../../src/core/kit/index.ts'
import { lifecycleJobs, snapshotsOfLifecycle } from '../../../../src/daemon/boxes/index.ts'
import { aReport } from '../../../support/boxes.ts'
import { inBetween, onBothDialects } from '../../../support/databases.ts'
import { type LifeWorld, lifeWorld } from '../../../support/life-world.ts'

const code = (call: Promise<unknown>) =>
  call.then(
    () => 'no problem',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const north = { params: { slug: 'north' } }
const toHost2 = { ...north, body: { to: 'host-2', reason: 'host-1 is full' } }

/** A box in the take-over phase of a move; its new host has not fetched the command yet. */
async function onItsWay(world: LifeWorld) {
  const box = await world.aBox('north')
  await (await world.api()).moveBox(toHost2)
  await world.answer('host-1', 'tenant-box.hand_over')
  return box
}
const stateOf = async (world: LifeWorld) => (await (await world.api()).showBox(north)).move

onBothDialects('a move', (fresh) => {
  test('goes from hand-over to take-over; the registry changes only when the new host has the box', async () => {
    const world = await lifeWorld(await fresh())
    const api = await world.api()
    const { id, ports } = await world.aBox('north')
    const begun = await api.moveBox(toHost2)
    expect(begun).toMatchObject({ from: 'host-1', to: 'host-2', state: 'handing_over', losesMs: 0, by: 'admin:anna' })
    expect(await world.holds()).toEqual(['move'])
    expect(await world.offered('host-2')).toBeNull()
    const handOver = await world.answer('host-1', 'tenant-box.hand_over')
    expect(handOver.payload).toMatchObject({ slug: 'north', ownershipEpoch: 1 })
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-1', ownershipEpoch: 1 })

    const takeOver = await world.take('host-2')
    expect(takeOver).toMatchObject({
      kind: 'tenant-box.take_over',
      payload: { ownershipEpoch: 2, snapshotId: sha256Hex('final'), ports: { public: 18_000 }, chatDomain: 'north.example' },
    })
    expect(await snapshotsOfLifecycle(world.db, [id])).toMatchObject([{ snapshotId: sha256Hex('final') }])
    await world.sweep()
    const good = { outcome: 'restored', snapshotId: 'x', durationMs: 1, probes: [], error: null }
    const report = aReport('north', { ownershipEpoch: 2, at: isoNow(world.clock) })
    await world.post('host-2', takeOver, { ok: true, result: { ...good, report } })
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-2', ownershipEpoch: 2, live: true, folder: null, ports })
    expect(await world.holds()).toEqual([])
    expect(await api.showBox(north)).toMatchObject({ host: 'host-2', freshness: 'fresh', moving: { state: 'confirming', to: 'host-2' } })

    expect(await api.confirmMove(north)).toMatchObject({ state: 'removing' })
    const remove = await world.answer('host-1', 'tenant-box.remove')
    expect(remove.payload).toMatchObject({ ownershipEpoch: 2 })
    expect(await stateOf(world)).toMatchObject({ state: 'done', keepUntil: null })
    expect((await api.showBox(north)).moving).toBeNull()
    expect((await world.hello('host-1')).disowned).toEqual([])
    expect((await world.events()).filter(({ eventType }) => eventType === 'box.move').map(({ state }) => state)).toEqual([
      'handing_over',
      'taking_over',
      'confirming',
      'removing',
      'done',
    ])
    expect(await world.audit()).toEqual(expect.arrayContaining(['box.move.handing_over', 'box.move.confirming', 'box.move.done']))
  })

  test('reports of a host that no longer has the box are ignored, and it is commanded to stop the box', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await onItsWay(world)
    const early = aReport('north', { ownershipEpoch: 2, installed: { ...aReport('x').installed, synapse: '9.9.9' } })
    await world.report('host-2', [early])
    expect((await world.box(id)).installed.synapse).toBe('1.157.1')
    await world.answer('host-2', 'tenant-box.take_over')
    const late = [early, { ...early, ownershipEpoch: 1 }]
    const { disowned } = await world.hello('host-1', late)
    expect(disowned).toEqual([{ slug: 'north', boxId: id, ownershipEpoch: 2 }])
    expect((await world.box(id)).installed.synapse).toBe('1.157.1')
    expect((await world.hello('host-2')).disowned).toEqual([])
  })

  test('a box that could not be unfenced on its new host stays there, and the move has the error', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await onItsWay(world)
    const error = { code: 'INTERNAL', message: 'the box is still fenced' }
    await world.answer('host-2', 'tenant-box.take_over', { error })
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-2' })
    expect(await stateOf(world)).toMatchObject({ state: 'confirming', error })
  })

  test('a box that could not be unfenced when taken back has both errors', async () => {
    const world = await lifeWorld(await fresh())
    await onItsWay(world)
    await world.fail('host-2')
    await world.answer('host-1', 'tenant-box.take_back', { error: { code: 'INTERNAL', message: 'the box is still fenced' } })
    const { move } = await (await world.api()).showBox(north)
    const message = 'the box is still fenced; the move was reverted because: it did not work'
    expect(move).toMatchObject({ state: 'given_back', error: { code: 'INTERNAL', message } })
  })

  test('ports on the new host are reserved from the start of the move', async () => {
    const world = await lifeWorld(await fresh())
    const api = await world.api()
    await world.aBox('north')
    await world.aBox('south')
    const there = { name: 'East', plan: 'light', host: 'host-2', chatDomain: 'east.example', slug: 'east' } as const
    await api.moveBox(toHost2)
    expect((await api.provisionBox({ body: there })).box.ports?.public).toBe(18_003)
    const plan = await api.planMove({ params: { slug: 'south' }, body: { to: 'host-2' } })
    expect(plan).toMatchObject({ from: 'host-1', to: 'host-2', ports: { public: 18_006 }, snapshot: null, losesMs: 0 })
    await world.answer('host-1', 'tenant-box.hand_over')
    await world.fail('host-2') // the provisioning
    await world.answer('host-2', 'tenant-box.take_over')
    // The old copy keeps its ports on the old host until it is deleted.
    const back = { ...there, slug: 'west', chatDomain: 'west.example', name: 'West', host: 'host-1' } as const
    expect((await api.provisionBox({ body: back })).box.ports?.public).toBe(18_006)
  })

  test.each(['reported', 'not fetched'] as const)(
    'after a failed take-over (%s) the box is taken back with a higher epoch',
    async (how) => {
      const world = await lifeWorld(await fresh())
      const { id } = await onItsWay(world)
      if (how === 'reported') await world.fail('host-2')
      else {
        await world.clock.advance(8 * 3_600_000)
        await world.sweep()
        await world.silence()
      }
      expect(await stateOf(world)).toMatchObject({
        state: 'taking_back',
        epoch: 3,
        error: { code: how === 'reported' ? 'DISK_FULL' : 'COMMAND_EXPIRED' },
      })
      expect(await world.holds()).toEqual(['move'])
      expect(await world.offered('host-2')).toBeNull()
      const back = await world.answer('host-1', 'tenant-box.take_back')
      expect(back.payload).toMatchObject({ ownershipEpoch: 3 })
      expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-1', ownershipEpoch: 3 })
      expect(await world.holds()).toEqual([])
      const api = await world.api()
      expect((await api.showBox(north)).move).toMatchObject({ state: 'given_back', error: { code: expect.any(String) } })

      // The next port block starts above all assigned ones.
      await api.moveBox(toHost2)
      expect((await world.answer('host-1', 'tenant-box.hand_over')).payload).toMatchObject({ ownershipEpoch: 3 })
      expect((await world.take('host-2')).payload).toMatchObject({ ownershipEpoch: 4 })
    },
  )

  test('a take-over without a result is waited for; its late result counts', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await onItsWay(world)
    const command = await world.take('host-2')
    await world.sweep() // from now on it listens
    await world.clock.advance(12 * 3_600_000)
    await world.sweep()
    expect(await stateOf(world)).toMatchObject({
      state: 'taking_over',
      error: { code: expect.stringMatching(/COMMAND_EXPIRED|HOST_OFFLINE/) },
    })
    expect(await world.holds()).toEqual(['move'])
    expect((await (await world.api()).showBox(north)).openCommands).toMatchObject([
      { commandId: command.id, status: 'expired', host: 'host-2' },
    ])
    await world.silence('host-3')
    expect(await code((await world.api()).giveBackBox({ ...north, body: {} }))).toBe('CONFLICT')
    const report = aReport('north', { ownershipEpoch: 2 })
    const result = { outcome: 'restored', snapshotId: 'x', durationMs: 1, probes: [], report, error: null }
    await world.post('host-2', command, { ok: true, result })
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-2', ownershipEpoch: 2 })
    expect(await stateOf(world)).toMatchObject({ state: 'confirming', error: null })
  })

  test('after a dead new host is named, the box is taken back, and that host is commanded to stop it when it returns', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await onItsWay(world)
    const command = await world.take('host-2')
    const api = await world.api()
    const back = (newHostIsDead?: string) => api.giveBackBox({ ...north, body: newHostIsDead ? { newHostIsDead } : {} })
    expect(await code(back())).toBe('CONFLICT')
    expect(await code(back('host-3'))).toBe('VALIDATION')
    expect(await code(back('host-2'))).toBe('CONFLICT') // it is online
    await world.silence('host-2')
    expect(await back('host-2')).toMatchObject({ state: 'taking_back', epoch: 3 })
    expect((await world.hello('host-2')).disowned).toEqual([{ slug: 'north', boxId: id, ownershipEpoch: 3 }])
    expect(await code(world.post('host-2', command, { ok: true, result: {} }))).toBe('NOT_FOUND')
    await world.answer('host-1', 'tenant-box.take_back')
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-1', ownershipEpoch: 3 })
    expect((await world.hello('host-2')).disowned).toHaveLength(1)
  })

  test('a take-over that no agent has fetched can be cancelled', async () => {
    const world = await lifeWorld(await fresh())
    await onItsWay(world)
    expect(await (await world.api()).giveBackBox({ ...north, body: {} })).toMatchObject({ state: 'taking_back' })
    expect(await world.offered('host-2')).toBeNull()
  })

  test('a failed hand-over leaves the box on its host, without a hold', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await (await world.api()).moveBox(toHost2)
    await world.fail('host-1', 'SNAPSHOT_FAILED')
    expect(await stateOf(world)).toMatchObject({ state: 'failed', error: { code: 'SNAPSHOT_FAILED' } })
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-1', ownershipEpoch: 1 })
    expect([await world.holds(), (await world.hello('host-2')).disowned]).toEqual([[], []])
  })

  test('a box that could not be taken back stays on hold until a person retries', async () => {
    const world = await lifeWorld(await fresh())
    await onItsWay(world)
    await world.fail('host-2')
    await world.fail('host-1', 'PROBE_FAILED')
    expect(await stateOf(world)).toMatchObject({ state: 'stranded', error: { code: 'PROBE_FAILED' } })
    expect(await world.holds()).toEqual(['move'])
    expect(await (await world.api()).giveBackBox({ ...north, body: {} })).toMatchObject({ state: 'taking_back', epoch: 4 })
    await world.answer('host-1', 'tenant-box.take_back')
    expect([(await stateOf(world))?.state, await world.holds()]).toEqual(['given_back', []])
  })

  test('the job does not confirm a later move than the one that was due', async () => {
    const world = await lifeWorld(await fresh())
    await onItsWay(world)
    await world.answer('host-2', 'tenant-box.take_over')
    await world.clock.advance(30 * 86_400_000)
    await world.silence()
    const api = await world.api()
    const movedOn = async () => {
      await api.confirmMove(north)
      await world.answer('host-1', 'tenant-box.remove')
      await api.moveBox({ ...north, body: { to: 'host-3', reason: 'host-2 is full' } })
      await world.answer('host-2', 'tenant-box.hand_over')
      await world.answer('host-3', 'tenant-box.take_over')
    }
    const [job] = lifecycleJobs({ ...world.room, db: inBetween(world.db, movedOn) })
    expect(await job?.run({ signal: new AbortController().signal })).toContain('deleting 0 of 1 old copy')
    expect(await stateOf(world)).toMatchObject({ state: 'confirming', to: 'host-3' })
  })

  test('an online host cannot be declared dead, and the refusal has the fix', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    const api = await world.api()
    const dead = { ...north, body: { ...toHost2.body, oldHostIsDead: 'host-1' } }
    await expect(api.moveBox(dead)).rejects.toThrow(
      /if its disk is lost, stop its agent, and retry when `tenantry hosts list` shows it offline/,
    )
    await world.silence('host-1')
    await expect(api.moveBox(dead)).rejects.toThrow('`tenantry snapshots list --slug north`')
    await world.silence()
    await api.moveBox(toHost2)
    await world.answer('host-1', 'tenant-box.hand_over')
    await world.take('host-2')
    const back = api.giveBackBox({ ...north, body: { newHostIsDead: 'host-2' } })
    await expect(back).rejects.toThrow(/if its disk is lost, stop its agent, and retry when `tenantry hosts list` shows it offline/)
  })

  test('the old copy stays past its retention while the snapshot of the move is not present: the store may be gone', async () => {
    const world = await lifeWorld(await fresh())
    await onItsWay(world)
    await world.answer('host-2', 'tenant-box.take_over')
    await world.clock.advance(30 * 86_400_000)
    await world.silence()
    const run = (isPresent: boolean) =>
      lifecycleJobs({ ...world.room, isStored: async () => isPresent })[0]?.run({ signal: new AbortController().signal })
    expect(await run(false)).toContain('deleting 0 of 1 old copy, 1 stays: the snapshot of the move is not present')
    expect(await stateOf(world)).toMatchObject({ state: 'confirming' })
    expect(await run(true)).toContain('deleting 1 of 1 old copy')
  })

  test('the old copy is deleted after its retention, once both hosts are online', async () => {
    const world = await lifeWorld(await fresh())
    const [job] = lifecycleJobs(world.room)
    const run = () => job?.run({ signal: new AbortController().signal })
    await onItsWay(world)
    await world.answer('host-2', 'tenant-box.take_over')
    expect(await run()).toContain('deleting 0 of 0 old copies')
    await world.clock.advance(30 * 86_400_000)
    for (const host of ['host-1', 'host-2']) {
      await world.silence(host)
      expect(await run()).toContain('deleting 0 of 1 old copy')
    }
    await world.silence()
    expect(await run()).toContain('deleting 1 of 1 old copy')
    await world.fail('host-1')
    expect(await stateOf(world)).toMatchObject({ state: 'confirming', error: { code: 'DISK_FULL' } })
    await world.silence()
    await run()
    await world.answer('host-1', 'tenant-box.remove')
    expect(await stateOf(world)).toMatchObject({ state: 'done' })
  })
})

onBothDialects('a move from a dead host', (fresh) => {
  const snapshot = { snapshotId: sha256Hex('daily'), snapshotSha256: null, takenAt: '2026-01-05T00:00:00.000Z' }
  const dead = { ...north, body: { to: 'host-2', reason: 'it burned', oldHostIsDead: 'host-1' } }

  const hole = {
    emergency: 'cve-20260105-abcd2345',
    cveId: 'CVE-2026-1',
    component: 'synapse' as const,
    fixed: '1.163.4',
    version: '1.157.1',
  }

  test('reports a damaged snapshot and reintroduced vulnerabilities in its plan and in the audit log', async () => {
    const world = await lifeWorld(await fresh(), { newestSnapshot: async () => ({ ...snapshot, damaged: true, reopens: [hole] }) })
    await world.aBox('north')
    await world.silence('host-1')
    const plan = await (await world.api()).planMove({ ...north, body: { to: 'host-2', oldHostIsDead: 'host-1' } })
    expect(plan.snapshot).toEqual({ snapshotId: snapshot.snapshotId, takenAt: snapshot.takenAt, damaged: true, reopens: [hole] })
    await (await world.api()).moveBox(dead)
    const { data } = await world.db
      .selectFrom('audit')
      .select('data')
      .where('action', '=', 'box.move.taking_over')
      .executeTakeFirstOrThrow()
    expect(JSON.parse(data)).toMatchObject({ reopens: [hole] })
  })

  test('skips the hand-over and reports the data loss', async () => {
    const world = await lifeWorld(await fresh(), { newestSnapshot: async () => snapshot })
    const { id } = await world.aBox('north')
    const api = await world.api()
    expect(await code(api.moveBox(dead))).toBe('CONFLICT') // it is online
    await world.silence('host-1')
    expect(await code(api.moveBox(toHost2))).toBe('HOST_OFFLINE')
    expect(await code(api.moveBox({ ...dead, body: { ...dead.body, oldHostIsDead: 'host-3' } }))).toBe('VALIDATION')
    const lost = world.clock.now().getTime() - Date.parse(snapshot.takenAt)
    expect(await api.planMove({ ...north, body: { to: 'host-2', oldHostIsDead: 'host-1' } })).toMatchObject({
      losesMs: lost,
      snapshot: { snapshotId: snapshot.snapshotId, damaged: false },
    })
    expect(await api.moveBox(dead)).toMatchObject({ state: 'taking_over', losesMs: lost, snapshotId: snapshot.snapshotId, epoch: 2 })

    // The host was only slow: its reports are ignored, and it must stop the box before the new host runs it.
    const lively = aReport('north', { installed: { ...aReport('x').installed, synapse: '9.9.9' } })
    expect((await world.hello('host-1', [lively])).disowned).toEqual([{ slug: 'north', boxId: id, ownershipEpoch: 2 }])
    expect((await world.box(id)).installed.synapse).toBe('1.157.1')
    await world.answer('host-2', 'tenant-box.take_over')
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-2', ownershipEpoch: 2 })
    await world.silence('host-1')
    expect(await api.confirmMove(north)).toMatchObject({ state: 'done' })
    expect((await world.hello('host-1')).disowned).toHaveLength(1)
  })

  test('needs a snapshot', async () => {
    const world = await lifeWorld(await fresh())
    await world.aBox('north')
    await world.silence('host-1')
    await expect((await world.api()).moveBox(dead)).rejects.toThrow(/north has no restorable snapshot/)
  })

  test('that fails is stranded, and another one may replace it', async () => {
    const world = await lifeWorld(await fresh(), { newestSnapshot: async () => snapshot })
    const { id } = await world.aBox('north')
    const api = await world.api()
    await world.silence('host-1')
    await api.moveBox(dead)
    await world.fail('host-2')
    expect(await stateOf(world)).toMatchObject({ state: 'stranded' })
    await world.silence('host-1')
    expect(await code(api.giveBackBox({ ...north, body: {} }))).toBe('HOST_OFFLINE')
    expect(await api.moveBox({ ...dead, body: { ...dead.body, to: 'host-3' } })).toMatchObject({
      state: 'taking_over',
      to: 'host-3',
      epoch: 3,
    })
    expect(await world.holds()).toEqual(['move'])
    await world.answer('host-3', 'tenant-box.take_over')
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-3', ownershipEpoch: 3 })
  })

  test('replaces a stranded move only once its new host is stated to run nothing of the box', async () => {
    const world = await lifeWorld(await fresh(), { newestSnapshot: async () => snapshot })
    await onItsWay(world)
    await world.loseStateFolder('host-2')
    await world.silence('host-1')
    const api = await world.api()
    const third = { to: 'host-3', reason: 'it burned', oldHostIsDead: 'host-1' }
    await expect(api.moveBox({ ...north, body: third })).rejects.toThrow(/host-2 may still run north.*--stopped-on-new-host/)
    expect(await code(api.planMove({ ...north, body: { to: 'host-3', oldHostIsDead: 'host-1' } }))).toBe('CONFLICT')
    expect(await stateOf(world)).toMatchObject({ state: 'stranded' })
    expect(await api.moveBox({ ...north, body: { ...third, stoppedOnNewHost: true } })).toMatchObject({ state: 'taking_over' })
  })

  test('replaces the hand-over during which the host died', async () => {
    const world = await lifeWorld(await fresh(), { newestSnapshot: async () => snapshot })
    await world.aBox('north')
    const api = await world.api()
    await api.moveBox(toHost2)
    await world.take('host-1')
    await world.silence('host-1')
    expect(await api.moveBox(dead)).toMatchObject({ state: 'taking_over', oldHostIsDead: true })
    expect((await world.events()).filter(({ eventType }) => eventType === 'box.move').map(({ state }) => state)).toEqual([
      'handing_over',
      'failed',
      'taking_over',
    ])
    await world.answer('host-2', 'tenant-box.take_over')
    expect(await stateOf(world)).toMatchObject({ state: 'confirming' })
  })
})

describe('a move is refused', () => {
  onBothDialects('before its first step', (fresh) => {
    test.each([
      ['to the host that has it', { to: 'host-1' }, 'CONFLICT'],
      ['to an unknown host', { to: 'nowhere' }, 'NOT_FOUND'],
      ['to a host that is offline', { to: 'host-3' }, 'HOST_OFFLINE'],
    ])('%s', async (_, change, wanted) => {
      const world = await lifeWorld(await fresh())
      await world.aBox('north')
      await world.silence('host-3')
      const api = await world.api()
      expect(await code(api.moveBox({ ...north, body: { ...toHost2.body, ...change } }))).toBe(wanted)
      expect([await world.holds(), await world.offered('host-1')]).toEqual([[], null])
    })

    test('for a box that is observed, on hold, moving, or does not exist', async () => {
      const world = await lifeWorld(await fresh())
      const { id } = await world.aBox('north')
      const api = await world.api()
      expect(await code(api.moveBox({ ...toHost2, params: { slug: 'nobody' } }))).toBe('NOT_FOUND')
      await world.db.updateTable('boxes').set({ managed: 0 }).execute()
      expect(await code(api.moveBox(toHost2))).toBe('BOX_NOT_MANAGED')
      await world.db.updateTable('boxes').set({ managed: 1 }).execute()
      await world.db.insertInto('box_holds').values({ box_id: id, holder: 'rollout:r1', until: '2030-01-01T00:00:00.000Z' }).execute()
      expect(await code(api.moveBox(toHost2))).toBe('BOX_HELD')
      await world.db.deleteFrom('box_holds').execute()
      await api.moveBox(toHost2)
      expect(await code(api.moveBox(toHost2))).toBe('CONFLICT')
    })

    test('without a snapshot store', async () => {
      const world = await lifeWorld(await fresh(), {
        assertSnapshotsConfigured: () => {
          throw new Error('CONFIG')
        },
      })
      await world.aBox('north')
      expect(await code((await world.api()).moveBox(toHost2))).not.toBe('no problem')
      expect(await world.holds()).toEqual([])
    })
  })
})

onBothDialects('a move whose agent lost its state folder', (fresh) => {
  const lost = { code: 'HOST_REVOKED', message: expect.stringMatching(/lost this command with its state folder.*fix: docs\/operating\.md/) }

  test('at the hand-over has failed: the box stays on its old host and is released', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await world.aBox('north')
    await (await world.api()).moveBox(toHost2)
    await world.loseStateFolder('host-1')
    expect(await stateOf(world)).toMatchObject({ state: 'failed', error: lost })
    expect(await world.box(id)).toMatchObject({ hostId: 'hst_host-1', live: true })
    expect(await world.holds()).toEqual([])
  })

  test('at the take-over is stranded with an alert, because the new host may run the box; an operator stops it there and takes it back', async () => {
    const world = await lifeWorld(await fresh())
    const { id } = await onItsWay(world)
    await world.loseStateFolder('host-2')
    expect(await stateOf(world)).toMatchObject({ state: 'stranded', error: lost, mayRunOnNewHost: true })
    expect(await world.holds()).toEqual(['move'])
    expect(await world.db.selectFrom('alerts').select(['kind', 'subject']).execute()).toContainEqual({
      kind: 'move_stranded',
      subject: 'north',
    })
    const alert = await world.db.selectFrom('alerts').select('body').where('kind', '=', 'move_stranded').executeTakeFirstOrThrow()
    expect(alert.body).toMatch(/host-2 may still run the box.*stop its containers on host-2/s)
    await world.hello('host-1')
    expect((await world.hello('host-2')).disowned).toMatchObject([{ slug: 'north', boxId: id }])
    const api = await world.api()
    const back = (body: object) => api.giveBackBox({ ...north, body })
    await expect(back({})).rejects.toThrow(/docker ps.*--back --stopped-on-new-host/)
    expect(await code(back({ stoppedOnNewHost: false }))).toBe('CONFLICT')
    expect(await code(back({ newHostIsDead: 'host-3' }))).toBe('VALIDATION')
    await expect(back({ newHostIsDead: 'host-2' })).rejects.toThrow(/host-2 is online/)
    expect(await stateOf(world)).toMatchObject({ state: 'stranded' })
    await back({ stoppedOnNewHost: true })
    const records = await world.db.selectFrom('audit').select('data').where('action', '=', 'box.move.taking_back').execute()
    expect(records).toMatchObject([{ data: expect.stringContaining('"stoppedOnNewHost":true') }])
    await world.answer('host-1', 'tenant-box.take_back')
    expect(await stateOf(world)).toMatchObject({ state: 'given_back' })
    expect((await world.hello('host-2')).disowned).toMatchObject([{ slug: 'north', boxId: id }])
  })

  test('at the take-over goes back too once its new host is offline and declared dead by name', async () => {
    const world = await lifeWorld(await fresh())
    await onItsWay(world)
    await world.loseStateFolder('host-2')
    await world.silence('host-2')
    const api = await world.api()
    expect(await code(api.giveBackBox({ ...north, body: {} }))).toBe('CONFLICT')
    expect(await api.giveBackBox({ ...north, body: { newHostIsDead: 'host-2' } })).toMatchObject({ state: 'taking_back' })
  })

  test('at the removal of the old copy waits for another confirmation', async () => {
    const world = await lifeWorld(await fresh())
    await onItsWay(world)
    await world.answer('host-2', 'tenant-box.take_over')
    await (await world.api()).confirmMove(north)
    await world.loseStateFolder('host-1')
    expect(await stateOf(world)).toMatchObject({ state: 'confirming', error: lost })
    await (await world.api()).confirmMove(north)
    await world.answer('host-1', 'tenant-box.remove')
    expect(await stateOf(world)).toMatchObject({ state: 'done' })
  })
})
