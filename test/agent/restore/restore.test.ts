import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fenceFile, rewriteImages } from '../../../src/agent/boxes/index.ts'
import { handOver } from '../../../src/agent/move/index.ts'
import { type RestoreSteps, restoreStepsOfBox } from '../../../src/agent/restore/index.ts'
import { update } from '../../../src/agent/update/index.ts'
import { boxCommands } from '../../../src/core/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { composeText, images, moving } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'
import { aContext, aPayload, newSynapse, withoutColdCopy, withoutDaemon, wrapped } from '../update/an-update.ts'
import { aLivedOnBox, asInSnapshot, asItLivedOn, type LivedOn, makeMovable } from './a-restore.ts'

const withoutNewNames = (text: string) => text.replaceAll(/-r[0-9a-f]{8}-[0-9]+/g, '')

async function expectRestored(world: LivedOn) {
  expect(world.host.traffic.content(world.box)).toMatchObject(asInSnapshot)
  expect(await world.homeserver()).toBe('as in the snapshot\n')
  expect((await world.rules()).sort()).toEqual(['box.conf', 'in-the-snapshot.conf', 'soft-logout.conf'])
  expect(await world.fence()).toBeUndefined()
  expect(world.host.running('box-oak')).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(world.host.volumeNames()).toHaveLength(3)
  expect(world.host.pinnedImages()).toEqual([])
  expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
}

async function expectAsBefore(world: LivedOn) {
  expect(world.host.traffic.content(world.box)).toMatchObject(asItLivedOn)
  expect(await world.homeserver()).toBe('as it was changed later\n')
  expect((await world.rules()).sort()).toEqual(['box.conf', 'later.conf'])
  expect(await world.compose()).toBe(composeText('oak'))
  expect(await world.fence()).toBeUndefined()
  expect(world.host.running('box-oak')).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(world.host.volumeNames()).toEqual(['box-oak-media', 'box-oak-objects', 'box-oak-postgres'])
  expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
}

