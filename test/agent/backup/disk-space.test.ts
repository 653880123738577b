import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  diskName,
  hostDisk,
  reserveBytes,
  reserveDiskSpace,
  restoreReservation,
  unreservedBytes,
} from '../../../src/agent/backup/disk-space.ts'
import { type DiskSpace, spaceForDump, spaceForSnapshot, spaceLedger } from '../../../src/agent/backup/index.ts'
import { aDisk } from '../simulated/disks.ts'

const mb = 1024 * 1024
const oak = { commandId: 'restore-oak', what: 'restoring oak' }
const elm = { commandId: 'snapshot-elm', what: 'a snapshot of elm' }

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

  const refused = (disk: DiskSpace) =>
    reserveDiskSpace(disk, oak, [dump, fetched, database]).then(
      () => 'nowhere',
      ({ message }) => [...message.matchAll(/free at (.+?), has/g)].map(([, paths]) => paths).join('; '),
    )

  test('needs the sum on one disk, on another its own, and on each the reserve once', async () => {
    expect(await refused(disks({ agent, volumes }))).toBe('nowhere')
    expect(await refused(disks({ agent: agent - 1, volumes }))).toBe('/agent/dumps and /agent/fetched')
    expect(await refused(disks({ agent, volumes: volumes - 1 }))).toBe('/volumes')
    const together = (lacking: number) => aDisk({ freeBytes: async () => reserveBytes + 55 * mb - lacking })
    expect(await refused(together(0))).toBe('nowhere')
    expect(await refused(together(1))).toBe('/agent/dumps and /agent/fetched and /volumes')
  })

  test('is refused with the name of each disk that lacks room, and how much it lacks', async () => {
    const short = disks({ agent: agent - 3 * mb, volumes: 1 * mb })
    await expect(reserveDiskSpace(short, oak, [dump, fetched, database])).rejects.toMatchObject({
      code: 'DISK_FULL',
      message:
        'restoring oak needs 271 MB free at /agent/dumps and /agent/fetched, has 268 MB (3 MB missing); and 296 MB free at /volumes, has 1 MB (295 MB missing)',
    })
    await expect(reserveDiskSpace(disks({ agent, volumes }), oak, [dump, fetched, database])).resolves.toBeUndefined()
  })
})

describe('room that one command was given', () => {
  const part = (megabytes: number) => [{ path: '/volumes', bytes: megabytes * mb }]
  /** 50 MB beside the reserve. */
  const shared = () => {
    const ledger = spaceLedger()
    return { ledger, disk: aDisk({ freeBytes: async () => reserveBytes + 50 * mb, ledger }) }
  }

  test('is not given to another until it ends, and who has it is said', async () => {
    const { ledger, disk } = shared()
    await reserveDiskSpace(disk, oak, part(30))
    await expect(reserveDiskSpace(disk, elm, part(21))).rejects.toMatchObject({
      code: 'DISK_FULL',
      message: 'a snapshot of elm needs 277 MB free at /volumes, has 276 MB beside 30 MB reserved for restoring oak (1 MB missing)',
    })
    await reserveDiskSpace(disk, elm, part(20))
    ledger.release(elm.commandId)
    ledger.release(oak.commandId)
    await reserveDiskSpace(disk, elm, part(50))
  })

  test('goes to one of two that look at the same moment', async () => {
    const { disk } = shared()
    const both = await Promise.allSettled([reserveDiskSpace(disk, oak, part(30)), reserveDiskSpace(disk, elm, part(30))])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('a repeated reservation replaces the owner’s earlier one on that disk', async () => {
    const { disk } = shared()
    await reserveDiskSpace(disk, oak, part(30))
    await reserveDiskSpace(disk, oak, part(40))
    await expect(reserveDiskSpace(disk, elm, part(11))).rejects.toMatchObject({ code: 'DISK_FULL' })
    await reserveDiskSpace(disk, oak, part(5))
    await reserveDiskSpace(disk, elm, part(45))
  })

  test('counts on its own disk alone', async () => {
    const ledger = spaceLedger()
    const disk = { ...disks({ agent: reserveBytes + 50 * mb, volumes: reserveBytes + 50 * mb }), ledger }
    await reserveDiskSpace(disk, oak, part(50))
    await reserveDiskSpace(disk, elm, [{ path: '/agent/dumps', bytes: 50 * mb }])
  })

  test('is kept for who goes on after a crash, also on a disk that has less by now', async () => {
    const { disk } = shared()
    await restoreReservation(disk, oak, part(300))
    await expect(reserveDiskSpace(disk, elm, part(1))).rejects.toMatchObject({ code: 'DISK_FULL' })
    expect(await unreservedBytes(disk, elm.commandId, '/volumes')).toBe(reserveBytes - 250 * mb)
    expect(await unreservedBytes(disk, oak.commandId, '/volumes')).toBe(reserveBytes + 50 * mb)
  })
})

describe('the disks of this host', () => {
  test('disks are distinguished by mount, also for a folder that does not exist yet', async () => {
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
  expect(spaceForDump('/agent', { repository: 's3:https://bucket', password, env }, 7)).toEqual([{ path: '/agent', bytes: 7 }])
  const twice = ['/agent', '/srv/restic'].map((path) => ({ path, bytes: 7 }))
  expect(spaceForDump('/agent', { repository: '/srv/restic', password, env }, 7)).toEqual(twice)
})

describe('a restored snapshot takes', () => {
  const parts = async (snapshot: { totalBytes: number | null; databaseBytes: number | null }, fetched: boolean, here = 0) =>
    spaceForSnapshot(
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
    ['the present size of the box when the snapshot size is unknown', { totalBytes: null, databaseBytes: null }, false, 0, [500, 580]],
    ['the same after that was fetched', { totalBytes: null, databaseBytes: null }, true, 150, [0, 580]],
  ])('%s', async (_, snapshot, fetched, here, expected) => {
    expect(await parts(snapshot, fetched, here)).toEqual(expected)
  })
})
