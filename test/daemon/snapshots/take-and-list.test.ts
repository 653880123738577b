import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { holdBox, releaseHold } from '../../../src/daemon/boxes/index.ts'
import { enqueueCommand } from '../../../src/daemon/hosts/index.ts'
import { aReport } from '../../support/boxes.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aDrill, anUpdate, dayMs, hourMs, idOf, installed, snapshotsWorld } from '../../support/snapshots-world.ts'

const code = async (call: Promise<unknown>) =>
  call.then(
    () => 'no problem',
    (error) => (isProblem(error) ? error.code : String(error)),
  )
const north = { params: { slug: 'north' } }

onBothDialects('snapshots', (fresh) => {
  test('a manual one is registered together with its result', async () => {
    const { api, aBox, answer, taken, events, audit, db } = await snapshotsWorld(await fresh())
    const box = await aBox('north')
    const { commandId } = await api.takeSnapshot(north)
    const command = await answer('tenant-box.snapshot', taken('a'))
    expect(command.payload).toEqual({ slug: 'north', boxId: box.id, ownershipEpoch: 1, tier: 'manual' })
    const { snapshots } = await api.listSnapshots()
    expect(snapshots).toEqual([
      {
        snapshotId: idOf('a'),
        slug: 'north',
        boxId: box.id,
        tier: 'manual',
        takenAt: '2026-01-05T02:00:01.000Z',
        commandId,
        snapshotSha256: idOf('manifest of a'),
        addedBytes: 4_000_000,
        files: 321,
        durationMs: 12_000,
        installed,
        status: 'present',
        keptBecause: 'newest snapshot of the box',
        lastDrill: null,
        lastProof: null,
      },
    ])
    expect(await events()).toEqual([
      { eventType: 'snapshot.taken', boxId: box.id, slug: 'north', snapshotId: idOf('a'), tier: 'manual', commandId },
    ])
    expect(await audit()).toEqual([{ actor: 'admin:anna', action: 'snapshot.take', subject: 'north' }])
    expect(await db.selectFrom('snapshots').select('tenant_id').execute()).toEqual([{ tenant_id: box.tenantId }])
  })

  test('a failed one is reported, and nothing is registered', async () => {
    const { api, aBox, fail, events } = await snapshotsWorld(await fresh())
    await aBox('north')
    await api.takeSnapshot(north)
    await fail('DISK_FULL')
    expect(await events()).toMatchObject([{ eventType: 'snapshot.failed', slug: 'north', tier: 'manual', error: { code: 'DISK_FULL' } }])
    expect((await api.listSnapshots()).snapshots).toEqual([])
  })

  test('a box that is missing, not ready, observed, on hold, or on an offline host is refused', async () => {
    const world = await snapshotsWorld(await fresh())
    const { api, aBox, db, clock, heard, open } = world
    const box = await aBox('north')
    const calls = () =>
      Promise.all([
        code(api.takeSnapshot(north)),
        code(api.drillBox({ ...north, body: {} })),
        code(api.restoreBox({ ...north, body: { snapshotId: idOf('a'), reason: 'because' } })),
      ])
    const all = (expected: string) => [expected, expected, expected]
    const set = (change: object) => db.updateTable('boxes').set(change).where('id', '=', box.id).execute()
    await set({ live: 0 })
    expect(await calls()).toEqual(all('CONFLICT'))
    await set({ live: 1, managed: 0 })
    expect(await calls()).toEqual(all('BOX_NOT_MANAGED'))
    await set({ managed: 1 })
    const hold = { boxId: box.id, holder: 'rollout:ro_1', until: '2026-02-01T00:00:00.000Z' }
    await db.transaction().execute((tx) => holdBox(tx, clock, hold))
    expect(await calls()).toEqual(all('BOX_HELD'))
    await db.transaction().execute((tx) => releaseHold(tx, hold))
    await clock.advance(90_000)
    expect(await calls()).toEqual(all('HOST_OFFLINE'))
    await heard()
    expect(await calls()).toEqual(['no problem', 'NOT_FOUND', 'NOT_FOUND'])
    expect(await open()).toHaveLength(1)
    expect(await code(api.takeSnapshot({ params: { slug: 'nowhere' } }))).toBe('NOT_FOUND')
  })

  test('without key and store everything is refused with the missing settings', async () => {
    const { api, aBox } = await snapshotsWorld(await fresh(), { settings: {} })
    await aBox('north')
    expect(await code(api.takeSnapshot(north))).toBe('CONFIG')
    await expect(api.drillBox({ ...north, body: {} })).rejects.toThrow(/TENANTRY_BACKUP_KEY/)
  })

  test('the snapshot of an update is recorded with the update’s result, no later than its fence closed', async () => {
    const { room, aBox, api, post, take, clock, db, events } = await snapshotsWorld(await fresh())
    const box = await aBox('north')
    const queue = async (id: string) => {
      const payload = {
        slug: 'north',
        boxId: box.id,
        ownershipEpoch: 1,
        targets: { services: {}, migrationsHead: '0000' },
        probe: room.probe,
        fence: { mode: 'until-stable' as const },
        deadlineMs: 1000,
      }
      const command = { id, hostId: box.hostId, boxId: box.id, deadlineMs: hourMs, kind: 'tenant-box.update' as const, payload }
      await db.transaction().execute((tx) => enqueueCommand(tx, clock, command))
      return take()
    }
    const first = await queue('ro_1.north.1.update')
    await clock.advance(600_000)
    await post(first, { ok: true, result: anUpdate({ snapshotId: idOf('u'), snapshotSha256: idOf('sum'), fencedMs: 120_000 }) })
    const { snapshots } = await api.listSnapshots()
    expect(snapshots).toMatchObject([
      {
        snapshotId: idOf('u'),
        tier: 'pre-update',
        commandId: 'ro_1.north.1.update',
        snapshotSha256: idOf('sum'),
        takenAt: '2026-01-05T02:08:01.000Z',
        status: 'present',
      },
    ])
    const second = await queue('ro_1.north.2.update')
    await post(second, { ok: true, result: anUpdate({ snapshotOk: false, snapshotId: null, outcome: 'failed' }) })
    const third = await queue('ro_1.north.3.update')
    await post(third, { ok: true, result: anUpdate({ snapshotId: 'latest' }) })
    expect((await api.listSnapshots()).snapshots).toHaveLength(1)
    expect((await events()).map(({ eventType }) => eventType)).toEqual(['snapshot.taken'])
  })

  test('the snapshot of an update that was unfenced early keeps its real time', async () => {
    const { room, aBox, api, post, take, clock, db } = await snapshotsWorld(await fresh())
    const box = await aBox('north')
    const addressed = { slug: 'north', boxId: box.id, ownershipEpoch: 1, targets: { services: {}, migrationsHead: '0000' } }
    const payload = { ...addressed, probe: room.probe, fence: { mode: 'until-proven' as const }, deadlineMs: 1000 }
    const command = {
      id: 'ro_1.north.1.update',
      hostId: box.hostId,
      boxId: box.id,
      deadlineMs: hourMs,
      kind: 'tenant-box.update' as const,
      payload,
    }
    await db.transaction().execute((tx) => enqueueCommand(tx, clock, command))
    const first = await take()
    await clock.advance(600_000)
    const now = clock.now().getTime()
    // Its host's clock is an hour behind.
    const there = (agoMs: number) => new Date(now - hourMs - agoMs).toISOString()
    const report = aReport('north', { at: there(0) })
    const result = anUpdate({ snapshotId: idOf('u'), fencedMs: 1_000, snapshotTakenAt: there(300_000), report })
    await post(first, { ok: true, result })
    const takenAt = Date.parse((await api.listSnapshots()).snapshots[0]?.takenAt ?? '')
    expect(takenAt).toBeLessThanOrEqual(now - 300_000)
  })

  test('a future time of an agent’s clock counts as now', async () => {
    const { api, aBox, answer, taken } = await snapshotsWorld(await fresh())
    await aBox('north')
    await api.takeSnapshot(north)
    await answer('tenant-box.snapshot', taken('a', { takenAt: '2027-01-01T00:00:00.000Z' }))
    expect((await api.listSnapshots()).snapshots[0]?.takenAt).toBe('2026-01-05T02:00:01.000Z')
  })

  test('no later result of an agent changes a registered snapshot', async () => {
    const { api, aBox, aSnapshot, answer, taken, clock, heard } = await snapshotsWorld(await fresh())
    await aBox('north')
    await aSnapshot('north', 'a', 'final')
    const before = (await api.listSnapshots()).snapshots
    await clock.advance(dayMs)
    await heard()
    await api.takeSnapshot(north)
    await answer('tenant-box.snapshot', taken('a', { takenAt: '2020-01-01T00:00:00.000Z', snapshotSha256: idOf('forged') }))
    expect((await api.listSnapshots()).snapshots).toEqual(before)
  })

  test('a snapshot is never older than its command', async () => {
    const { api, aBox, answer, taken, command } = await snapshotsWorld(await fresh())
    await aBox('north')
    const { commandId } = await api.takeSnapshot(north)
    await answer('tenant-box.snapshot', taken('a', { takenAt: '2020-01-01T00:00:00.000Z' }))
    expect((await api.listSnapshots()).snapshots[0]?.takenAt).toBe((await command(commandId))?.createdAt)
  })

  test('a result counts only for the box of its command', async () => {
    const { api, aBox, answer, taken } = await snapshotsWorld(await fresh())
    await aBox('north')
    await aBox('south')
    await api.takeSnapshot({ params: { slug: 'south' } })
    await answer('tenant-box.snapshot', taken('a', { tier: 'final' }))
    expect((await api.listSnapshots()).snapshots).toMatchObject([{ slug: 'south', tier: 'manual' }])
  })

  test('the list is filtered, and paged from the newest', async () => {
    const { api, aBox, aSnapshot, clock, heard } = await snapshotsWorld(await fresh())
    await aBox('north')
    await aBox('south')
    for (const word of ['a', 'b', 'c']) {
      await aSnapshot('north', word, word === 'b' ? 'daily' : 'manual')
      await clock.advance(hourMs)
      await heard()
    }
    await aSnapshot('south', 'd')
    const ids = async (query: object) => {
      const { snapshots, nextCursor } = await api.listSnapshots({ query })
      return { words: snapshots.map(({ snapshotId }) => 'abcd'.split('').find((word) => idOf(word) === snapshotId)), nextCursor }
    }
    expect((await ids({})).words).toEqual(['d', 'c', 'b', 'a'])
    const first = await ids({ limit: 3 })
    expect(first.words).toEqual(['d', 'c', 'b'])
    expect(await ids({ limit: 3, cursor: first.nextCursor })).toEqual({ words: ['a'], nextCursor: null })
    expect((await ids({ slug: 'north' })).words).toEqual(['c', 'b', 'a'])
    expect((await ids({ tier: 'daily' })).words).toEqual(['b'])
    expect((await ids({ status: 'missing' })).words).toEqual([])
    expect((await ids({ id: idOf('c').slice(0, 6) })).words).toEqual(['c'])
    expect(await code(api.listSnapshots({ query: { cursor: 'x' } }))).toBe('VALIDATION')
    expect(await code(api.listSnapshots({ query: { id: '%' } }))).toBe('VALIDATION')
  })

  test('the list shows the success and the failure of a drill', async () => {
    const { api, aBox, aSnapshot, answer, fail, events, audit, clock, heard } = await snapshotsWorld(await fresh())
    const box = await aBox('north')
    const { snapshotId } = await aSnapshot('north', 'a')
    const asked = await api.drillBox({ ...north, body: {} })
    expect(asked.snapshotId).toBe(snapshotId)
    const command = await answer('tenant-box.drill', aDrill())
    expect(command.payload).toMatchObject({ snapshotId, snapshotSha256: idOf('manifest of a'), boxId: box.id })
    const only = async () => (await api.listSnapshots()).snapshots[0]
    expect(await only()).toMatchObject({
      status: 'present',
      lastDrill: { at: '2026-01-05T02:00:02.000Z', ok: true, durationMs: 70_000, restoreMs: 45_000, error: null },
    })
    await clock.advance(dayMs)
    await heard()
    await api.drillBox({ ...north, body: { snapshotId } })
    await fail('DISK_FULL')
    expect(await only()).toMatchObject({ status: 'present', lastDrill: { ok: false, restoreMs: null, error: { code: 'DISK_FULL' } } })
    expect((await events()).map(({ eventType }) => eventType)).toEqual(['snapshot.taken', 'box.drilled', 'box.drill_failed'])
    expect((await audit()).map(({ action }) => action)).toEqual(['snapshot.take', 'box.drill', 'box.drill'])
  })

  test('a failed drill marks a snapshot as damaged until one succeeds', async () => {
    const { api, aBox, aSnapshot, answer } = await snapshotsWorld(await fresh())
    await aBox('north')
    const { snapshotId } = await aSnapshot('north', 'a')
    const drill = async (found: object) => {
      await api.drillBox({ ...north, body: { snapshotId } })
      await answer('tenant-box.drill', aDrill(found))
      return (await api.listSnapshots()).snapshots[0]?.status
    }
    const error = { code: 'RESTORE_FAILED', message: 'the dump is not the one that was taken' }
    expect(await drill({ ok: false, error })).toBe('damaged')
    expect(await code(api.drillBox({ ...north, body: {} }))).toBe('NOT_FOUND') // it is not the newest complete one
    expect(await drill({})).toBe('present')
    expect(await drill({ ok: false, error: { code: 'PROBE_FAILED', message: 'slow host' } })).toBe('present')
  })
})