describe('a restore', () => {
  test('brings messages, media and config back as they were, in new volumes, and keeps what was there as a snapshot', async () => {
    const world = await aLivedOnBox()
    const result = await world.run()
    expect(boxCommands['tenant-box.restore'].result.parse(result)).toMatchObject({
      outcome: 'restored',
      snapshotId: world.taken.snapshotId,
      preRestore: { tier: 'pre-restore', snapshotId: expect.any(String) },
      error: null,
      keptFiles: [],
    })
    expect(result.fencedMs).toBeLessThanOrEqual(result.durationMs)
    await expectRestored(world)
    expect(withoutNewNames(await world.compose())).toBe(composeText('oak'))
    expect(await world.compose()).toMatch(/box-oak-postgres-r[0-9a-f]{8}-1 /)
  })

  test('names the files that the snapshot does not have and that stay in the folder of the box', async () => {
    const world = await aLivedOnBox()
    const { folder } = world.box.project
    await mkdir(join(folder, 'bridges'))
    await writeFile(join(folder, 'bridges/telegram.yaml'), 'later\n')
    const result = await world.run()
    expect(boxCommands['tenant-box.restore'].result.parse(result)).toMatchObject({
      outcome: 'restored',
      keptFiles: ['bridges/telegram.yaml'],
    })
    expect(await readFile(join(folder, 'bridges/telegram.yaml'), 'utf8')).toBe('later\n')
    await expectRestored(world)
  })

  test('moves the streams on past all that clients have seen: no new message takes the position of one that is gone', async () => {
    const world = await aLivedOnBox()
    const seen = world.host.traffic.content(world.box).stream
    expect(seen).toBe(5)
    await world.run()
    expect(world.host.traffic.content(world.box).stream).toBeGreaterThan(seen)
  })

  test('exchanges the volume of the database, whatever else PostgreSQL mounts before it', async () => {
    const world = await aLivedOnBox()
    const text = (await world.compose())
      .replace('[ "postgres:', '[ "backups:/backups", "postgres:')
      .replace('volumes:\n  postgres:', 'volumes:\n  backups: { name: box-oak-backups }\n  postgres:')
    await writeFile(world.box.project.composeFile, text)
    await moving(world.host.clock, () => world.host.engine.up(world.box.project, ['postgres']))
    await world.host.clock.advance(120_000)
    expect(await world.run()).toMatchObject({ outcome: 'restored', error: null })
    expect(world.host.traffic.content(world.box)).toMatchObject(asInSnapshot)
    expect(withoutNewNames(await world.compose())).toBe(text)
    expect(world.host.volumeNames()).toContain('box-oak-backups')
    expect(world.host.volumeNames()).not.toContain('box-oak-postgres')
  })

  test('what it kept can be restored in turn', async () => {
    const world = await aLivedOnBox()
    const { preRestore } = await world.run()
    const back = await world.run(
      { snapshotId: preRestore?.snapshotId as string, snapshotSha256: preRestore?.snapshotSha256 as string },
      { context: { commandId: 're_2.box_oak.1.restore' } },
    )
    expect(back.outcome).toBe('restored')
    expect(world.host.traffic.content(world.box)).toMatchObject(asItLivedOn)
    expect(await world.homeserver()).toBe('as it was changed later\n')
    expect(world.host.volumeNames()).toHaveLength(3)
  })

  test('restores the image that the snapshot was made with', async () => {
    const world = await aLivedOnBox()
    await world.host.engine.pull(newSynapse, {})
    await writeFile(world.box.project.composeFile, rewriteImages(await world.compose(), { synapse: newSynapse }))
    await world.host.engine.up(world.box.project, ['synapse'])
    expect((await world.run()).outcome).toBe('restored')
    expect(await world.image('synapse')).toBe(images.synapse)
    await expectRestored(world)
  })

  test('fences only once the snapshot is here, and asks the daemon for nothing afterwards', async () => {
    const world = await aLivedOnBox()
    const { secrets } = aContext()
    const away = async () => ((await world.fence()) === undefined ? secrets() : withoutDaemon())
    expect((await world.run({}, { context: { secrets: away } })).outcome).toBe('restored')
  })

  test('lets the platform know the secrets that came back, and only where they differ', async () => {
    const delivered: unknown[] = []
    const deliver = async (outputs: unknown) => void delivered.push(outputs)
    const world = await aLivedOnBox()
    await world.run({}, { context: { deliver } })
    expect(delivered).toEqual([])
  })

  test.each([
    ['before', 'restored'],
    ['before each', 'failed'],
    ['after', 'restored'],
  ])('a dump that the disk damages %s load is fetched again, then the restore has %s', async (when, outcome) => {
    const world = await aLivedOnBox()
    const deps = await world.agent()
    let loads = 0
    const loadDatabase: typeof deps.servers.loadDatabase = async (box, dump, signal) => {
      loads += 1
      const tear = () => writeFile(join(dump.folder, 'database.dump'), 'torn')
      if (when === 'before each' || (when === 'before' && loads === 1)) await tear()
      await deps.servers.loadDatabase(box, dump, signal)
      if (when === 'after' && loads === 1) {
        await tear()
        throw problem('RESTORE_FAILED', 'counts differ')
      }
    }
    const result = await world.run({}, { deps: { ...deps, servers: { ...deps.servers, loadDatabase } } })
    expect({ loads, outcome: result.outcome }).toEqual({ loads: 2, outcome })
    if (outcome === 'restored') return expectRestored(world)
    expect(result.error).toMatchObject({ code: 'RESTORE_FAILED', message: expect.stringContaining('fetched twice') })
    await expectAsBefore(world)
  })

  test('done again it answers the same and does nothing', async () => {
    const world = await aLivedOnBox()
    const deps = await world.agent()
    const first = await world.run({}, { deps })
    const ups = world.counts.up
    expect(await world.run({}, { deps })).toEqual(first)
    expect(world.counts.up).toBe(ups)
  })
})

