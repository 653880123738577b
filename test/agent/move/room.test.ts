import { describe, expect, test } from 'vitest'
import type { ReservedForOthers } from '../../../src/agent/backup/disk-space.ts'
import { reserveBytes, spaceLedger } from '../../../src/agent/backup/index.ts'
import { drill } from '../../../src/agent/drill/index.ts'
import { handOver, takeOver } from '../../../src/agent/move/index.ts'
import { reserveSpaceFor } from '../../../src/agent/move/take-over-run.ts'
import type { CommandContext, ContainerEngine, SnapshotStore, StoredSnapshot } from '../../../src/agent/ports/index.ts'
import { moving } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'
import { aContext, address, around, type Deps, handOverPayload, type MovingHost, takeOverPayload, twoHosts } from './a-move.ts'
import { snapshotOfBox } from './a-snapshot.ts'

describe('a take-over without room', () => {
  /** The needed bytes of the snapshot, and the number of fetches with that much space minus `lacking`. */
  const attempt = async (two: Awaited<ReturnType<typeof twoHosts>>, { lacking, already = 0 }: { lacking: number; already?: number }) => {
    const { snapshot } = await moving(two.clock, async () => handOver(await two.old.agent())(aContext('h'), handOverPayload()), 5_000)
    const deps = await two.next.agent()
    const repository = { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }
    const stored = await deps.snapshots.find(repository, snapshot?.snapshotId ?? 'none')
    const bytes = (stored?.totalBytes ?? Number.NaN) + (stored?.databaseBytes ?? Number.NaN)
    const asked: string[] = []
    const freeBytes = async (path: string) => asked.push(path) && reserveBytes + bytes - lacking
    const disk = aDisk({ freeBytes, usedBytes: async () => already })
    let restores = 0
    const restore = (...of: Parameters<SnapshotStore['restore']>) => {
      restores++
      return deps.snapshots.restore(...of)
    }
    const snapshots = { ...deps.snapshots, restore }
    const result = await moving(two.clock, () => takeOver({ ...deps, disk, snapshots })(aContext('t'), takeOverPayload(snapshot)), 5_000)
    return { result, restores, asked, deps }
  }

  test('is refused before anything is fetched, says how much is needed and there is, and leaves nothing', async () => {
    const two = await twoHosts()
    const { result, restores } = await attempt(two, { lacking: 1 })
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'DISK_FULL', message: expect.stringMatching(/^taking over oak needs \d+ MB free at .+, has \d+ MB/) },
    })
    expect(restores).toBe(0)
    expect(two.next.host.volumeNames()).toEqual([])
    expect(two.next.host.pinnedImages()).toEqual([])
  })

  test('is one with exactly as much: the whole snapshot and its database, where it is fetched to and where volumes lie', async () => {
    const two = await twoHosts()
    const { result, asked, deps } = await attempt(two, { lacking: 0 })
    expect(result).toMatchObject({ outcome: 'restored' })
    expect(asked).toEqual([deps.workFolder, await two.next.host.engine.volumesFolder()])
  })

  test('is not refused for what an interrupted try has brought already', async () => {
    const two = await twoHosts()
    expect((await attempt(two, { lacking: 10, already: 10 })).result).toMatchObject({ outcome: 'restored' })
  })
})

test.each([
  ['that says how large its database is', { totalBytes: 300, databaseBytes: 900 }, 1_200],
  ['of an older agent: as if the whole of it were a database', { totalBytes: 300, databaseBytes: null }, 600],
  ['of which nothing is known: the reserve alone', { totalBytes: null, databaseBytes: null }, 0],
])('a take-over needs room for a snapshot %s', async (_, facts, bytes) => {
  const asked = async (freeBytes: number) =>
    reserveSpaceFor(
      {
        deps: {
          disk: aDisk({ freeBytes: async () => freeBytes, usedBytes: () => Promise.reject(new Error('ENOENT')) }),
          engine: { volumesFolder: async () => undefined } as unknown as ContainerEngine,
          workFolder: '/agent/work',
        },
        payload: takeOverPayload({ snapshotId: 'abc', snapshotSha256: null }),
        context: aContext('t'),
        folder: '/agent/work/t',
      },
      facts as StoredSnapshot,
    )
  expect(await asked(reserveBytes + bytes)).toEqual([{ path: '/agent/work', bytes }])
  await expect(asked(reserveBytes + bytes - 1)).rejects.toMatchObject({ code: 'DISK_FULL' })
})

