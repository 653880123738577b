import { expect, test } from 'vitest'
import type { RepositoryReport } from '../../../src/core/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { holdBox } from '../../../src/daemon/boxes/index.ts'
import { acquireLease } from '../../../src/daemon/db/index.ts'
import type { SnapshotsDeps } from '../../../src/daemon/snapshots/index.ts'
import { maintainStores } from '../../../src/daemon/snapshots/maintain-stores.ts'
import { enqueueTasks } from '../../../src/daemon/snapshots/snapshot-tasks.ts'
import { onBothDialects } from '../../support/databases.ts'
import { startDueTasks } from '../../support/snapshot-tasks.ts'
import { aTended, dayMs, idOf, snapshotsWorld } from '../../support/snapshots-world.ts'

const settings = {
  backupKey: Buffer.alloc(32, 7).toString('base64'),
  snapshotStore: 's3://s3.example/bucket',
  snapshotStoreCredentials: { accessKeyId: 'agents', secretAccessKey: 'theirs' },
  snapshotUpkeep: { accessKeyId: 'upkeep', secretAccessKey: 'ours' },
}
const going = new AbortController().signal

type Tend = SnapshotsDeps['maintain']

onBothDialects('repositories in a bucket', (fresh) => {
  /** `tend` simulates restic; `present` is its default list. */
  const setUp = async (tend: (given: Parameters<Tend>) => Promise<RepositoryReport> = async () => aTended(['a', 'b'])) => {
    const calls: Parameters<Tend>[] = []
    const world = await snapshotsWorld(await fresh(), {
      settings,
      maintain: (...given) => {
        calls.push(given)
        return tend(given)
      },
    })
    const box = await world.aBox('north')
    await world.aSnapshot('north', 'a')
    const { deps, clock, db } = world
    const ask = (task: 'prune' | 'check' = 'prune') => enqueueTasks(deps, task, [box.tenantId])
    const waiting = async () => (await db.selectFrom('snapshot_tasks').select('task').execute()).map(({ task }) => task)
    const hold = () =>
      db.transaction().execute((tx) => holdBox(tx, clock, { boxId: box.id, holder: 'rollout:ro_1', until: '2027-01-01T00:00:00.000Z' }))
    return { ...world, box, calls, ask, waiting, hold, round: (signal = going) => maintainStores(deps, signal) }
  }

  test('are maintained by the daemon, with a credential that agents lack', async () => {
    const { box, calls, ask, round, deps, open, clock, heard, aSnapshot, waiting, api } = await setUp(async () =>
      aTended(['b'], { forgotten: [idOf('a')], freedBytes: 1000 }),
    )
    await clock.advance(100 * dayMs)
    await heard()
    await aSnapshot('north', 'b')
    await ask()
    await startDueTasks(deps)
    expect(await open()).toEqual([]) // no agent is asked
    await round()
    expect(calls).toHaveLength(1)
    expect(calls[0]?.slice(0, 2)).toEqual([
      {
        repository: `s3:https://s3.example/bucket/${box.tenantId}/v1`,
        password: expect.any(String),
        env: { AWS_ACCESS_KEY_ID: 'upkeep', AWS_SECRET_ACCESS_KEY: 'ours' },
      },
      { forget: [idOf('a')], prune: true, check: 'none' },
    ])
    expect((await api.listSnapshots()).snapshots.map(({ status }) => status)).toEqual(['present', 'forgotten'])
    expect(await waiting()).toEqual([])
    await round()
    expect(calls).toHaveLength(1)
  })

  test('that another replica maintains are skipped', async () => {
    const { box, calls, ask, round, deps, waiting } = await setUp()
    await ask()
    await acquireLease(deps, { name: `snapshots:${box.tenantId}`, owner: 'replica-2', ttlMs: 60_000 })
    await round()
    expect([calls, await waiting()]).toEqual([[], ['prune']])
  })

  test('that another replica maintained since the tasks were read are not maintained twice', async () => {
    let meanwhile: (() => Promise<void>) | undefined
    const { calls, ask, round, deps, waiting, aBox, aSnapshot } = await setUp(async () => {
      const other = meanwhile
      meanwhile = undefined
      await other?.()
      return aTended(['a', 'b'])
    })
    const south = await aBox('south')
    await aSnapshot('south', 'b')
    await ask('check')
    await enqueueTasks(deps, 'check', [south.tenantId])
    meanwhile = () => round() // the other one passes over what is being looked after, and takes what is left
    await maintainStores({ ...deps, owner: 'replica-2' }, going)
    expect([calls.length, await waiting()]).toEqual([2, []])
  })

  test('wait while the box has a hold or an open command', async () => {
    const { calls, ask, round, api, answer, taken, hold } = await setUp()
    await ask()
    await api.takeSnapshot({ params: { slug: 'north' } })
    await round()
    expect(calls).toEqual([])
    await answer('tenant-box.snapshot', taken('b'))
    await hold()
    await round()
    expect(calls).toEqual([])
  })

  test('abort when the box gets other work, stay queued, and mark nothing as missing', async () => {
    let begun: () => void = () => undefined
    const beginning = new Promise<void>((resolve) => {
      begun = resolve
    })
    const { calls, ask, round, hold, clock, waiting, db, aSnapshot, heard } = await setUp(async ([, , signal]) => {
      begun()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
    })
    await clock.advance(100 * dayMs)
    await heard()
    await aSnapshot('north', 'b')
    await ask()
    const working = round()
    await beginning
    await hold()
    for (let waited = 0; waited < 3; waited++) {
      await clock.advance(10_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await working
    expect([calls.length, await waiting()]).toEqual([1, ['prune']])
    expect(calls[0]?.[2].aborted).toBe(true)
    const [a] = await db.selectFrom('snapshots').select('status').where('snapshot_id', '=', idOf('a')).execute()
    expect(a?.status).toBe('forgotten') // until the next listing
  })

  test('whose maintenance fails are reported, and wait for the next run of the job', async () => {
    const { ask, round, events, waiting } = await setUp(() => Promise.reject(problem('SNAPSHOT_STORE_UNAVAILABLE', 'it does not answer')))
    await ask('check')
    await round()
    expect((await events()).at(-1)).toMatchObject({
      eventType: 'snapshot.upkeep_failed',
      slug: 'north',
      task: 'check',
      error: { code: 'SNAPSHOT_STORE_UNAVAILABLE' },
    })
    expect(await waiting()).toEqual([])
  })

  test('of a removed box are maintained too', async () => {
    const { ask, round, calls, db, box, api } = await setUp()
    await db.deleteFrom('commands').execute()
    await db.deleteFrom('boxes').where('id', '=', box.id).execute()
    await ask()
    await round()
    expect(calls).toHaveLength(1)
    expect((await api.listSnapshots()).snapshots.map(({ slug }) => slug)).toEqual(['north', 'north'])
  })

  test('stay unchanged when the daemon drains', async () => {
    const { ask, round, calls, waiting } = await setUp()
    await ask()
    const draining = new AbortController()
    draining.abort()
    await round(draining.signal)
    expect([calls, await waiting()]).toEqual([[], ['prune']])
  })
})
