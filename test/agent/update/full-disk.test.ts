import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CommandRecord, type FileStore, openJournal } from '../../../src/agent/journal/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { aContext, aPayload, aWorld, newSynapse, withoutColdCopy, wrapped } from './an-update.ts'

const full = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })

/** The same files; writes from the given one on fail until `free`. */
function fullFrom(files: FileStore, fails: (write: number, text: string) => boolean) {
  let writes = 0
  let isFull = true
  const store: FileStore = {
    ...files,
    write: async (name, text) => {
      if (isFull && fails(++writes, text)) throw full()
      return files.write(name, text)
    },
  }
  return {
    store,
    free: () => {
      isFull = false
    },
  }
}

test('a dump that fills the disk is removed at once, and the box serves as before', async () => {
  const world = await aWorld()
  const seen: string[][] = []
  const work = join(world.host.folder, 'work')
  const deps = await world.agent((ports) =>
    wrapped(ports, async (name, act) => {
      if (name === 'start') seen.push(await readdir(work).catch(() => []))
      return act()
    }),
  )
  world.inject({ kind: 'disk-full', at: 'dump' })
  expect(await world.run(aPayload(), { deps })).toMatchObject({ outcome: 'failed', error: { code: 'DISK_FULL' } })
  // When the servers start again it is gone already.
  expect(seen.length).toBeGreaterThan(0)
  expect(seen.flat()).toEqual([])
})

test('a journal that cannot be written while the box is fenced is waited for: the update is not left half done', async () => {
  const world = await aWorld()
  const deps = await world.agent()
  let refusals = 0
  const journal = {
    ...deps.journal,
    append: async (...given: Parameters<typeof deps.journal.append>): Promise<CommandRecord> => {
      if (given[1].step === 'snapshot' && given[1].mark === 'done' && refusals++ < 3)
        throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      return deps.journal.append(...given)
    },
  }
  expect(await world.run(aPayload(), { deps: { ...deps, journal } })).toMatchObject({ outcome: 'committed' })
  expect(refusals).toBe(4)
})

test('before the fence it ends the command, and nothing was touched', async () => {
  const world = await aWorld()
  const deps = await world.agent()
  const journal = { ...deps.journal, append: () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' })) }
  await expect(world.run(aPayload(), { deps: { ...deps, journal } })).rejects.toThrow('no space')
  expect(await world.fence()).toBeUndefined()
  expect(await readdir(dirname(world.box.project.composeFile))).not.toContain('on')
})

test('a snapshot that would lack the objects is none', async () => {
  const world = await aWorld()
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: { ...ports.engine, volumePath: async (name) => (name.includes('postgres') ? ports.engine.volumePath(name) : undefined) },
  }))
  expect(await world.run(aPayload(), { deps })).toMatchObject({ outcome: 'failed', error: { code: 'SNAPSHOT_FAILED' } })
  expect(await world.fence()).toBeUndefined()
})

test('during a rollback a full disk releases its reserve, and the box is as before', async () => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse })
  let hasReserve = true
  const deps = await world.agent((ports) =>
    withoutColdCopy({
      ...ports,
      servers: {
        ...ports.servers,
        loadDatabase: (...given) =>
          hasReserve ? Promise.reject(problem('DISK_FULL', 'no space left')) : ports.servers.loadDatabase(...given),
      },
    }),
  )
  const releaseDiskReserve = async () => {
    hasReserve = false
  }
  expect(await world.run(aPayload(), { deps: { ...deps, releaseDiskReserve } })).toMatchObject({ outcome: 'rolled_back' })
})

test('on the way there it is kept: the update is what fails', async () => {
  const world = await aWorld()
  world.inject({ kind: 'disk-full', at: 'dump' })
  const releaseDiskReserve = () => Promise.reject(new Error('must not be released'))
  const deps = { ...(await world.agent()), releaseDiskReserve }
  expect(await world.run(aPayload(), { deps })).toMatchObject({ outcome: 'failed', error: { code: 'DISK_FULL' } })
})

test.each([1, 2, 3])(
  'a journal that is full before the fence, from line %i on, leaves nothing that a later agent continues',
  async (line) => {
    const world = await aWorld()
    const disk = fullFrom(world.fileStore, (write) => write >= line)
    await expect(world.run(aPayload(), { deps: await world.agent((same) => same, disk.store) })).rejects.toThrow('no space')
    const later = await openJournal({ store: world.fileStore, clock: world.host.clock })
    expect(await later.open()).toEqual([])
    expect(await world.fence()).toBeUndefined()
    expect(world.counts.stop).toBeUndefined()
    // The same command may come again once there is space.
    disk.free()
    expect(await world.run()).toMatchObject({ outcome: 'committed' })
  },
)

test('an agent that drains on a full disk continues the command at its next start', async () => {
  const world = await aWorld()
  const abort = new AbortController()
  const deps = await world.agent((ports) =>
    wrapped(ports, async (name, act) => {
      if (name === 'pull') abort.abort(new Error('draining'))
      return act()
    }),
  )
  await expect(world.run(aPayload(), { deps, context: aContext({ signal: abort.signal }) })).rejects.toThrow()
  expect(await (await world.agent()).journal.open()).toHaveLength(1)
})

describe('a journal that is full when the command ends', () => {
  const isEnd = (_: number, text: string) => text.includes('"closed"')

  test('does not change the result: a committed update is reported as committed', async () => {
    const world = await aWorld()
    const disk = fullFrom(world.fileStore, isEnd)
    const deps = await world.agent((same) => same, disk.store)
    expect(await world.run(aPayload(), { deps })).toMatchObject({ outcome: 'committed' })
    // Sent again to the same agent, and to the next one before the disk has space.
    expect(await world.run(aPayload(), { deps })).toMatchObject({ outcome: 'committed' })
    expect(await world.run(aPayload(), { deps: await world.agent((same) => same, disk.store) })).toMatchObject({ outcome: 'committed' })
    expect(world.counts.pull).toBe(1)
    disk.free()
    expect(await world.run()).toMatchObject({ outcome: 'committed' })
    expect(await (await world.agent()).journal.open()).toEqual([])
  })

  test('leaves nothing to continue once the daemon has the result', async () => {
    const world = await aWorld()
    const disk = fullFrom(world.fileStore, isEnd)
    const deps = await world.agent((same) => same, disk.store)
    await world.run(aPayload(), { deps })
    await deps.journal.acknowledge(aContext().commandId)
    expect(await (await world.agent()).journal.open()).toEqual([])
  })
})
