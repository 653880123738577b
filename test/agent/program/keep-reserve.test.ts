import { expect, test } from 'vitest'
import { reserveBytes } from '../../../src/agent/backup/index.ts'
import { keepingReserve } from '../../../src/agent/program/keep-reserve.ts'
import { aHost, aRunningBox, images, moving } from '../simulated/boxes.ts'

const newer = 'registry.test/tenantry/synapse:v1.163.2'

/** A host whose disk has so much room beside the reserve at each look, the last for ever. */
async function aHostWithRoom(...room: number[]) {
  const host = await aHost()
  const box = await aRunningBox(host)
  let looks = 0
  const disk = { freeBytes: async () => reserveBytes + (room[Math.min(looks++, room.length - 1)] ?? 0) }
  const slow = (signal: AbortSignal | undefined) => host.clock.sleep(60_000, signal).then(() => signal?.throwIfAborted())
  const bare = {
    engine: {
      ...host.engine,
      pull: async (...given: Parameters<typeof host.engine.pull>) => {
        await slow(given[1].signal)
        return host.engine.pull(...given)
      },
    },
    inside: {
      ...host.inside,
      dumpDatabase: async (...given: Parameters<typeof host.inside.dumpDatabase>) => {
        await slow(given[2])
        return host.inside.dumpDatabase(...given)
      },
    },
  }
  const ports = keepingReserve({ clock: host.clock, disk }, bare)
  const works: Readonly<Record<'pull' | 'dump', (signal?: AbortSignal) => Promise<unknown>>> = {
    pull: (signal?: AbortSignal) => ports.engine.pull(newer, signal ? { signal } : {}),
    dump: (signal?: AbortSignal) => ports.inside.dumpDatabase(box, `${host.folder}/dump`, signal),
  }
  return { host, works, ports, looks: () => looks }
}

test.each(['pull', 'dump'] as const)('a %s ends before it uses up what is kept free, and says where to make room', async (name) => {
  const { host, works } = await aHostWithRoom(5_000, 1_000, -1)
  const refused = await moving(host.clock, () => works[name]().catch((error) => error))
  expect(refused).toMatchObject({ code: 'DISK_FULL', message: expect.stringMatching(/less than 256 MB are free at \/.+; free some there/) })
  expect(await host.engine.localDigest(newer)).toBeUndefined()
})

test.each(['pull', 'dump'] as const)('a %s is not begun where the reserve is used up already', async (name) => {
  const { works, looks } = await aHostWithRoom(-1)
  await expect(works[name]()).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(looks()).toBe(1)
})

test.each(['pull', 'dump'] as const)('a %s that finds room comes to its end, and nobody looks on', async (name) => {
  const { host, works } = await aHostWithRoom(1)
  await moving(host.clock, () => works[name]())
  expect(host.clock.sleepers()).toBe(0)
})

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