test('a database that does not come up is restored too: its files are in the store, its volumes stay, all streams move far on', async () => {
  const world = await aLivedOnBox()
  world.host.powerCut()
  world.inject({ kind: 'dies-at-start', image: images.postgres, times: 1 })
  await world.host.engine.start(world.box.project, ['edge'])
  const result = await world.run()
  expect(result).toMatchObject({ outcome: 'restored', preRestore: null })
  expect(world.host.traffic.content(world.box)).toMatchObject(asInSnapshot)
  expect(world.host.traffic.content(world.box).stream).toBeGreaterThan(1_000_000)
  expect(world.host.volumeNames()).toHaveLength(6)
  expect(
    await world.host.snapshots.ofCommand({ repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }, 're_1.box_oak.1.restore'),
  ).toBeDefined()
  expect(await world.fence()).toBeUndefined()
})

test('a database with unreadable streams is restored in the same way', async () => {
  const world = await aLivedOnBox()
  const deps = await world.agent((ports) => ({
    ...ports,
    servers: {
      ...ports.servers,
      streamPositions: async () => {
        throw problem('RESTORE_FAILED', 'relation "public.stream_positions" does not exist')
      },
    },
  }))
  expect(await world.run({}, { deps })).toMatchObject({ outcome: 'restored', preRestore: null })
  expect(world.host.traffic.content(world.box).stream).toBeGreaterThan(1_000_000)
  expect(world.host.volumeNames()).toHaveLength(6)
})

test('a box record that cannot be written is retried, and the restore is reported as restored', async () => {
  const world = await aLivedOnBox()
  await world.boxes.put({ ...world.box, migrationsHead: '0007' })
  const deps = await world.agent()
  let refusals = 0
  const put: typeof deps.boxes.put = async (box) => {
    if (refusals++ < 3) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    return deps.boxes.put(box)
  }
  expect(await world.run({}, { deps: { ...deps, boxes: { ...deps.boxes, put } } })).toMatchObject({ outcome: 'restored', error: null })
  expect(refusals).toBe(4)
  expect((await world.boxes.find('oak'))?.migrationsHead).toBe('0000')
})

describe('a snapshot that does not fit is refused before anything is stopped', () => {
  const refused = async (world: LivedOn, change: Parameters<LivedOn['run']>[0], message: RegExp) => {
    const fences: (string | undefined)[] = []
    const deps = await world.agent((ports) =>
      wrapped(ports, async (_, act) => {
        fences.push(await world.fence())
        return act()
      }),
    )
    const result = await world.run(change, { deps })
    expect(result).toMatchObject({ outcome: 'failed', preRestore: null, fencedMs: 0, error: { message: expect.stringMatching(message) } })
    expect(fences.every((fence) => fence === undefined)).toBe(true)
    expect(world.counts.stop).toBeUndefined()
    await expectAsBefore(world)
  }

  test('volumes that its compose file does not name, to which a rollback could not return', async () => {
    const world = await aLivedOnBox()
    await world.edit((text) => text.replace('postgres: { name: box-oak-postgres }', 'postgres: { name: box-oak-other }'))
    expect(await world.run()).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: {
        code: 'PREFLIGHT_REFUSED',
        message: expect.stringMatching(/postgres mounts volume box-oak-postgres .* but compose.yaml mounts volume box-oak-other there/),
      },
    })
    expect(world.host.traffic.content(world.box)).toMatchObject(asItLivedOn)
    expect(world.host.running('box-oak')).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  })
  test('another sum', async () => refused(await aLivedOnBox(), { snapshotSha256: 'a'.repeat(64) }, /does not match its manifest/))
  test('one that is not there', async () => refused(await aLivedOnBox(), { snapshotId: 'ab'.repeat(32) }, /has no snapshot/))
  test('no room for it', async () => {
    const disk = aDisk({ freeBytes: async () => 1e6 })
    const world = await aLivedOnBox({ change: () => ({ disk }) })
    await refused(world, {}, /needs .* MB free/)
    expect(world.counts.restore).toBeUndefined()
  })
  test('no room for it beside what was fetched and the images that were pulled', async () => {
    let world: LivedOn | undefined
    const freeBytes = async () => (world?.counts.restore === undefined ? 1e12 : 1e6)
    world = await aLivedOnBox({ change: () => ({ disk: aDisk({ freeBytes }) }) })
    await refused(world, {}, /needs .* MB free/)
    expect(world.counts.createVolume).toBeUndefined()
  })
  test('an image that this host may not run', async () => {
    await refused(await aLivedOnBox({ change: () => ({ allowedImages: ['elsewhere.test/*'] }) }), {}, /the box was not touched/)
  })
  test('media that cannot be brought', async () => {
    const world = await aLivedOnBox()
    const deps = await world.agent((ports) => ({
      ...ports,
      snapshots: {
        ...ports.snapshots,
        restore: async (repository, input, signal) => {
          if (input.path.includes('objects')) throw problem('SNAPSHOT_STORE_UNAVAILABLE', 'the store does not answer')
          return ports.snapshots.restore(repository, input, signal)
        },
      },
    }))
    expect(await world.run({}, { deps })).toMatchObject({ outcome: 'failed', error: { code: 'SNAPSHOT_STORE_UNAVAILABLE' } })
    await expectAsBefore(world)
  })
})

