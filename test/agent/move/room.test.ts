import { describe, expect, test } from 'vitest'
import { reserveBytes } from '../../../src/agent/backup/index.ts'
import { handOver, takeOver } from '../../../src/agent/move/index.ts'
import { needRoomFor } from '../../../src/agent/move/need-room-for.ts'
import type { ContainerEngine, SnapshotStore, StoredSnapshot } from '../../../src/agent/ports/index.ts'
import { moving } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'
import { aContext, handOverPayload, takeOverPayload, twoHosts } from './a-move.ts'

describe('a take-over without room', () => {
  /** What the snapshot says that is needed, to the byte, and how often anything was fetched when there is that much and `lacking` less. */
  const attempt = async (two: Awaited<ReturnType<typeof twoHosts>>, { lacking, already = 0 }: { lacking: number; already?: number }) => {
    const { snapshot } = await moving(two.clock, async () => handOver(await two.old.agent())(aContext('h'), handOverPayload()), 5_000)
    const needs = await two.next.agent()
    const repository = { repository: 'sim:oak', password: 'a key', env: {} }
    const stored = await needs.snapshots.find(repository, snapshot.snapshotId)
    const bytes = (stored?.totalBytes ?? Number.NaN) + (stored?.databaseBytes ?? Number.NaN)
    const asked: string[] = []
    const freeBytes = async (path: string) => asked.push(path) && reserveBytes + bytes - lacking
    const disk = aDisk({ freeBytes, usedBytes: async () => already })
    let restores = 0
    const restore = (...of: Parameters<SnapshotStore['restore']>) => {
      restores++
      return needs.snapshots.restore(...of)
    }
    const snapshots = { ...needs.snapshots, restore }
    const result = await moving(two.clock, () => takeOver({ ...needs, disk, snapshots })(aContext('t'), takeOverPayload(snapshot)), 5_000)
    return { result, restores, asked, needs }
  }

  test('is refused before anything is fetched, says how much is needed and there is, and leaves nothing', async () => {
    const two = await twoHosts()
    const { result, restores } = await attempt(two, { lacking: 1 })
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'DISK_FULL', message: expect.stringMatching(/^taking over oak needs \d+ MB free at .+, there are \d+ MB/) },
    })
    expect(restores).toBe(0)
    expect(two.next.host.volumeNames()).toEqual([])
    expect(two.next.host.pinnedImages()).toEqual([])
  })

  test('is one with exactly as much: the whole snapshot and its database, where it is fetched to and where volumes lie', async () => {
    const two = await twoHosts()
    const { result, asked, needs } = await attempt(two, { lacking: 0 })
    expect(result).toMatchObject({ outcome: 'restored' })
    expect(asked).toEqual([needs.workFolder, await two.next.host.engine.volumesFolder()])
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
    needRoomFor(
      {
        needs: {
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
  await expect(asked(reserveBytes + bytes)).resolves.toBeUndefined()
  await expect(asked(reserveBytes + bytes - 1)).rejects.toMatchObject({ code: 'DISK_FULL' })
})

describe('where volumes lie on a disk of their own, a take-over needs', () => {
  const [work, volumes] = ['/agent/work', '/volumes']
  const asked = (free: Readonly<Record<string, number>>, already = 0) =>
    needRoomFor(
      {
        needs: {
          disk: aDisk({ freeBytes: async (path) => reserveBytes + (free[path] ?? Number.NaN), usedBytes: async () => already }),
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
    await expect(asked(enough)).resolves.toBeUndefined()
    await expect(asked(less)).rejects.toMatchObject({ code: 'DISK_FULL', message: expect.stringContaining(` free at ${where}, `) })
  })

  test('no more for what an interrupted try has brought', async () => {
    await expect(asked({ [work]: 890, [volumes]: 10_890 }, 10)).resolves.toBeUndefined()
  })
})