describe('where volumes lie on a disk of their own, a take-over needs', () => {
  const [work, volumes] = ['/agent/work', '/volumes']
  const asked = (free: Readonly<Record<string, number>>, already = 0) =>
    reserveSpaceFor(
      {
        deps: {
          disk: aDisk({
            freeBytes: async (path) => reserveBytes + (free[path] ?? Number.NaN),
            usedBytes: async () => already,
            diskOf: async (path) => path,
          }),
          engine: { volumesFolder: async () => volumes } as unknown as ContainerEngine,
          workFolder: work,
        },
        payload: takeOverPayload({ snapshotId: 'abc', snapshotSha256: null }),
        context: aContext('t'),
        folder: `${work}/t`,
      },
      { totalBytes: 10_000, databaseBytes: 900 } as StoredSnapshot,
    )

  test.each([
    ['room for the dump, where it is fetched to', { [work]: 900, [volumes]: 10_900 }, { [work]: 899, [volumes]: 10_900 }, work],
    [
      'room for all of it there, which may be the same disk',
      { [work]: 900, [volumes]: 10_900 },
      { [work]: 900, [volumes]: 10_899 },
      volumes,
    ],
  ])('%s', async (_, enough, less, where) => {
    expect(await asked(enough)).toEqual([
      { path: work, bytes: 900 },
      { path: volumes, bytes: 10_900 },
    ])
    await expect(asked(less)).rejects.toMatchObject({ code: 'DISK_FULL', message: expect.stringContaining(` free at ${where}, `) })
  })

  test('no more for what an interrupted try has brought', async () => {
    expect(await asked({ [work]: 890, [volumes]: 10_890 }, 10)).toHaveLength(2)
  })
})

describe('a restarted agent reserves the same space again, with the same messages:', () => {
  type Lives = Readonly<{ two: Awaited<ReturnType<typeof twoHosts>>; run(deps: Deps, context: CommandContext): Promise<unknown> }>

  /** The space reserved for others during `call`: by the killed agent, and by the next one. */
  async function promisedAt(call: string, { two, run }: Lives, host: MovingHost) {
    const seen: ReservedForOthers[] = []
    const life = async (over?: AbortController) => {
      const ledger = spaceLedger()
      const touch = async (name: string, act: () => Promise<unknown>) => {
        if (name === call) {
          seen.push(ledger.reservedForOthers('another', 'the only one'))
          over?.abort()
          over?.signal.throwIfAborted()
        }
        return act()
      }
      const deps = await host.agent(around(touch))
      const context = aContext('c1', over ? { signal: over.signal } : {})
      return moving(two.clock, () => run({ ...deps, disk: aDisk({ ledger }) }, context), 5_000)
    }
    await expect(life(new AbortController())).rejects.toBeDefined()
    await life()
    return seen.slice(0, 2)
  }

  test('a hand-over', async () => {
    const two = await twoHosts()
    const run = (deps: Deps, context: CommandContext) => handOver(deps)(context, handOverPayload())
    const [first, second] = await promisedAt('dumpDatabase', { two, run }, two.old)
    expect(first).toEqual({ bytes: expect.any(Number), to: ['the last dump of oak'] })
    expect(second).toEqual(first)
  })

  test('a take-over', async () => {
    const two = await twoHosts()
    const { snapshot } = await moving(two.clock, async () => handOver(await two.old.agent())(aContext('h'), handOverPayload()), 5_000)
    const run = (deps: Deps, context: CommandContext) => takeOver(deps)(context, takeOverPayload(snapshot))
    const [first, second] = await promisedAt('loadDatabase', { two, run }, two.next)
    expect(first).toEqual({ bytes: expect.any(Number), to: ['taking over oak'] })
    expect(second).toEqual(first)
  })

  test('a drill', async () => {
    const two = await twoHosts()
    const { snapshotId, snapshotSha256 } = await snapshotOfBox(two.old, two.box, 'daily')
    const payload = { ...address, ownershipEpoch: 1, snapshotId, snapshotSha256, deadlineMs: 30 * 86_400_000 }
    const run = (deps: Deps, context: CommandContext) => drill(deps)(context, payload)
    const [first, second] = await promisedAt('loadDatabase', { two, run }, two.old)
    expect(first).toEqual({ bytes: expect.any(Number), to: ['a drill of oak'] })
    expect(second).toEqual(first)
  })
})