const failingAfterSwitch = (happens: () => Promise<void>): RestoreSteps => ({
  ...restoreStepsOfBox,
  start: async () => {
    await happens()
    throw problem('DOCKER_UNAVAILABLE', 'no answer')
  },
})

async function removeBackups(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (name.startsWith('compose.yaml.')) await rm(join(folder, name))
}

describe('a restore that cannot be kept', () => {
  test.each([
    ['what is there now cannot be kept', { kind: 'dump-fails' }, 'SNAPSHOT_FAILED'],
    ['the store is away under the fence', { kind: 'snapshot-fails' }, 'SNAPSHOT_FAILED'],
    ['the load fails', { kind: 'load-fails' }, 'RESTORE_FAILED'],
    ['the disk is full at the load', { kind: 'disk-full', at: 'load' }, 'DISK_FULL'],
  ] as const)('%s: the box is as it was before, proven', async (_, fault, code) => {
    const world = await aLivedOnBox()
    world.inject(fault)
    const result = await world.run()
    expect(result).toMatchObject({ outcome: 'failed', error: { code, message: expect.stringContaining('as it was before') } })
    expect(result.probes.filter(({ verdict }) => verdict === 'ok').length).toBeGreaterThanOrEqual(3)
    await expectAsBefore(world)
  })

  test('a load from a dump damaged after the fetch is discarded, even when the load itself succeeded', async () => {
    const world = await aLivedOnBox()
    const loads: string[] = []
    const deps = await world.agent((ports) => ({
      ...ports,
      servers: {
        ...ports.servers,
        streamPositions: async (box, signal) => {
          // As a dump it is as good as before.
          await appendFile(join(world.host.folder, 'work', `${world.restoreId}.restored`, 'dump', 'database.dump'), '\n')
          return ports.servers.streamPositions(box, signal)
        },
        loadDatabase: async (box, dump, signal) => {
          loads.push((await readFile(join(dump.folder, 'database.dump'), 'utf8')).endsWith('\n') ? 'damaged' : 'whole')
          return ports.servers.loadDatabase(box, dump, signal)
        },
      },
    }))
    expect(await world.run({}, { deps })).toMatchObject({ outcome: 'restored' })
    expect(loads).toEqual(['damaged', 'whole'])
    await expectRestored(world)
  })

  test('a restore that was switched already leaves no file of the snapshot behind', async () => {
    const world = await aLivedOnBox()
    const start: typeof restoreStepsOfBox.start = async () => {
      expect((await world.rules()).sort()).toEqual(['box.conf', 'in-the-snapshot.conf'])
      throw problem('UPDATE_FAILED', 'it does not start')
    }
    expect(await world.run({}, { steps: { ...restoreStepsOfBox, start } })).toMatchObject({ outcome: 'failed' })
    await expectAsBefore(world)
  })

  test('whose backup of the compose file is gone does not claim to be as before: it stays fenced, and says what is gone', async () => {
    const world = await aLivedOnBox()
    const { folder } = world.box.project
    const result = await world.run({}, { steps: failingAfterSwitch(() => removeBackups(folder)) })
    expect(result).toMatchObject({
      outcome: 'restore_failed',
      error: { code: 'RESTORE_FAILED', message: expect.stringMatching(/backup of .* is gone.*fix: tenantry snapshots restore oak/) },
    })
    expect(await world.fence()).toBeDefined()
  })

  test('whose former files are gone stays fenced, and says so', async () => {
    const world = await aLivedOnBox()
    const steps = failingAfterSwitch(() =>
      rm(join(world.host.folder, 'work', `${world.restoreId}.restored`, 'former'), { recursive: true }),
    )
    const result = await world.run({}, { steps })
    expect(result).toMatchObject({
      outcome: 'restore_failed',
      error: { code: 'RESTORE_FAILED', message: expect.stringMatching(/former files .* are gone/) },
    })
    expect(await world.fence()).toBeDefined()
  })

  test('an image that dies on the restored data is taken back, with every message and file that was there', async () => {
    const world = await aLivedOnBox()
    await world.host.engine.pull(newSynapse, {})
    await writeFile(world.box.project.composeFile, rewriteImages(await world.compose(), { synapse: newSynapse }))
    await world.host.engine.up(world.box.project, ['synapse'])
    world.inject({ kind: 'dies-at-start', image: images.synapse })
    const before = await world.compose()
    expect(await world.run()).toMatchObject({ outcome: 'failed', error: { code: 'PROBE_FAILED' } })
    expect(await world.compose()).toBe(before)
    expect(world.host.traffic.content(world.box)).toMatchObject(asItLivedOn)
    expect(await world.homeserver()).toBe('as it was changed later\n')
    expect(world.host.volumeNames()).toHaveLength(3)
  })

  test('a rollback that does not prove healthy stays fenced and stopped, with both sets of volumes', async () => {
    const world = await aLivedOnBox()
    world.inject({ kind: 'probe-fails' })
    const result = await world.run()
    expect(result).toMatchObject({ outcome: 'restore_failed', error: { message: expect.stringContaining('the rollback failed') } })
    expect(await world.fence()).toContain('re_1.box_oak.1.restore')
    expect(world.host.running('box-oak')).toEqual(['edge'])
    expect(world.host.volumeNames()).toHaveLength(6)
  })

  test('once the fence of a box with restored data was lifted by hand, there is no rollback', async () => {
    const world = await aLivedOnBox()
    world.inject({ kind: 'probe-fails' })
    const start: typeof restoreStepsOfBox.start = async (run) => {
      const left = await restoreStepsOfBox.start(run)
      await rm(fenceFile(world.box.project))
      return left
    }
    const result = await world.run({}, { steps: { ...restoreStepsOfBox, start } })
    expect(result).toMatchObject({ outcome: 'restore_failed', error: { message: expect.stringContaining('fence was lifted by hand') } })
    expect(world.host.volumeNames()).toHaveLength(6)
    expect(await world.fence()).toBeDefined()
  })
})

