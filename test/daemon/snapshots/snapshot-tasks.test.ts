import { expect, test } from 'vitest'
import { holdBox, releaseHold } from '../../../src/daemon/boxes/index.ts'
import type { Db, Tx } from '../../../src/daemon/db/index.ts'
import { snapshotsJobs } from '../../../src/daemon/snapshots/index.ts'
import { aHost } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { startDueTasks } from '../../support/snapshot-tasks.ts'
import { aDrill, aRestore, aTended, dayMs, hourMs, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

const going = { signal: new AbortController().signal }

onBothDialects('snapshot tasks of jobs', (fresh) => {
  const setUp = async () => {
    const world = await snapshotsWorld(await fresh())
    const { deps, open } = world
    const jobs = new Map(snapshotsJobs(deps).map((job) => [job.key, job]))
    const run = (key: string) => jobs.get(key)?.run(going)
    const turn = () => startDueTasks(deps)
    const kinds = async () => (await open()).map(({ kind }) => kind.replace('tenant-box.', ''))
    const later = async (ms: number) => {
      await world.clock.advance(ms)
      await world.heard()
    }
    return { ...world, jobs, run, turn, kinds, later }
  }

  test('daily: each managed box without a snapshot of the last 20 h, one at a time per host', async () => {
    const { room, run, turn, kinds, aBox, answer, taken, db, api, aSnapshot, later } = await setUp()
    await aHost(room, 'host-2')
    const [north, south] = [await aBox('north'), await aBox('south')]
    await aBox('west', 'host-2')
    const observed = await aBox('watched')
    await db.updateTable('boxes').set({ managed: 0 }).where('id', '=', observed.id).execute()
    await aBox('fresh')
    await aSnapshot('fresh', 'f')
    expect(await run('snapshot-daily')).toBe('3 boxes queued, 1 with a fresh snapshot')
    expect(await kinds()).toEqual([]) // a job only asks
    await turn()
    await turn()
    expect(await kinds()).toEqual(['snapshot', 'snapshot'])
    const first = await answer('tenant-box.snapshot', taken('1', { tier: 'daily' }))
    expect(first.payload).toMatchObject({ tier: 'daily' })
    await turn()
    const second = await answer('tenant-box.snapshot', taken('2', { tier: 'daily' }))
    expect([first.boxId, second.boxId].sort()).toEqual([north.id, south.id].sort())
    await answer('tenant-box.snapshot', taken('3', { tier: 'daily' }), 'host-2')
    await turn()
    expect(await kinds()).toEqual([])
    expect((await api.listSnapshots({ query: { tier: 'daily' } })).snapshots).toHaveLength(3)
    expect(await run('snapshot-daily')).toBe('0 boxes queued, 4 with a fresh snapshot')
    await later(20 * hourMs)
    expect(await run('snapshot-daily')).toBe('4 boxes queued, 0 with a fresh snapshot')
  })

  test('the task of a box on hold or busy waits, and others run first', async () => {
    const { run, turn, kinds, aBox, answer, taken, db, clock, api } = await setUp()
    const [north, south] = [await aBox('north'), await aBox('south')]
    const hold = { boxId: north.id, holder: 'rollout:ro_1', until: '2026-02-01T00:00:00.000Z' }
    await db.transaction().execute((tx) => holdBox(tx, clock, hold))
    await run('snapshot-daily')
    await turn()
    expect((await answer('tenant-box.snapshot', taken('s', { tier: 'daily' }))).boxId).toBe(south.id)
    await turn()
    expect(await kinds()).toEqual([])
    await db.transaction().execute((tx) => releaseHold(tx, hold))
    await api.checkBox({ params: { slug: 'north' } })
    await turn()
    expect(await kinds()).toEqual(['healthcheck'])
    await db.updateTable('commands').set({ status: 'failed' }).where('kind', '=', 'tenant-box.healthcheck').execute()
    await turn()
    expect(await kinds()).toEqual(['snapshot'])
  })

  test('the task of an offline host runs when it is back, and expires after the night', async () => {
    const { run, turn, kinds, aBox, clock, heard, db } = await setUp()
    await aBox('north')
    await run('snapshot-daily')
    await clock.advance(2 * hourMs)
    await turn()
    expect(await kinds()).toEqual([])
    await heard()
    await turn()
    expect(await kinds()).toEqual(['snapshot'])
    await db.deleteFrom('commands').execute()
    await run('snapshot-daily')
    await clock.advance(20 * hourMs)
    await heard()
    await turn()
    expect(await kinds()).toEqual([])
  })

  test('a snapshot that an update took meanwhile replaces the daily one', async () => {
    const { run, turn, kinds, aBox, aSnapshot } = await setUp()
    await aBox('north')
    await run('snapshot-daily')
    await aSnapshot('north', 'u', 'pre-update')
    await turn()
    expect(await kinds()).toEqual([])
  })

  test('daily: a box whose data was restored gets one, although that of the replaced data is fresh', async () => {
    const { run, turn, kinds, aBox, aSnapshot, api, answer, taken, clock } = await setUp()
    await aBox('north')
    const { snapshotId } = await aSnapshot('north', 'a')
    await api.restoreBox({ params: { slug: 'north' }, body: { snapshotId, reason: 'spoilt' } })
    await answer('tenant-box.restore', aRestore({ snapshotId, preRestore: taken('replaced', { tier: 'pre-restore' }).snapshot }))
    await clock.advance(1)
    expect(await run('snapshot-daily')).toBe('1 box queued, 0 with a fresh snapshot')
    await turn()
    expect(await kinds()).toEqual(['snapshot'])
    await answer('tenant-box.snapshot', taken('b', { tier: 'daily' }))
    expect(await run('snapshot-daily')).toBe('0 boxes queued, 1 with a fresh snapshot')
  })

  test.each([{ host_id: 'hst_host-2' }, { ownership_epoch: 2 }, { live: 0 }])(
    'a box that became %j since it was read stays queued',
    async (change) => {
      const { room, deps, run, turn, kinds, aBox, db } = await setUp()
      await aHost(room, 'host-2')
      const box = await aBox('north')
      await run('snapshot-daily')
      const changing = beforeTransactions(db, () => db.updateTable('boxes').set(change).where('id', '=', box.id).execute())
      await startDueTasks({ ...deps, db: changing })
      expect(await kinds()).toEqual([])
      expect(await db.selectFrom('snapshot_tasks').select('task').execute()).toEqual([{ task: 'daily' }])
      await turn()
      expect(await kinds()).toEqual('live' in change ? [] : ['snapshot'])
    },
  )

  test('only one replica starts tasks', async () => {
    const { deps, run, kinds, aBox, turn } = await setUp()
    await aBox('north')
    await turn()
    await run('snapshot-daily')
    await startDueTasks({ ...deps, owner: 'replica-2' })
    expect(await kinds()).toEqual([])
    await Promise.all([turn(), turn()])
    expect(await kinds()).toEqual(['snapshot'])
  })

  test('drill: the box longest without a proof, on its newest complete snapshot; not again for three weeks', async () => {
    const { run, turn, kinds, aBox, aSnapshot, answer, fail, later } = await setUp()
    await aBox('north')
    await aBox('without')
    expect(await run('snapshot-drill')).toBe('0 boxes of 0 queued for drills')
    const { snapshotId } = await aSnapshot('north', 'a', 'daily')
    expect(await run('snapshot-drill')).toBe('1 box of 1 queued for drills')
    await turn()
    expect(await kinds()).toEqual(['drill'])
    await fail('DISK_FULL')
    await later(dayMs)
    expect(await run('snapshot-drill')).toBe('0 boxes of 1 queued for drills')
    await later(3 * dayMs)
    await run('snapshot-drill')
    await turn()
    expect((await answer('tenant-box.drill', aDrill())).payload).toMatchObject({ snapshotId })
    await later(20 * dayMs)
    expect(await run('snapshot-drill')).toBe('0 boxes of 1 queued for drills')
    await later(2 * dayMs)
    expect(await run('snapshot-drill')).toBe('1 box of 1 queued for drills')
  })

  test('prune: expired snapshots are sent to the agent by full ids, and cannot be restored any more', async () => {
    const { run, turn, answer, aBox, aSnapshot, api, later, audit } = await setUp()
    await aBox('north')
    await aSnapshot('north', 'old')
    await later(100 * dayMs)
    await aSnapshot('north', 'new')
    await run('snapshot-prune')
    await turn()
    const restore = api.restoreBox({ params: { slug: 'north' }, body: { snapshotId: idOf('old'), reason: 'because' } })
    await expect(restore).rejects.toThrow(/has expired/)
    const { payload } = await answer('tenant-box.tend_snapshots', aTended(['new'], { forgotten: [idOf('old')], freedBytes: 1000 }))
    expect(payload).toMatchObject({ slug: 'north', forget: [idOf('old')], prune: true, check: 'none' })
    const { snapshots } = await api.listSnapshots()
    expect(snapshots.map(({ status, keptBecause }) => [status, keptBecause])).toEqual([
      ['present', 'newest snapshot of the box'],
      ['forgotten', null],
    ])
    expect((await audit()).at(-1)).toEqual({ actor: 'system:snapshots', action: 'snapshots.given_up', subject: 'north' })
  })

  test('check: all repositories by structure, a quarter of them with all data, those longest unread', async () => {
    const { run, turn, answer, aBox, aSnapshot, db } = await setUp()
    for (const slug of ['a1a', 'b2b', 'c3c', 'd4d', 'e5e']) {
      await aBox(slug)
      await aSnapshot(slug, slug)
    }
    expect(await run('snapshot-check')).toBe('5 repositories queued for checks, 2 of them with all data')
    const depths: unknown[] = []
    for (let box = 0; box < 5; box++) {
      await turn()
      const { payload } = await answer('tenant-box.tend_snapshots', aTended([], { check: { ok: true, error: null } }))
      depths.push((payload as { check: string }).check)
      expect(payload).toMatchObject({ forget: [], prune: false })
    }
    expect(depths.sort()).toEqual(['data', 'data', 'structure', 'structure', 'structure'])
    const read = await db.selectFrom('snapshot_repositories').select('tenant_id').where('data_checked_at', 'is not', null).execute()
    expect(read).toHaveLength(2)
  })

  test('without key and store a job fails with the missing settings', async () => {
    const { deps } = await setUp()
    for (const job of snapshotsJobs({ ...deps, settings: {} })) await expect(job.run(going)).rejects.toThrow(/TENANTRY_SNAPSHOT_STORE/)
  })

  test('no job starts an update', async () => {
    const { aBox, aSnapshot, run, turn, jobs, db } = await setUp()
    await aBox('north')
    await aSnapshot('north', 'a')
    await db.updateTable('boxes').set({ drift_severity: 'major' }).execute()
    await db.updateTable('snapshots').set({ taken_at: '2026-01-01T00:00:00.000Z' }).execute()
    for (const key of jobs.keys()) await run(key)
    const kinds = new Set<string>()
    for (let round = 0; round < 6; round++) {
      await turn()
      for (const { kind } of await db.selectFrom('commands').select('kind').where('kind', 'not in', ['tenant-box.provision']).execute())
        kinds.add(kind)
      await db.updateTable('commands').set({ status: 'failed' }).where('status', '=', 'queued').execute()
    }
    expect([...kinds].sort()).toEqual(['tenant-box.drill', 'tenant-box.snapshot', 'tenant-box.tend_snapshots'])
  })

  test('records of snapshots that are gone, and drills, are deleted after a year and a month', async () => {
    const { run, aBox, aSnapshot, later, db, api, answer } = await setUp()
    await aBox('north')
    await aSnapshot('north', 'gone')
    await aSnapshot('north', 'kept')
    await api.drillBox({ params: { slug: 'north' }, body: {} })
    await answer('tenant-box.drill', aDrill())
    await db.updateTable('snapshots').set({ status: 'forgotten' }).where('snapshot_id', '=', idOf('gone')).execute()
    await later(399 * dayMs)
    expect(await run('snapshot-prune')).toContain('0 old records deleted')
    await later(2 * dayMs)
    expect(await run('snapshot-prune')).toContain('2 old records deleted')
    expect(await db.selectFrom('snapshots').select('snapshot_id').execute()).toEqual([{ snapshot_id: idOf('kept') }])
  })
})

/** Runs a hook after all reads outside of transactions, before the first transaction. */
const beforeTransactions = (db: Db, happen: () => Promise<unknown>): Db =>
  new Proxy(db, {
    get: (target, name) => {
      if (name === 'transaction')
        return () => ({ execute: (work: (tx: Tx) => Promise<unknown>) => happen().then(() => target.transaction().execute(work)) })
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
