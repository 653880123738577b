import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DatabaseBackup } from '../../../src/agent/ports/index.ts'
import { sweepCopies, updateSteps } from '../../../src/agent/update/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { images } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'
import { aContext, aPayload, aWorld, newSynapse, type Ports } from './an-update.ts'

type World = Awaited<ReturnType<typeof aWorld>>

const hot = { mode: 'until-proven', formerSchema: 94, snapshot: 'hot' } as const
const order = (change = {}) => aPayload({ fence: hot, ...change })

async function expectNothingLeft(world: World) {
  expect(await world.host.engine.projects('dump-')).toEqual([])
  expect(world.host.volumeNames()).toHaveLength(3)
  expect(world.host.openBackups()).toEqual([])
  expect(await world.fence()).toBeUndefined()
}

/** Something happens at a call of the open backup. */
const atBackup =
  (around: Partial<DatabaseBackup> | ((backup: DatabaseBackup) => Partial<DatabaseBackup>)) =>
  (ports: Ports): Ports => ({
    ...ports,
    servers: {
      ...ports.servers,
      beginBackup: async (...of) => {
        const backup = await ports.servers.beginBackup(...of)
        return { ...backup, ...(typeof around === 'function' ? around(backup) : around) }
      },
    },
  })

/** Users write while the base is copied, and after it. */
const busy = (world: World) =>
  atBackup((backup) => ({
    finishCopy: async () => {
      world.host.traffic.sendMessage(world.box)
      return backup.finishCopy()
    },
    switchLog: async () => {
      world.host.traffic.sendMessage(world.box)
      return backup.switchLog()
    },
  }))

test('the database is copied while users write, and its copy has all that they wrote before the stop', async () => {
  const world = await aWorld()
  const sent: string[] = []
  const fence: (typeof updateSteps)['fence'] = async (run) => {
    sent.push(world.host.traffic.sendMessage(world.box))
    return updateSteps.fence(run)
  }
  const counted: unknown[] = []
  const deps = await world.agent((ports) => ({
    ...busy(world)(ports),
    snapshots: {
      ...ports.snapshots,
      take: async (repository, request, signal) => {
        if (!request.warm) counted.push((await request.sample)?.path)
        return ports.snapshots.take(repository, request, signal)
      },
    },
  }))
  const result = await world.run(order(), { deps, steps: { ...updateSteps, fence } })
  expect(sent).toEqual(['stored'])
  expect(result).toMatchObject({
    ...{ outcome: 'committed', snapshotOk: true },
    downtime: { snapshot: 'hot', hotCopy: { fromLsn: expect.stringMatching(/^0\//), endLsn: expect.stringMatching(/^0\//) } },
  })
  expect(counted).toHaveLength(1)
  const entries = (await deps.journal.find('ro_1.box_oak.1.update'))?.entries ?? []
  const stored = entries.findLast(({ step, mark }) => step === 'snapshot' && mark === 'done')?.data as { counts: { events: number } }
  // Three of before, one while the base was copied, one after it, one before the fence.
  expect(stored.counts.events).toBe(6)
  await expectNothingLeft(world)
})

test('a box that never gets healthy is restored from the copy: no message is lost, and nothing was dumped', async () => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse })
  const result = await world.run(order(), { deps: await world.agent(busy(world)) })
  expect(result).toMatchObject({ outcome: 'rolled_back', rolledBackBy: 'snapshot', restored: { from: 'cold-copy' }, snapshotId: null })
  expect(world.counts.dumpDatabase).toBeUndefined()
  expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 5, media: 1, objects: 1 })
  expect(await world.image('synapse')).toBe(images.synapse)
  await expectNothingLeft(world)
})

describe('a copy that did not recover to the end is not restored from', () => {
  const rolledBack = async (fence: typeof hot | { mode: 'until-proven'; snapshot: 'hot' }) => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const cold: (typeof updateSteps)['cold-copy'] = async (run) => {
      const copy = (await updateSteps['cold-copy'](run)) as { endLsn: string }
      return { ...copy, endLsn: '7/0' }
    }
    return { world, result: await world.run(order({ fence }), { steps: { ...updateSteps, 'cold-copy': cold } }) }
  }

  test('the former version takes the database as it is, where it reads it', async () => {
    const { world, result } = await rolledBack(hot)
    expect(result).toMatchObject({ outcome: 'rolled_back', rolledBackBy: 'images', snapshotId: null })
    expect(result).not.toHaveProperty('restored')
    expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
    expect(await world.image('synapse')).toBe(images.synapse)
    await expectNothingLeft(world)
  })

  test('else the rollback fails and keeps both', async () => {
    const { world, result } = await rolledBack({ mode: 'until-proven', snapshot: 'hot' })
    const message = expect.stringMatching(/recovered to 0\/.*written up to 7\/0/)
    expect(result).toMatchObject({ outcome: 'rollback_failed', error: { message } })
    expect(world.host.volumeNames()).toHaveLength(4)
  })
})