describe('a box in quarantine after a failed rollback', () => {
  const atRest = async () => {
    const world = await aLivedOnBox()
    const heal = world.inject({ kind: 'probe-fails' })
    const deps = await world.agent()
    const result = await moving(world.host.clock, () => update(deps as never)(aContext(), aPayload()), 5_000)
    expect(result.outcome).toBe('rollback_failed')
    heal()
    return world
  }

  test('is restored under the fence that stands, and opened', async () => {
    const world = await atRest()
    const seen: boolean[] = []
    const deps = await world.agent((ports) =>
      wrapped(ports, async (_, act) => {
        seen.push((await world.fence()) !== undefined)
        return act()
      }),
    )
    // Far away, because time passes freely while the fence is looked at.
    const probe = { consecutive: 3, spacingMs: 60_000, timeoutMs: 365 * 86_400_000 }
    expect(await world.run({ probe }, { deps })).toMatchObject({ outcome: 'restored', error: null })
    expect(world.host.traffic.content(world.box)).toMatchObject(asInSnapshot)
    expect(await world.fence()).toBeUndefined()
    // Not a moment in which clients could have come in before it was decided.
    expect(seen.slice(0, seen.lastIndexOf(true)).every(Boolean)).toBe(true)
  })

  test('has unknown stream positions: its files are kept without a dump, and all streams move far ahead', async () => {
    const world = await aLivedOnBox()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const heal = world.inject({ kind: 'load-fails' })
    const deps = await world.agent(withoutColdCopy)
    const rested = await moving(world.host.clock, () => update(deps as never)(aContext(), aPayload()), 5_000)
    expect(rested.outcome).toBe('rollback_failed')
    heal()
    const former = world.host.volumeNames()
    const dumps = world.counts.dumpDatabase
    expect(await world.run()).toMatchObject({ outcome: 'restored', preRestore: null, error: null })
    expect(world.counts.dumpDatabase).toBe(dumps)
    expect(world.host.volumeNames()).toEqual(expect.arrayContaining([...former]))
    expect(world.host.traffic.content(world.box)).toMatchObject(asInSnapshot)
    expect(world.host.traffic.content(world.box).stream).toBeGreaterThan(1_000_000)
  })

  test('is in quarantine again when the restore fails: there is no healthy state to roll back to', async () => {
    const world = await atRest()
    world.inject({ kind: 'load-fails' })
    expect(await world.run()).toMatchObject({ outcome: 'restore_failed' })
    expect(await world.fence()).toContain('re_1.box_oak.1.restore')
    expect(world.host.running('box-oak')).toEqual(['edge'])
  })

  test('is left as it was when the snapshot does not fit', async () => {
    const world = await atRest()
    const pinned = world.host.pinnedImages()
    expect(await world.run({ snapshotSha256: 'a'.repeat(64) })).toMatchObject({ outcome: 'failed' })
    expect(await world.fence()).toContain('ro_1.box_oak.1.update')
    expect(world.host.pinnedImages()).toEqual(pinned)
    expect(pinned).not.toEqual([])
  })
})

