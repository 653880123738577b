import { describe, expect, test } from 'vitest'
import { type ArchivePart, lsnText } from '../../../src/core/boxes/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { enqueueTasks } from '../../../src/daemon/snapshots/snapshot-tasks.ts'
import { archiveBehindSeconds, watchArchives } from '../../../src/daemon/snapshots/watch-archives.ts'
import { aHost } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { startDueTasks } from '../../support/snapshot-tasks.ts'
import { aDrill, aTended, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

const minuteMs = 60_000
const hostIdOf = async (db: Db, name: string): Promise<string> =>
  (await db.selectFrom('hosts').select('id').where('name', '=', name).executeTakeFirstOrThrow()).id
const on = { archive: { tiers: { free: true, pro: true, enterprise: true }, days: 14 } }
const north = { params: { slug: 'north' } }

onBothDialects('archives', (fresh) => {
  async function setUp(change = on) {
    const world = await snapshotsWorld(await fresh(), change)
    const { id: boxId } = await world.aBox('north')
    await world.aSnapshot('north', 'first')
    await aHost(world.room, 'host-2')
    await world.db.updateTable('hosts').set({ instance_id: 'one' }).execute()
    const [{ tenant_id: tenantId }] = (await world.db.selectFrom('snapshots').select('tenant_id').execute()) as [{ tenant_id: string }]
    const repository = { tenant_id: tenantId, repository_id: idOf('repository') }
    await world.db
      .insertInto('snapshot_repositories')
      .values(repository)
      .onConflict((c) => c.column('tenant_id').doUpdateSet(repository))
      .execute()
    const at = (ms = 0) => new Date(world.clock.now().getTime() + ms).toISOString()
    const part = (word: string, kind: ArchivePart['kind'], from: number, to: number, ms = 0): ArchivePart => ({
      ...{ snapshotId: idOf(word), kind, line: 'one', from: lsnText(BigInt(from)), to: lsnText(BigInt(to)), at: at(ms), addedBytes: 10 },
      ...(kind === 'base' ? { data: idOf(`files of ${word}`) } : {}),
    })
    const report = async (
      parts: readonly ArchivePart[],
      { error = null, host = 'host-1', covered = at() as string | null, secrets = false, epoch = 1 } = {},
    ) =>
      (
        await world.agentOf(host).archives({
          body: {
            secrets,
            reports: [
              {
                ...{ boxId, ownershipEpoch: epoch, parts: [...parts], error },
                covered: covered === null ? null : { line: 'one', at: covered },
              },
            ],
          },
        })
      ).boxes
    const shown = async () => (await world.api.showBox(north)).archive
    const snapshotStatus = async () => (await world.db.selectFrom('snapshots').select('status').execute()).map(({ status }) => status)
    return { ...world, boxId, tenantId, at, part, report, shown, snapshotStatus }
  }
  const refused = (asked: Promise<unknown>) =>
    asked.then(
      () => 'done',
      (error) => (isProblem(error) ? `${error.code}: ${error.message}` : String(error)),
    )

  test('are ordered from the host of a box whose tier has one, with its repository on request', async () => {
    const { report, boxId, db } = await setUp()
    const order = { slug: 'north', boxId, ownershipEpoch: 1 }
    expect(await report([])).toEqual([order])
    const [full] = await report([], { secrets: true })
    expect(full?.snapshots).toMatchObject({ mayCreate: false, repositoryId: idOf('repository'), password: expect.any(String) })
    expect(await report([], { host: 'host-2', secrets: true })).toEqual([])
    await db.updateTable('snapshot_repositories').set({ repository_id: null }).execute()
    expect(await report([], { secrets: true })).toEqual([order])
    const off = await setUp({ archive: { tiers: { free: false, pro: false, enterprise: false }, days: 14 } })
    expect(await off.report([], { secrets: true })).toEqual([])
    const nextInMs = async (world: typeof off) =>
      (await world.agentOf('host-1').archives({ body: { reports: [], secrets: false } })).nextInMs
    expect([await nextInMs(await setUp()), await nextInMs(off)]).toEqual([minuteMs, 5 * minuteMs])
  })

  test('are shown with the moments that can be restored, and ignored from other hosts and former epochs', async () => {
    const { report, shown, part, at, clock } = await setUp()
    expect(await shown()).toBeNull()
    await report([part('b', 'base', 100, 110), part('l', 'log', 96, 120)], { host: 'host-2' })
    await report([part('b', 'base', 100, 110), part('l', 'log', 96, 120)], { epoch: 2 })
    expect(await shown()).toBeNull()
    const from = at()
    await report([part('b', 'base', 100, 110), part('l', 'log', 96, 120)])
    await clock.advance(10 * minuteMs)
    await report([])
    expect(await shown()).toEqual({ from, to: at(), error: null })
  })

  test('of a host that was declared dead are neither ordered nor stored', async () => {
    const { report, shown, part, db, boxId, at } = await setUp()
    const [from, to] = await Promise.all(['host-1', 'host-2'].map((name) => hostIdOf(db, name)))
    const move = {
      ...{ id: 'mov_1', box_id: boxId, from_host_id: from as string, to_host_id: to as string, from_first_port: 1, to_first_port: 1 },
      ...{ from_copy: 1, to_copy: 1, old_host_dead: 1, epoch: 2, snapshot_id: null, snapshot_sha256: null, snapshot_at: null },
      ...{ state: 'taking_over' as const, reason: 'it burnt', asked_by: 'anna', orders: 1, command_id: null, error: null },
      ...{ started_at: at(), changed_at: at(), keep_until: null, finished_at: null },
    }
    await db.insertInto('box_moves').values(move).execute()
    expect(await report([part('b', 'base', 100, 110)], { secrets: true })).toEqual([])
    expect(await shown()).toBeNull()
    await db.updateTable('box_moves').set({ state: 'failed', finished_at: at() }).execute()
    expect(await report([part('b', 'base', 100, 110)])).toHaveLength(1)
    expect(await shown()).not.toBeNull()
  })

  describe('a recovery', () => {
    const archived = async () => {
      const world = await setUp()
      const { report, part, clock, at, heard } = world
      const begun = at()
      await report([part('b', 'base', 100, 110), part('l1', 'log', 96, 120)])
      await clock.advance(10 * minuteMs)
      await report([part('l2', 'log', 120, 150)])
      const ended = at()
      await clock.advance(10 * minuteMs)
      await heard()
      return { ...world, begun, ended }
    }

    test('is given the base and the log of its moment, and registers a snapshot of that moment', async () => {
      const { api, answer, taken, ended } = await archived()
      const to = new Date(Date.parse(ended) - 5 * minuteMs).toISOString()
      expect(await api.planRecovery({ ...north, query: { to } })).toEqual({ at: to, baseAt: expect.any(String), parts: 3, bytes: 30 })
      await api.recoverBox({ ...north, body: { to } })
      const command = await answer('tenant-box.recover', taken('r', { tier: 'recovered', takenAt: to }))
      expect(command.payload).toMatchObject({ base: idOf('b'), logs: [idOf('l1'), idOf('l2')], to })
      const { snapshots } = await api.listSnapshots({ query: { slug: 'north', tier: 'recovered' } })
      expect(snapshots).toMatchObject([{ snapshotId: idOf('r'), takenAt: to, keptBecause: 'newest snapshot of the box' }])
    })

    test('of the latest moment needs no time', async () => {
      const { api, answer, taken, ended } = await archived()
      expect(await api.recoverBox({ ...north, body: { to: 'latest' } })).toMatchObject({ at: ended })
      expect((await answer('tenant-box.recover', taken('r', { tier: 'recovered' }))).payload).toMatchObject({ to: null })
    })

    test('is refused while another one is open', async () => {
      const { api, answer, taken, open, db } = await archived()
      const recover = () => refused(api.recoverBox({ ...north, body: { to: 'latest' } }))
      const outcomes = (await Promise.all([recover(), recover()])).sort()
      expect(outcomes).toEqual([expect.stringMatching(/^CONFLICT: a moment of north is being recovered\. fix: follow it: /), 'done'])
      expect(await open()).toHaveLength(1)
      await answer('tenant-box.recover', taken('r', { tier: 'recovered' }))
      expect(await recover()).toBe('done')
      // One on a host that is lost keeps no one from another host.
      await db.updateTable('hosts').set({ last_seen_at: '2020-01-01T00:00:00.000Z' }).where('name', '=', 'host-1').execute()
      const elsewhere = () => refused(api.recoverBox({ ...north, body: { to: 'latest', host: 'host-2' } }))
      expect(await elsewhere()).toBe('done')
      expect(await elsewhere()).toMatch(/^CONFLICT: a moment of north/)
    })

    test('of a moment that the archive lacks is refused with those that it has', async () => {
      const { api, begun, ended, open } = await archived()
      const text = (iso: string) => iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z')
      const range = `${text(begun)} to ${text(ended)}`
      for (const to of [new Date(Date.parse(begun) - 1000).toISOString(), new Date(Date.parse(ended) + 1000).toISOString()])
        expect(await refused(api.recoverBox({ ...north, body: { to } }))).toContain(`it has ${range}. fix:`)
      expect(await open()).toEqual([])
    })

    test('on another host needs one that is lost, and is lost itself once the box moves', async () => {
      const { api, db, take, post, taken } = await archived()
      expect(await refused(api.recoverBox({ ...north, body: { to: 'latest', host: 'host-2' } }))).toMatch(
        /^CONFLICT: host host-1 of north is online/,
      )
      await db.updateTable('hosts').set({ last_seen_at: '2020-01-01T00:00:00.000Z' }).where('name', '=', 'host-1').execute()
      await api.recoverBox({ ...north, body: { to: 'latest', host: 'host-2' } })
      const command = await take('host-2')
      expect(command.kind).toBe('tenant-box.recover')
      await db.updateTable('boxes').set({ ownership_epoch: 2 }).execute()
      expect(await refused(post(command, { ok: true, result: taken('r') }, 'host-2'))).toMatch(/^NOT_FOUND: .* not leased to this agent/)
    })
  })

  test('that another host does not have in its folder are not lost where the box is', async () => {
    const { report, part, clock, heard, db, api, take, post, snapshotStatus } = await setUp()
    await report([part('b', 'base', 100, 110), part('l1', 'log', 96, 120)])
    await clock.advance(10 * minuteMs)
    await heard()
    await db.updateTable('hosts').set({ last_seen_at: '2020-01-01T00:00:00.000Z' }).where('name', '=', 'host-1').execute()
    await api.recoverBox({ ...north, body: { to: 'latest', host: 'host-2' } })
    await post(await take('host-2'), { ok: false, error: { code: 'SNAPSHOT_STORE_LOST', message: 'no repository is there' } }, 'host-2')
    expect(await snapshotStatus()).toEqual(['present'])
    expect(await db.selectFrom('alerts').select('kind').execute()).toEqual([])
  })

  test('are drilled at a random moment, and a recovery that fails raises the alert of a failed drill', async () => {
    const { report, part, clock, heard, deps, db, answer, taken, take, post, tenantId } = await setUp()
    await report([part('b', 'base', 100, 110), part('l1', 'log', 96, 120)])
    await clock.advance(10 * minuteMs)
    await report([part('l2', 'log', 120, 150)])
    const bytes = (count: number) => (count > 2 ? deps.random.bytes(count) : new Uint8Array(count).fill(129))
    const drilling = { ...deps, random: { ...deps.random, bytes } }
    const begin = async () => {
      await enqueueTasks(drilling, 'drill', [tenantId])
      await heard()
      await startDueTasks(drilling)
    }
    await begin()
    const { payload } = await answer('tenant-box.recover', taken('r', { tier: 'recovered' }))
    expect(payload).toMatchObject({ isDrill: true, base: idOf('b'), to: expect.any(String) })
    expect((await answer('tenant-box.drill', aDrill())).payload).toMatchObject({ snapshotId: idOf('r') })
    await begin()
    await post(await take(), { ok: false, error: { code: 'RESTORE_FAILED', message: 'no such part' } })
    expect(await db.selectFrom('alerts').select(['kind', 'subject']).execute()).toEqual([{ kind: 'snapshot_damaged', subject: 'north' }])
  })

  test('that are five minutes behind raise an alert, which names the error and is closed once they are not', async () => {
    const { deps, db, report, at, clock } = await setUp()
    const alerts = () =>
      db.selectFrom('alerts').select(['kind', 'subject', 'body', 'closed_at']).where('kind', '=', 'archive_behind').execute()
    await report([])
    await watchArchives(deps)
    expect(await alerts()).toEqual([])
    const error = { code: 'SNAPSHOT_STORE_UNAVAILABLE', message: 'the store does not answer' }
    await report([], { covered: null, error: error as never })
    await clock.advance(6 * minuteMs)
    await watchArchives(deps)
    expect(await alerts()).toMatchObject([
      { subject: 'north', body: expect.stringContaining('the store does not answer'), closed_at: null },
    ])
    await report([], { covered: at() })
    await clock.advance(1000)
    await watchArchives(deps)
    expect(await alerts()).toMatchObject([{ closed_at: expect.any(String) }])
  })

  test('without a base for half an hour raise an alert too: their log restores nothing', async () => {
    const { deps, db, report, part, clock } = await setUp()
    const alerts = () => db.selectFrom('alerts').select(['subject', 'body', 'closed_at']).where('kind', '=', 'archive_behind').execute()
    const error = { code: 'SNAPSHOT_FAILED', message: 'no walsender is free' } as never
    await report([part('l1', 'log', 96, 120)], { error })
    await watchArchives(deps)
    expect(await alerts()).toEqual([])
    expect(await archiveBehindSeconds(deps)).toBe(0)
    await clock.advance(31 * minuteMs)
    await report([part('l2', 'log', 96, 130)], { error })
    await watchArchives(deps)
    expect(await alerts()).toMatchObject([
      { subject: 'north', body: expect.stringMatching(/no moment yet.*\n.*no walsender is free/), closed_at: null },
    ])
    expect(await archiveBehindSeconds(deps)).toBe(31 * 60)
    await report([part('b', 'base', 100, 110), part('l3', 'log', 96, 140)])
    await watchArchives(deps)
    expect(await alerts()).toMatchObject([{ closed_at: expect.any(String) }])
  })

  test('end with a repository that is abandoned: nothing of them can be restored', async () => {
    const { api, db, report, part, shown } = await setUp()
    await report([part('b', 'base', 100, 110), part('l', 'log', 96, 120)])
    expect((await api.planRecovery({ ...north, query: { to: 'latest' } })).parts).toBe(2)
    await db.updateTable('snapshots').set({ status: 'missing' }).execute()
    await api.abandonSnapshots({ ...north, body: { reason: 'the disk burned' } })
    expect(await shown()).toBeNull()
    await expect(api.planRecovery({ ...north, query: { to: 'latest' } })).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('lose what retention does not need, and learn of what an agent could not report', async () => {
    const { api, deps, report, part, answer, heard, tenantId } = await setUp()
    await report([part('b', 'base', 100, 110), part('l1', 'log', 96, 120), part('l2', 'log', 96, 130), part('l3', 'log', 96, 140)])
    await enqueueTasks(deps, 'thin', [tenantId])
    await heard()
    await startDueTasks(deps)
    const tended = { ...aTended(['first']), archive: [part('l4', 'log', 140, 150)] }
    const { payload } = await answer('tenant-box.tend_snapshots', tended)
    expect(payload).toMatchObject({ prune: false, check: 'none' })
    expect([...(payload as { forget: string[] }).forget].sort()).toEqual([idOf('l1'), idOf('l2')].sort())
    await report([])
    expect((await api.planRecovery({ ...north, query: { to: 'latest' } })).parts).toBe(3)
  })
})