test('a copy whose streams are behind is not stored, and the box is rolled back by its images', async () => {
  const world = await aWorld()
  const deps = await world.agent((ports) => ({
    ...ports,
    servers: {
      ...ports.servers,
      streamPositions: async (box, signal) => {
        const positions = await ports.servers.streamPositions(box, signal)
        return box.project.name.startsWith('dump-') ? { ...positions, sequences: { events_stream_seq: 1 } } : positions
      },
    },
  }))
  const result = await world.run(order(), { deps })
  expect(result).toMatchObject({
    ...{ outcome: 'rolled_back', rolledBackBy: 'images', snapshotId: null },
    error: { message: expect.stringContaining('the sequence events_stream_seq is at 1 instead of 3') },
  })
  await expectNothingLeft(world)
})

describe('the snapshot is stored before the new version starts', () => {
  const rows: [why: string, reason: RegExp, around: (ports: Ports, world: World) => Ports][] = [
    [
      'where PostgreSQL does not support it',
      /wal_level of PostgreSQL is minimal/,
      (ports) => ({
        ...ports,
        servers: {
          ...ports.servers,
          databaseFacts: async (box) => {
            const facts = await ports.servers.databaseFacts(box)
            return facts?.hotCopy ? { ...facts, hotCopy: { ...facts.hotCopy, walLevel: 'minimal' } } : facts
          },
        },
      }),
    ],
    [
      'where no backup begins',
      /no hot copy after .*all replication slots are in use/,
      (ports) => ({
        ...ports,
        servers: { ...ports.servers, beginBackup: () => Promise.reject(problem('SNAPSHOT_FAILED', 'all replication slots are in use')) },
      }),
    ],
    [
      'where the session ends while the base is copied',
      /no hot copy after .*the session ended/,
      (ports) => atBackup({ finishCopy: () => Promise.reject(problem('SNAPSHOT_FAILED', 'the session ended')) })(ports),
    ],
    [
      'where PostgreSQL has removed a segment of the log',
      /could not be completed: PostgreSQL has removed the segment 0+1/,
      (ports, world) => {
        let calls = 0
        return atBackup((backup) => ({
          switchLog: async () => {
            const next = await backup.switchLog()
            // The second call is that before the stop.
            const folder = (await world.host.engine.volumePath('box-oak-postgres')) as string
            if (++calls === 2) for (const name of await segments(folder)) if (name !== next) await rm(join(folder, 'pg_wal', name))
            return next
          },
        }))(ports)
      },
    ],
  ]
  test.each(rows)('%s', async (_, reason, around) => {
    const world = await aWorld()
    const result = await world.run(order(), { deps: await world.agent((ports) => around(ports, world)) })
    expect(result).toMatchObject({
      outcome: 'committed',
      downtime: { snapshot: 'before', snapshotReason: expect.stringMatching(reason) },
    })
    await expectNothingLeft(world)
  })

  test('without room for it', async () => {
    const world = await aWorld()
    const full = aDisk({ freeBytes: async () => 3e6 })
    const hotCopy: (typeof updateSteps)['hot-copy'] = async (run) => updateSteps['hot-copy']({ ...run, deps: { ...run.deps, disk: full } })
    const result = await world.run(order(), { steps: { ...updateSteps, 'hot-copy': hotCopy } })
    expect(result.downtime).toMatchObject({ snapshot: 'before', snapshotReason: expect.stringMatching(/not enough disk space/) })
    await expectNothingLeft(world)
  })
})

const segments = (folder: string) => readdir(join(folder, 'pg_wal'))

