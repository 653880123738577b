import { expect, test } from 'vitest'
import { isoIn } from '../../../src/core/kit/index.ts'
import { snapshotForMove, snapshotsJobs } from '../../../src/daemon/snapshots/index.ts'
import { enqueueTasks } from '../../../src/daemon/snapshots/snapshot-tasks.ts'
import { recordSnapshot } from '../../../src/daemon/snapshots/snapshots.repo.ts'

import { onBothDialects } from '../../support/databases.ts'
import { startDueTasks } from '../../support/snapshot-tasks.ts'
import { aListed, aTended, dayMs, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

onBothDialects('results of repository maintenance', (fresh) => {
  const setUp = async () => {
    const world = await snapshotsWorld(await fresh())
    const box = await world.aBox('north')
    for (const word of ['a', 'b']) await world.aSnapshot('north', word)
    const { deps, db, api } = world
    const begin = async (task: 'prune' | 'check' = 'check') => {
      await enqueueTasks(deps, task, [box.tenantId])
      await startDueTasks(deps)
    }
    const tend = async (tended: ReturnType<typeof aTended>, task: 'prune' | 'check' = 'check') => {
      await begin(task)
      return world.answer('tenant-box.tend_snapshots', tended)
    }
    const statuses = async () =>
      Object.fromEntries(
        (await api.listSnapshots()).snapshots.map(({ snapshotId, status }) => [
          ['a', 'b', 'c', 'w'].find((word) => idOf(word) === snapshotId) ?? snapshotId,
          status,
        ]),
      )
    const lastEvent = async () => (await world.events()).at(-1)
    return { ...world, box, begin, tend, statuses, lastEvent, db }
  }

  test('an unlisted snapshot becomes missing, is reported once, and is present again when listed', async () => {
    const { tend, statuses, events, box } = await setUp()
    await tend(aTended(['b']))
    expect(await statuses()).toEqual({ a: 'missing', b: 'present' })
    const missing = (await events()).filter(({ eventType }) => eventType === 'snapshot.missing')
    expect(missing).toEqual([{ eventType: 'snapshot.missing', boxId: box.id, slug: 'north', snapshotIds: [idOf('a')] }])
    await tend(aTended(['b']))
    expect((await events()).filter(({ eventType }) => eventType === 'snapshot.missing')).toHaveLength(1)
    await tend(aTended(['a', 'b']))
    expect(await statuses()).toEqual({ a: 'present', b: 'present' })
  })

  test('a snapshot registered during a listing is not missing from it', async () => {
    const { begin, post, take, statuses, db, clock, box } = await setUp()
    await begin()
    const command = await take()
    await clock.advance(1000)
    await db
      .insertInto('snapshots')
      .columns(['tenant_id', 'snapshot_id', 'box_id', 'slug', 'tier', 'taken_at', 'status', 'recorded_at'])
      .expression(
        db
          .selectFrom('snapshots')
          .select(({ val }) => [
            'tenant_id',
            val(idOf('c')).as('snapshot_id'),
            val(box.id).as('box_id'),
            'slug',
            'tier',
            'taken_at',
            'status',
            val(isoIn(clock, 0)).as('recorded_at'),
          ])
          .where('snapshot_id', '=', idOf('a')),
      )
      .execute()
    await post(command, { ok: true, result: aTended(['a', 'b']) })
    expect(await statuses()).toEqual({ a: 'present', b: 'present', c: 'present' })
  })

  test('an unknown listed snapshot is registered with the data of the listing', async () => {
    const { tend, api, box } = await setUp()
    const listed = aListed('c', { tier: 'pre-update', commandId: 'ro_1.north.1.update', takenAt: '2026-01-04T02:00:00.000Z' })
    await tend({ ...aTended(['a', 'b']), present: [aListed('a'), aListed('b'), listed] })
    expect((await api.listSnapshots({ query: { tier: 'pre-update' } })).snapshots).toMatchObject([
      { snapshotId: idOf('c'), slug: 'north', boxId: box.id, takenAt: '2026-01-04T02:00:00.000Z', snapshotSha256: null, installed: null },
    ])
  })

  test('a snapshot in a later listing was not taken before the earlier listing without it', async () => {
    const { tend, api, db } = await setUp()
    const listed = aListed('c', { tier: 'daily', takenAt: '2020-01-04T02:00:00.000Z' })
    await tend(aTended(['a', 'b']))
    const { tended_at } = await db.selectFrom('snapshot_repositories').select('tended_at').executeTakeFirstOrThrow()
    await tend({ ...aTended(['a', 'b']), present: [aListed('a'), aListed('b'), listed] })
    expect((await api.listSnapshots({ query: { tier: 'daily' } })).snapshots).toMatchObject([{ snapshotId: idOf('c'), takenAt: tended_at }])
  })

  test('a listed snapshot is completed by the result of its own command only', async () => {
    const { api, answer, taken, db, clock, box } = await setUp()
    const listedBy = (word: string, command_id: string) => {
      const listed = { snapshotId: idOf(word), tier: 'manual' as const, takenAt: isoIn(clock, 0), command_id }
      return db.transaction().execute((tx) => recordSnapshot({ tx, clock }, box, listed))
    }
    const sums = async () => (await api.listSnapshots()).snapshots.slice(0, 1).map(({ snapshotSha256 }) => snapshotSha256)
    const takeAndAnswer = async (word: string, commandOf: (asked: string) => string) => {
      const { commandId } = await api.takeSnapshot({ params: { slug: 'north' } })
      await clock.advance(1000)
      await listedBy(word, commandOf(commandId))
      await answer('tenant-box.snapshot', taken(word))
    }
    await takeAndAnswer('c', (asked) => asked)
    expect(await sums()).toEqual([idOf('manifest of c')])
    await takeAndAnswer('d', () => 'cmd_of_another')
    expect(await sums()).toEqual([null])
  })

  test('leftovers of killed commands expire after a week, reported snapshots do not', async () => {
    const { tend, aSnapshot, clock, heard } = await setUp()
    const left = aListed('c', { tier: 'final', takenAt: isoIn(clock, 0) })
    const listing = (...more: string[]) => ({
      ...aTended([]),
      present: [aListed('a'), aListed('b'), left, ...more.map((word) => aListed(word))],
    })
    await tend(listing())
    await clock.advance(6 * dayMs)
    await heard()
    await aSnapshot('north', 'd')
    expect((await tend(listing('d'), 'prune')).payload).toMatchObject({ forget: [] })
    await clock.advance(dayMs)
    await heard()
    expect((await tend(listing('d'), 'prune')).payload).toMatchObject({ forget: [idOf('c')] })
  })

  test('a warm copy is no snapshot, and is deleted after two days', async () => {
    const { tend, statuses, clock, heard } = await setUp()
    const warm = aListed('w', { tier: null, commandId: 'ro_1.north.1.prefetch', takenAt: '2026-01-05T02:00:00.000Z' })
    const foreign = aListed('f', { tier: null, commandId: null })
    const listing = { ...aTended([]), present: [aListed('a'), aListed('b'), warm, foreign] }
    await tend(listing)
    expect(await statuses()).toEqual({ a: 'present', b: 'present' })
    expect((await tend(listing, 'prune')).payload).toMatchObject({ forget: [] })
    await clock.advance(2 * dayMs)
    await heard()
    const { payload } = await tend({ ...aTended(['a', 'b']), forgotten: [idOf('w')] }, 'prune')
    expect(payload).toMatchObject({ forget: [idOf('w')] })
    expect((await tend(aTended(['a', 'b']), 'prune')).payload).toMatchObject({ forget: [] })
  })

  test('a failed check marks the whole repository as damaged, stops pruning, and is reverted by a good check', async () => {
    const { tend, statuses, lastEvent, clock, heard } = await setUp()
    const error = { code: 'SNAPSHOT_FAILED', message: 'one pack is damaged' }
    await tend(aTended(['a', 'b'], { check: { ok: false, error } }))
    expect(await statuses()).toEqual({ a: 'damaged', b: 'damaged' })
    expect(await lastEvent()).toMatchObject({ eventType: 'snapshot.check_failed', slug: 'north', error })
    await clock.advance(200 * dayMs)
    await heard()
    expect((await tend(aTended(['a', 'b']), 'prune')).payload).toMatchObject({ forget: [], prune: false })
    await tend(aTended(['a', 'b'], { check: { ok: true, error: null } }))
    expect(await statuses()).toEqual({ a: 'present', b: 'present' })
  })

  test('a box of a dead host is rebuilt from a damaged snapshot if no other exists, and from one that failed a drill last', async () => {
    const { tend, db, box } = await setUp()
    const forMove = () =>
      db.transaction().execute((tx) => snapshotForMove({ fixes: async () => [], versionsBefore: async () => null })(tx, box))
    const change = (word: string, to: object) => db.updateTable('snapshots').set(to).where('snapshot_id', '=', idOf(word)).execute()
    await tend(aTended(['a', 'b'], { check: { ok: false, error: { code: 'SNAPSHOT_FAILED', message: 'one pack is damaged' } } }))
    expect(await forMove()).toMatchObject({ snapshotId: idOf('b'), damaged: true })
    await change('b', { damaged_by: 'drill' })
    expect(await forMove()).toMatchObject({ snapshotId: idOf('a') })
    await change('a', { status: 'missing', damaged_by: null })
    expect(await forMove()).toMatchObject({ snapshotId: idOf('b') })
    await change('a', { status: 'present' })
    expect(await forMove()).toMatchObject({ snapshotId: idOf('a'), damaged: false })
    await change('a', { status: 'forgotten' })
    await change('b', { status: 'missing' })
    expect(await forMove()).toBeUndefined()
  })

  test('a snapshot that no command reported may have no dump: moves, drills and the daily job use an older complete one', async () => {
    const { tend, db, deps, box, api, clock, heard, open } = await setUp()
    await clock.advance(dayMs)
    await heard()
    const filesOnly = aListed('f', { tier: 'pre-restore', takenAt: isoIn(clock, 0) })
    await tend({ ...aTended(['a', 'b']), present: [aListed('a'), aListed('b'), filesOnly] })
    const move = snapshotForMove({ fixes: async () => [], versionsBefore: async () => null })
    expect(await db.transaction().execute((tx) => move(tx, box))).toMatchObject({ snapshotId: idOf('b') })
    expect((await api.showBox({ params: { slug: 'north' } })).lastSnapshot).toMatchObject({ snapshotId: idOf('b') })
    const daily = snapshotsJobs(deps).find(({ key }) => key === 'snapshot-daily')
    expect(await daily?.run({ signal: new AbortController().signal } as never)).toMatch(/^1 box queued/)
    await startDueTasks(deps)
    expect(await open()).toEqual([{ kind: 'tenant-box.snapshot', box_id: box.id }])
    await db.updateTable('snapshots').set({ status: 'missing' }).where('snapshot_id', '!=', idOf('f')).execute()
    expect(await db.transaction().execute((tx) => move(tx, box))).toMatchObject({ snapshotId: idOf('f') })
  })

  test('a clock that was ahead makes no later snapshot superfluous, and a listing corrects the times', async () => {
    const { tend, db, deps, api, clock } = await setUp()
    await db.updateTable('snapshots').set({ taken_at: '2036-01-01T00:00:00.000Z' }).where('snapshot_id', '=', idOf('a')).execute()
    await db.updateTable('snapshots').set({ status: 'forgotten' }).where('snapshot_id', '=', idOf('b')).execute()
    const daily = snapshotsJobs(deps).find(({ key }) => key === 'snapshot-daily')
    expect(await daily?.run({ signal: new AbortController().signal } as never)).toMatch(/^1 box queued/)
    await db.deleteFrom('snapshot_tasks').execute()
    const takenAt = '2026-01-05T02:00:00.000Z'
    await tend({ ...aTended(['a']), present: [aListed('a', { takenAt })] })
    expect((await api.showBox({ params: { slug: 'north' } })).lastSnapshot).toMatchObject({ snapshotId: idOf('a'), takenAt })
    expect(isoIn(clock, 0) >= takenAt).toBe(true)
  })

  test('snapshots of a former box of the tenant are none of its present box', async () => {
    const { db, deps, box, api } = await setUp()
    await db.updateTable('snapshots').set({ box_id: 'box_former' }).execute()
    const move = snapshotForMove({ fixes: async () => [], versionsBefore: async () => null })
    expect(await db.transaction().execute((tx) => move(tx, box))).toBeUndefined()
    expect(await api.showBox({ params: { slug: 'north' } })).toMatchObject({ lastSnapshot: null })
    await expect(api.drillBox({ params: { slug: 'north' }, body: {} })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const daily = snapshotsJobs(deps).find(({ key }) => key === 'snapshot-daily')
    expect(await daily?.run({ signal: new AbortController().signal } as never)).toMatch(/^1 box queued/)
  })

  test('a good check does not revert damage that a drill found', async () => {
    const { tend, statuses, db } = await setUp()
    await db.updateTable('snapshots').set({ status: 'damaged', damaged_by: 'drill' }).where('snapshot_id', '=', idOf('a')).execute()
    await tend(aTended(['a', 'b'], { check: { ok: true, error: null } }))
    expect(await statuses()).toEqual({ a: 'damaged', b: 'present' })
  })

  test('failed maintenance is reported, and expired snapshots are present again once listed', async () => {
    const { begin, fail, tend, statuses, lastEvent, clock, heard, aSnapshot } = await setUp()
    await clock.advance(100 * dayMs)
    await heard()
    await aSnapshot('north', 'c')
    await begin('prune')
    expect(await statuses()).toEqual({ a: 'forgotten', b: 'forgotten', c: 'present' })
    await fail('SNAPSHOT_STORE_UNAVAILABLE')
    expect(await lastEvent()).toMatchObject({
      eventType: 'snapshot.upkeep_failed',
      slug: 'north',
      error: { code: 'SNAPSHOT_STORE_UNAVAILABLE' },
    })
    await tend(aTended(['a', 'b', 'c']))
    expect(await statuses()).toEqual({ a: 'present', b: 'present', c: 'present' })
  })

  test('a partial id is never deleted: it could match another snapshot', async () => {
    const { tend, db, clock, heard, aSnapshot } = await setUp()
    await db.updateTable('snapshots').set({ snapshot_id: 'abcdef12' }).where('snapshot_id', '=', idOf('a')).execute()
    await clock.advance(100 * dayMs)
    await heard()
    await aSnapshot('north', 'c')
    expect((await tend(aTended([]), 'prune')).payload).toMatchObject({ forget: [idOf('b')] })
  })
})
