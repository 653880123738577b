import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { diskName, hostDisk, needRoom, reserveBytes, shortages } from '../../../src/agent/backup/disk-space.ts'
import { roomForDump, roomForSnapshot } from '../../../src/agent/backup/index.ts'
import { aDisk } from '../simulated/disks.ts'

const mb = 1024 * 1024

/** Two disks: one below /agent, one below /volumes. */
const disks = (free: Readonly<Record<string, number>>) => {
  const diskOf = async (path: string) => path.split('/')[1] as string
  return aDisk({ diskOf, freeBytes: async (path) => free[await diskOf(path)] as number })
}

describe('what is to be written', () => {
  const dump = { path: '/agent/dumps', bytes: 10 * mb }
  const fetched = { path: '/agent/fetched', bytes: 5 * mb }
  const database = { path: '/volumes', bytes: 40 * mb }
  const [agent, volumes] = [reserveBytes + 15 * mb, reserveBytes + 40 * mb]

  test('needs the sum on one disk, on another its own, and on each the reserve once', async () => {
    expect(await shortages(disks({ agent, volumes }), [dump, fetched, database])).toEqual([])
    expect(await shortages(disks({ agent: agent - 1, volumes }), [dump, fetched, database])).toEqual([
      { paths: ['/agent/dumps', '/agent/fetched'], neededBytes: agent, freeBytes: agent - 1 },
    ])
    expect(await shortages(disks({ agent, volumes: volumes - 1 }), [dump, fetched, database])).toEqual([
      { paths: ['/volumes'], neededBytes: volumes, freeBytes: volumes - 1 },
    ])
    const together = aDisk({ freeBytes: async () => reserveBytes + 55 * mb - 1 })
    expect(await shortages(together, [dump, fetched, database])).toHaveLength(1)
  })

  test('is refused with the name of each disk that lacks room, and how much it lacks', async () => {
    const short = disks({ agent: agent - 3 * mb, volumes: 1 * mb })
    await expect(needRoom(short, 'restoring oak', [dump, fetched, database])).rejects.toMatchObject({
      code: 'DISK_FULL',
      message:
        'restoring oak needs 271 MB free at /agent/dumps and /agent/fetched, there are 268 MB (3 MB too little); and 296 MB free at /volumes, there are 1 MB (295 MB too little)',
    })
    await expect(needRoom(disks({ agent, volumes }), 'restoring oak', [dump, fetched, database])).resolves.toBeUndefined()
  })
})

describe('the disks of this host', () => {
  test('are told apart by what is mounted, also for a folder that is still to be made', async () => {
    const here = await hostDisk.diskOf(tmpdir())
    expect(await hostDisk.diskOf(join(tmpdir(), 'not', 'made', 'yet'))).toBe(here)
    expect(await hostDisk.diskOf('/proc')).not.toBe(here)
  })

  test('count as one where parts of a pool share its space', () => {
    const [ext4, btrfs, zfs] = [0xef53, 0x9123683e, 0x2fc12fc1]
    expect(diskName(1, ext4)).not.toBe(diskName(2, ext4))
    expect(diskName(1, btrfs)).toBe(diskName(2, btrfs))
    expect(diskName(1, btrfs | 0)).toBe(diskName(2, btrfs))
    expect(diskName(1, btrfs)).not.toBe(diskName(1, zfs))
  })
})

test('a dump lies a second time where its repository is on this host', () => {
  const [password, env] = ['a key', {}]
  expect(roomForDump('/agent', { repository: 's3:https://bucket', password, env }, 7)).toEqual([{ path: '/agent', bytes: 7 }])
  const twice = ['/agent', '/srv/restic'].map((path) => ({ path, bytes: 7 }))
  expect(roomForDump('/agent', { repository: '/srv/restic', password, env }, 7)).toEqual(twice)
})

describe('a snapshot that is brought back takes', () => {
  const parts = async (snapshot: { totalBytes: number | null; databaseBytes: number | null }, fetched: boolean, here = 0) =>
    roomForSnapshot(
      {
        engine: { volumesFolder: async () => '/volumes' },
        disk: { usedBytes: async () => (here === 0 ? Promise.reject(new Error('ENOENT')) : here) },
        workFolder: '/agent',
      },
      { snapshot, folder: '/agent/fetched', fetched, now: { databaseBytes: 500, dataBytes: 80 } },
    ).then((found) => found.map(({ bytes }) => bytes))

  test.each([
    ['at most a dump as large as its database before it is fetched', { totalBytes: 1_000, databaseBytes: 400 }, false, 0, [400, 1_000]],
    ['no more dump than all of it', { totalBytes: 100, databaseBytes: 400 }, false, 0, [100, 400]],
    ['the rest once its dump is here', { totalBytes: 1_000, databaseBytes: 400 }, true, 150, [0, 1_250]],
    ['nothing for what an interrupted try has brought', { totalBytes: 1_000, databaseBytes: 400 }, false, 150, [250, 1_000]],
    ['what the box has now where nobody knows better', { totalBytes: null, databaseBytes: null }, false, 0, [500, 580]],
    ['the same after that was fetched', { totalBytes: null, databaseBytes: null }, true, 150, [0, 580]],
  ])('%s', async (_, snapshot, fetched, here, expected) => {
    expect(await parts(snapshot, fetched, here)).toEqual(expected)
  })
})