describe('an agent that was killed before the stop', () => {
  const killed = async (world: World) => {
    const life = new AbortController()
    const stop: (typeof updateSteps)['stop'] = async () => {
      life.abort(new Error('killed'))
      throw new Error('killed')
    }
    const context = aContext({ signal: life.signal })
    await expect(world.run(order(), { steps: { ...updateSteps, stop }, context })).rejects.toThrow('killed')
    expect(world.host.openBackups()).toEqual([])
  }

  test('completes the copy without its backup, if the log is all there', async () => {
    const world = await aWorld()
    await killed(world)
    expect(await world.run(order())).toMatchObject({ outcome: 'committed', downtime: { snapshot: 'hot' } })
    await expectNothingLeft(world)
  })

  test('stores the snapshot first where PostgreSQL went on to another segment, and the shutdown removed the one before', async () => {
    const world = await aWorld()
    await killed(world)
    const other = await world.host.servers.beginBackup(world.box, 'other', new AbortController().signal)
    await other.switchLog()
    await other.end()
    expect(await world.run(order())).toMatchObject({
      outcome: 'committed',
      downtime: {
        snapshot: 'before',
        snapshotReason: expect.stringMatching(/could not be completed: PostgreSQL has removed the segment/),
      },
    })
    await expectNothingLeft(world)
  })
})

test('an agent that was killed before the fence copies again: the log that the copy needs may be gone', async () => {
  const world = await aWorld()
  const life = new AbortController()
  let copies = 0
  const hotCopy: (typeof updateSteps)['hot-copy'] = async (run) => {
    copies += 1
    return updateSteps['hot-copy'](run)
  }
  // Before the intent of the fence is written.
  const store = world.fileStore
  const files: typeof store = {
    ...store,
    write: async (name, text) => {
      if (!life.signal.aborted && /"step":\s*"fence"/.test(text)) life.abort(new Error('killed'))
      life.signal.throwIfAborted()
      return store.write(name, text)
    },
  }
  const deps = await world.agent((ports) => ports, files)
  const steps = { ...updateSteps, 'hot-copy': hotCopy }
  const context = aContext({ signal: life.signal })
  await expect(world.run(order(), { deps, steps, context })).rejects.toThrow('killed')
  const other = await world.host.servers.beginBackup(world.box, 'other', new AbortController().signal)
  await other.switchLog()
  await other.end()
  expect(await world.run(order(), { steps })).toMatchObject({ outcome: 'committed', downtime: { snapshot: 'hot' } })
  expect(copies).toBe(2)
  await expectNothingLeft(world)
})

describe('a copy that could not be removed when its update ended', () => {
  const left = async (change: Parameters<typeof order>[0], steps = updateSteps) => {
    const world = await aWorld()
    const removeVolume = async (name: string) => {
      if (world.host.volumeNames().includes(name)) throw new Error('the engine is away')
    }
    const deps = await world.agent((ports) => ({ ...ports, engine: { ...ports.engine, removeVolume } }))
    if (steps === updateSteps) world.inject({ kind: 'probe-fails', image: newSynapse })
    const result = await world.run(order(change), { deps, steps })
    const { engine, journal, boxes } = await world.agent()
    const swept = await sweepCopies({ engine, journal, boxes })
    return { world, result, swept, again: await sweepCopies({ engine, journal, boxes }) }
  }

  test('is removed when the agent starts', async () => {
    const fence: (typeof updateSteps)['fence'] = async () => Promise.reject(problem('CONFLICT', 'the edge is gone'))
    const { world, result, swept, again } = await left({}, { ...updateSteps, fence })
    expect(result.outcome).toBe('failed')
    expect([swept, again]).toEqual([[expect.stringMatching(/-r[0-9a-f]{8}-1$/)], []])
    await expectNothingLeft(world)
  })

  test('but not where the box was rolled back to it', async () => {
    const { world, result, swept } = await left({})
    expect([result.outcome, swept]).toEqual(['rolled_back', []])
    expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
  })
})

test('an update that fails before the stop leaves no backup and no copy', async () => {
  const world = await aWorld()
  const fence: (typeof updateSteps)['fence'] = async () => Promise.reject(problem('CONFLICT', 'the edge is gone'))
  const result = await world.run(order(), { steps: { ...updateSteps, fence } })
  expect(result).toMatchObject({ outcome: 'failed', error: { message: expect.stringContaining('the edge is gone') } })
  await expectNothingLeft(world)
})

test('the label of the backup is in the copy, and neither the server nor its slots are', async () => {
  const world = await aWorld()
  const seen: string[] = []
  const fence: (typeof updateSteps)['fence'] = async (run) => {
    const folder = (await world.host.engine.volumePath(world.host.volumeNames().find((name) => name.endsWith('-1')) as string)) as string
    seen.push(await readFile(join(folder, 'backup_label'), 'utf8'))
    return updateSteps.fence(run)
  }
  expect((await world.run(order(), { steps: { ...updateSteps, fence } })).outcome).toBe('committed')
  expect(seen).toEqual([expect.stringMatching(/^START WAL LOCATION: 0\//)])
})
