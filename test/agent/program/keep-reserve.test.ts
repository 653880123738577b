import { expect, test } from 'vitest'
import { type DiskSpace, reserveBytes } from '../../../src/agent/backup/index.ts'
import { keepDiskFree } from '../../../src/agent/program/keep-reserve.ts'
import { aHost, aRunningBox, images, moving } from '../simulated/boxes.ts'

const newer = 'registry.test/tenantry/synapse:v1.163.2'

/** A host whose disk has so much room beside the reserve at each look, the last for ever. */
function aHostWithRoom(...room: number[]) {
  let looks = 0
  return aWatchedHost({ freeBytes: async () => reserveBytes + (room[Math.min(looks++, room.length - 1)] ?? 0) }, () => looks)
}

const repository = { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }

async function aWatchedHost(disk: Pick<DiskSpace, 'freeBytes'>, looks = () => 0) {
  const host = await aHost()
  const box = await aRunningBox(host)
  await host.snapshots.prepare(repository)
  const slow = (signal: AbortSignal | undefined) => host.clock.sleep(60_000, signal).then(() => signal?.throwIfAborted())
  const bare = {
    engine: {
      ...host.engine,
      imageFolders: async () => ['/images', '/more-images'],
      pull: async (...given: Parameters<typeof host.engine.pull>) => {
        await slow(given[1].signal)
        return host.engine.pull(...given)
      },
    },
    servers: {
      ...host.servers,
      dumpDatabase: async (...given: Parameters<typeof host.servers.dumpDatabase>) => {
        await slow(given[2])
        return host.servers.dumpDatabase(...given)
      },
    },
    snapshots: {
      ...host.snapshots,
      take: async (...given: Parameters<typeof host.snapshots.take>) => {
        await slow(given[2])
        return host.snapshots.take(...given)
      },
    },
  }
  const ports = keepDiskFree({ clock: host.clock, disk, stateFolder: '/state' }, bare)
  const request = { tier: 'manual', commandId: 'sn_1', slug: 'oak', paths: [box.project.folder] } as const
  const works: Readonly<Record<'pull' | 'dump' | 'snapshot', (signal?: AbortSignal) => Promise<unknown>>> = {
    pull: (signal?: AbortSignal) => ports.engine.pull(newer, signal ? { signal } : {}),
    dump: (signal?: AbortSignal) => ports.servers.dumpDatabase(box, `${host.folder}/dump`, signal),
    snapshot: (signal?: AbortSignal) => ports.snapshots.take(repository, request, signal),
  }
  return { host, works, ports, looks }
}

test.each(['pull', 'dump', 'snapshot'] as const)(
  'a %s ends before it uses up what is kept free, and says where to make room',
  async (name) => {
    const { host, works } = await aHostWithRoom(5_000, 1_000, -1)
    const refused = await moving(host.clock, () => works[name]().catch((error) => error))
    expect(refused).toMatchObject({
      code: 'DISK_FULL',
      message: expect.stringMatching(/less than 256 MB free at \/.+ fix: free disk space there/),
    })
    expect(await host.engine.localDigest(newer)).toBeUndefined()
    expect(await host.snapshots.ofCommand(repository, 'sn_1')).toBeUndefined()
  },
)

test.each([
  ['pull', '/images'],
  ['pull', '/more-images'],
  ['pull', 'volumes'],
  ['dump', 'dump'],
  ['snapshot', '/state'],
] as const)('a %s ends when the disk of %s is full, whatever space other disks have', async (name, folder) => {
  const { works } = await aWatchedHost({ freeBytes: async (path) => (path.endsWith(folder) ? reserveBytes - 1 : 1e12) })
  await expect(works[name]()).rejects.toMatchObject({
    code: 'DISK_FULL',
    message: expect.stringMatching(new RegExp(`free at \\S*${folder} `)),
  })
})

test('fetching a snapshot continues below the reserve, because a rollback may need it', async () => {
  const { host, ports } = await aWatchedHost({ freeBytes: async () => 0 })
  const request = { tier: 'manual', commandId: 'sn_1', slug: 'oak', paths: [host.folder] } as const
  const { id } = await host.snapshots.take(repository, request)
  await ports.snapshots.restore(repository, { id, path: host.folder, into: `${host.folder}/back` })
})

test.each(['pull', 'dump', 'snapshot'] as const)('a %s is not begun where the reserve is used up already', async (name) => {
  const { works, looks } = await aHostWithRoom(-1)
  await expect(works[name]()).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(looks()).toBe(1)
})

test.each(['pull', 'dump', 'snapshot'] as const)(
  'a %s with enough space completes, and the disk is not polled afterwards',
  async (name) => {
    const { host, works } = await aHostWithRoom(1)
    await moving(host.clock, () => works[name]())
    expect(host.clock.sleepers()).toBe(0)
  },
)

test('who is to stop has not failed for want of room', async () => {
  const { host, works } = await aHostWithRoom(1)
  const abort = new AbortController()
  const ended = works.pull(abort.signal).catch((error) => error)
  await new Promise((resolve) => setImmediate(resolve))
  abort.abort('drained')
  expect(await moving(host.clock, () => ended)).toBe('drained')
})

test('an image that fails for another reason fails as it did', async () => {
  const { host, ports } = await aHostWithRoom(1)
  host.inject({ kind: 'tag-missing' })
  await expect(moving(host.clock, () => ports.engine.pull(images.edge, {}))).rejects.toMatchObject({ code: 'PULL_FAILED' })
})
