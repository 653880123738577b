import { describe, expect, test } from 'vitest'
import type { CommandContext, Repository } from '../../../src/agent/ports/index.ts'
import { boxCommands } from '../../../src/core/boxes/index.ts'
import { aBackedUpBox, aContext, aSnapshotPayload, aTendPayload, repository } from './a-backup.ts'

/** A repository with three daily snapshots. */
async function aFullRepository() {
  const world = await aBackedUpBox()
  const ids: string[] = []
  for (const commandId of ['sn_1', 'sn_2', 'sn_3']) ids.push((await world.take(aSnapshotPayload(), aContext({ commandId }))).snapshotId)
  return { ...world, ids }
}

describe('a repository on the host itself', () => {
  test('forgets the named snapshots, prunes, checks and lists', async () => {
    const { ids, tend } = await aFullRepository()
    const tended = await tend(aTendPayload({ forget: [ids[0]!], prune: true, check: 'data' }))
    expect(boxCommands['tenant-box.tend_snapshots'].result.parse(tended)).toMatchObject({
      forgotten: [ids[0]],
      check: { ok: true, error: null },
    })
    expect(tended.freedBytes).toBeGreaterThan(0)
    expect(tended.present.map(({ snapshotId, tier, slug }) => [snapshotId, tier, slug])).toEqual(
      ids.slice(1).map((id) => [id, 'daily', 'oak']),
    )
  })

  test('the same command again changes nothing and answers the same', async () => {
    const { ids, tend, take } = await aFullRepository()
    const payload = aTendPayload({ forget: [ids[0]!], prune: true })
    const first = await tend(payload)
    await take(aSnapshotPayload(), aContext({ commandId: 'sn_4' }))
    expect(await tend(payload)).toEqual(first)
  })

  test('damage is a result, which names it', async () => {
    const { host, tend } = await aFullRepository()
    host.inject({ kind: 'store-damaged', found: 'data' })
    const context = (commandId: string) => aContext({ commandId })
    expect((await tend(aTendPayload({ check: 'structure' }), context('t1'))).check).toEqual({ ok: true, error: null })
    const damaged = { ok: false, error: { code: 'SNAPSHOT_FAILED', message: expect.stringContaining('pack') } }
    expect(await tend(aTendPayload({ check: 'data' }), context('t2'))).toMatchObject({ check: damaged, present: { length: 3 } })
  })

  test('a wait for its lock is progress, in each part of the work', async () => {
    const { host, agent, tend } = await aFullRepository()
    const waiting =
      (name: 'prune' | 'check') =>
      async (repository: Repository, ...rest: never[]) => {
        for (const reason of [`the lock of another restic (${name})`, undefined]) repository.onWaiting?.(reason)
        return (host.snapshots[name] as (...args: unknown[]) => Promise<never>)(repository, ...rest)
      }
    const snapshots = { ...host.snapshots, prune: waiting('prune'), check: waiting('check') }
    const steps: string[] = []
    const progress: CommandContext['progress'] = ({ step, detail }) => void steps.push(detail ? `${step}: ${detail}` : step)
    await tend(aTendPayload({ prune: true, check: 'data' }), aContext({ progress }), { ...(await agent()), snapshots })
    const over = 'waiting: over: the lock is free'
    expect(steps).toEqual([
      ...['tend', 'waiting: the lock of another restic (prune)', over],
      ...['check', 'waiting: the lock of another restic (check)', over],
    ])
  })

  test('while all of it is read the box is free for an update', async () => {
    const { host, agent, locks, tend } = await aFullRepository()
    let free = false
    const check: typeof host.snapshots.check = async (...args) => {
      const lock = await locks.acquire('oak')
      free = true
      await lock.release()
      return host.snapshots.check(...args)
    }
    const deps = { ...(await agent()), snapshots: { ...host.snapshots, check } }
    expect((await tend(aTendPayload({ check: 'data' }), aContext({ commandId: 't' }), deps)).check).toMatchObject({ ok: true })
    expect(free).toBe(true)
  })
})

test.each(['s3:https://store.example/snapshots/oak', 's3:http://10.0.0.1:9000/snapshots/oak', 'rest:http://store.example/oak'])(
  'the repository %s is refused: the daemon looks after it',
  async (address) => {
    const { ids, host, tend } = await aFullRepository()
    const context = aContext({ commandId: 't' }, { ...repository, env: {}, repository: address })
    await expect(tend(aTendPayload({ forget: [ids[0]!] }), context)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await host.snapshots.list(repository)).toHaveLength(3)
  },
)

test('an id that is not a full one is refused before anything is forgotten', async () => {
  const { ids, host, tend } = await aFullRepository()
  const tended = tend(aTendPayload({ forget: [ids[0]!, 'latest'] }))
  await expect(tended).rejects.toMatchObject({ code: 'VALIDATION' })
  expect(await host.snapshots.list(repository)).toHaveLength(3)
})