test('a box whose failed hand-over could not be reverted is restored under the existing fence', async () => {
  const world = await aLivedOnBox()
  world.inject({ kind: 'snapshot-fails', times: 1 })
  const heal = world.inject({ kind: 'probe-fails' })
  const deps = { ...(await world.agent()), ...(await makeMovable(world)) }
  const order = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1, deadlineMs: 30 * 86_400_000 }
  const handing = () => handOver(deps as never)(aContext({ commandId: 'mv_1.hand_over.1' }), order)
  await expect(moving(world.host.clock, handing, 5_000)).rejects.toThrow(/stays fenced on this host/)
  expect(await world.fence()).toContain('mv_1.hand_over.1')
  heal()
  expect(await world.run()).toMatchObject({ outcome: 'restored', error: null })
  expect(world.host.traffic.content(world.box)).toMatchObject(asInSnapshot)
  expect(await world.fence()).toBeUndefined()
})

test('the fence of an action that goes on is respected', async () => {
  const world = await aLivedOnBox()
  await writeFile(fenceFile(world.box.project), '{"commandId":"mv_1.box_oak.hand_over"}')
  expect(await world.run()).toMatchObject({ outcome: 'failed', error: { code: 'BOX_HELD' } })
  expect(await readFile(fenceFile(world.box.project), 'utf8')).toContain('hand_over')
})
