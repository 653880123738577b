import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { reserveBytes } from '../../../src/agent/backup/index.ts'
import { fenceFile } from '../../../src/agent/boxes/index.ts'
import { instant, realistic, simulatedImage } from '../../../src/agent/simulated/index.ts'
import { updateSteps } from '../../../src/agent/update/index.ts'
import { UpdateResult } from '../../../src/core/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { composeText, images } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'
import { aContext, aPayload, aWorld, newMinio, newPostgres, newSynapse, withoutColdCopy, withoutDaemon, wrapped } from './an-update.ts'

const digestOf = (image: string) => simulatedImage(image).digest

describe('an update that proves healthy', () => {
  test('commits, lifts the fence, and leaves its evidence', async () => {
    const world = await aWorld()
    const result = UpdateResult.parse(await world.run())
    expect(result).toMatchObject({ outcome: 'committed', snapshotOk: true, updateOk: true, healthOk: true, rolledBack: false, error: null })
    expect(result.probes.filter(({ verdict }) => verdict === 'ok')).toHaveLength(3)
    expect(result.digestsBefore.synapse).toBe(digestOf(images.synapse))
    expect(result.digestsAfter.synapse).toBe(digestOf(newSynapse))
    expect(result.fencedMs).toBeGreaterThanOrEqual(120_000)
    expect(await readFile(result.composeBackup as string, 'utf8')).toBe(composeText('oak'))
    expect(await world.compose()).toBe(composeText('oak', { synapse: newSynapse }))
    expect(await world.fence()).toBeUndefined()
    expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
    expect(world.host.pinnedImages()).toEqual([])
  })

  test('exchanges all three services, the database first', async () => {
    const world = await aWorld()
    const exactly = (image: string) => ({ image, digest: digestOf(image) })
    const services = { synapse: exactly(newSynapse), minio: exactly(newMinio), postgres: exactly(newPostgres) }
    const result = await world.run(aPayload({ targets: { services, migrationsHead: '0000' } }))
    expect(result.outcome).toBe('committed')
    expect(await world.compose()).toBe(composeText('oak', { synapse: newSynapse, minio: newMinio, postgres: newPostgres }))
    expect(world.host.traffic.content(world.box).messages).toBe(3)
  })

  test('the same command again answers the same result and does nothing', async () => {
    const world = await aWorld()
    const first = await world.run()
    const counts = { ...world.counts }
    expect(await world.run()).toEqual(first)
    expect(world.counts).toEqual(counts)
  })

  test('the same command twice at the same time is done once', async () => {
    const world = await aWorld()
    const deps = await world.agent()
    const [first, second] = await Promise.all([world.run(aPayload(), { deps }), world.run(aPayload(), { deps })])
    expect(second).toEqual(first)
    expect(world.counts.dumpDatabase).toBe(1)
  })

  test('needs the daemon only before the fence', async () => {
    const world = await aWorld()
    const secrets = aContext().secrets
    const context = aContext({ secrets: async () => ((await world.fence()) === undefined ? secrets() : withoutDaemon()) })
    expect((await world.run(aPayload(), { context })).outcome).toBe('committed')
  })

  test('a fence that cannot be lifted at first is tried again, and the commit stands', async () => {
    const world = await aWorld()
    let tries = 0
    const unfence: typeof updateSteps.unfence = async (run) => {
      if (++tries < 4) throw new Error('read-only file system')
      return updateSteps.unfence(run)
    }
    const result = await world.run(aPayload(), { steps: { ...updateSteps, unfence } })
    expect(result).toMatchObject({ outcome: 'committed', error: null })
    expect(await world.fence()).toBeUndefined()
  })

  test('waits for a schema upgrade that takes longer than the probe rule', async () => {
    const minutes = 60_000
    const latencies = { ...realistic.latencies, schemaUpgradeMs: [50 * minutes, 50 * minutes] as const }
    const world = await aWorld({ profile: { ...realistic, latencies }, images: { [newSynapse]: { schema: 95 } } })
    const result = await world.run()
    expect(result.outcome).toBe('committed')
    expect(result.probes.some(({ verdict }) => verdict === 'upgrading')).toBe(true)
  })
})

describe('an update that does not prove healthy', () => {
  test('a box whose probes fail is as it was: version, data, compose file but for the volume', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse, components: ['chatSync'] })
    const result = await world.run()
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      rolledBack: true,
      healthOk: false,
      snapshotOk: true,
      // The containers were replaced; only the probes failed.
      updateOk: true,
      error: { code: 'PROBE_FAILED' },
    })
    expect(await world.image('synapse')).toBe(images.synapse)
    expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3, media: 1, objects: 1, schema: 94 })
    expect(await world.fence()).toBeUndefined()
    const volume = (await world.compose()).match(/name: (box-oak-postgres-r[0-9a-f]{8}-1) /)?.[1]
    expect((await world.compose()).replace(volume as string, 'box-oak-postgres')).toBe(composeText('oak'))
    expect(world.host.volumeNames()).toEqual(['box-oak-media', 'box-oak-objects', volume])
    expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
  })

  test('records the deciding probes: each new reason, and the last before the timeout', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse, components: ['chatSync'], times: 2 })
    world.inject({ kind: 'probe-fails', image: newSynapse, components: ['database'] })
    const { probes, error } = await world.run()
    const bad = probes.filter(({ verdict }) => verdict === 'failed').map(({ reason }) => reason)
    expect(new Set(bad).size).toBeGreaterThan(1)
    expect(error?.message).toContain(`in the same way for 2 min: ${bad.at(-1)}`)
    const gaveUp = probes.findIndex(({ verdict }, at) => verdict === 'ok' && at > 0)
    expect(probes.slice(0, gaveUp).at(-1)?.reason).toBe(bad.at(-1))
  })

  test('rolls back although the daemon is away', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const secrets = aContext().secrets
    const context = aContext({ secrets: async () => ((await world.fence()) === undefined ? secrets() : withoutDaemon()) })
    expect((await world.run(aPayload(), { context })).outcome).toBe('rolled_back')
  })

  test('a chat server that dies at its start rolls the update back at once', async () => {
    const world = await aWorld()
    world.inject({ kind: 'dies-at-start', image: newSynapse })
    const result = await world.run()
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      error: { code: 'PROBE_FAILED', message: expect.stringContaining('synapse exited at start') },
    })
    expect(result.probes.filter(({ verdict }) => verdict !== 'ok')).toEqual([])
  })

  test('the log lines of what failed outlive its container, without secrets', async () => {
    const world = await aWorld()
    const secrets = join(world.box.project.folder, 'secrets')
    await mkdir(secrets, { recursive: true })
    await writeFile(join(secrets, 'probe.json'), JSON.stringify({ userId: '@p:oak', accessToken: 'a1b2c3d4e5', roomId: '!r:oak' }))
    world.inject({ kind: 'dies-at-start', image: newSynapse })
    const logs = `2026-01-05T02:00:00.1Z started with a1b2c3d4e5\n2026-01-05T02:00:00.2Z GET /sync?access_token=syt_YW5uYQ_abcdefgh\n`
    const deps = await world.agent((ports) => ({
      ...ports,
      engine: { ...ports.engine, logs: async (_id, _lines, options) => (options?.timestamps ? logs : '') },
    }))
    const result = await world.run(aPayload(), { deps })
    expect(result.outcome).toBe('rolled_back')
    expect(result.logs).toEqual([
      { at: '2026-01-05T02:00:00.1Z', service: 'synapse', text: 'started with [secret]' },
      { at: '2026-01-05T02:00:00.2Z', service: 'synapse', text: 'GET /sync?access_token=[secret]' },
    ])
  })

  test('a second update after a rollback gets a database volume of its own', async () => {
    const world = await aWorld()
    const heal = world.inject({ kind: 'probe-fails', image: newSynapse })
    await world.run()
    heal()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const result = await world.run(aPayload(), { context: aContext({ commandId: 'ro_1.box_oak.2.update' }) })
    expect(result.outcome).toBe('rolled_back')
    expect(world.host.volumeNames()).toHaveLength(3)
    expect(world.host.traffic.content(world.box).messages).toBe(3)
  })

  test('a restore step that fails twice is tried again in a volume of its own', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    world.inject({ kind: 'load-fails', times: 2 })
    expect((await world.run()).outcome).toBe('rolled_back')
    expect(await world.compose()).toMatch(/box-oak-postgres-r[0-9a-f]{8}-3 /)
    expect(world.host.volumeNames()).toHaveLength(3)
  })

  test('a try of a restore begins without what earlier ones left: a disk that they filled is free again', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    world.inject({ kind: 'disk-full', at: 'load', times: 2 })
    const seen: string[][] = []
    const deps = await world.agent((ports) =>
      wrapped(withoutColdCopy(ports), async (name, act) => {
        if (name === 'loadDatabase') seen.push(world.host.volumeNames().filter((volume) => volume.includes('postgres-r')))
        return act()
      }),
    )
    expect((await world.run(aPayload(), { deps })).outcome).toBe('rolled_back')
    expect(seen).toEqual([1, 2, 3].map((number) => [expect.stringMatching(new RegExp(`-${number}$`))]))
  })

  test('a permanently failed restore stays fenced and stopped, with both volumes and the dump', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    world.inject({ kind: 'load-fails' })
    const result = await world.run()
    expect(result).toMatchObject({ outcome: 'rollback_failed', rolledBack: false, error: { code: 'RESTORE_FAILED' } })
    expect(result.error?.message).toMatch(/it started because: oak failed its probes in the same way for 2 min/)
    expect(await world.fence()).toContain('ro_1.box_oak.1.update')
    expect(world.host.running(world.box.project.name)).toEqual(['edge'])
    expect(world.host.volumeNames()).toContain('box-oak-postgres')
    expect(world.host.pinnedImages()).toContain(images.synapse)
  })

  test('the images that such a box may need outlive another try of an update', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    world.inject({ kind: 'load-fails' })
    await world.run()
    const pinned = world.host.pinnedImages()
    const again = await world.run(aPayload(), { context: aContext({ commandId: 'ro_1.box_oak.2.update' }) })
    expect(again).toMatchObject({ outcome: 'failed' })
    expect(world.host.pinnedImages()).toEqual(pinned)
  })

  test('a restored box that does not prove healthy is not opened', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails' })
    expect((await world.run()).outcome).toBe('rollback_failed')
    expect(await world.fence()).toBeDefined()
    expect(world.host.running(world.box.project.name)).toEqual(['edge'])
  })

  test('nothing restores once somebody took the fence off', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const recreate: typeof updateSteps.recreate = async (run) => {
      const data = await updateSteps.recreate(run)
      await rm(fenceFile(world.box.project))
      return data
    }
    const result = await world.run(aPayload(), { steps: { ...updateSteps, recreate } })
    expect(result).toMatchObject({ outcome: 'rollback_failed', error: { message: expect.stringContaining('fence was lifted by hand') } })
    expect(world.counts.loadDatabase).toBeUndefined()
    expect(await world.fence()).toBeDefined()
  })

  test('a damaged local dump is replaced by the one in the snapshot', async () => {
    const world = await aWorld()
    world.inject({ kind: 'probe-fails', image: newSynapse })
    const stop: typeof updateSteps.stop = async (run) => {
      await updateSteps['restore-stop'](run)
      await writeFile(`${run.dumpFolder}/database.dump`, 'torn')
    }
    const deps = await world.agent(withoutColdCopy)
    expect((await world.run(aPayload(), { deps, steps: { ...updateSteps, 'restore-stop': stop } })).outcome).toBe('rolled_back')
    expect(world.host.traffic.content(world.box).messages).toBe(3)
  })
})

describe('a box whose containers are not what its file says', () => {
  test.each([
    ['another volume of the service to update', '"media:/media"', '"media2:/media"', /synapse mounts volume box-oak-media at \/media/],
    ['a setting of it', '"media:/media" ]', '"media:/media" ], user: other', /synapse runs with other settings than compose\.yaml/],
    ['another volume of the database', 'box-oak-postgres', 'box-oak-other', /postgres mounts volume box-oak-postgres at .*box-oak-other/],
  ])('is refused before anything stops: %s', async (_, from, to, says) => {
    const world = await aWorld()
    const text = await world.compose()
    await writeFile(world.box.project.composeFile, text.replace(from, to).replace('volumes:\n', 'volumes:\n  media2:\n'))
    const result = await world.run()
    expect(result).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(says) },
    })
    expect(world.counts).not.toHaveProperty('stop')
    expect(world.host.traffic.content(world.box).messages).toBe(3)
  })
})

describe('an update whose box is opened before it is decided', () => {
  const early = (mode: 'until-proven' | 'none', change = {}) => aPayload({ fence: { mode, isForced: true }, ...change })
  const marks = async (world: Awaited<ReturnType<typeof aWorld>>) => {
    const { journal } = await world.agent()
    return (await journal.find('ro_1.box_oak.1.update'))?.entries.map(({ step, mark }) => `${step} ${mark}`) ?? []
  }

  test('lifts the fence after three quick probes, and is proven and committed open', async () => {
    const world = await aWorld()
    const result = UpdateResult.parse(await world.run(early('until-proven')))
    expect(result).toMatchObject({ outcome: 'committed', healthOk: true, error: null, snapshotTakenAt: expect.any(String) })
    expect(result.leftOpen).toBeUndefined()
    expect(result.fencedMs).toBeLessThan(result.durationMs - 100_000)
    const lines = await marks(world)
    expect(lines.indexOf('unfence intent')).toBeLessThan(lines.indexOf('probe intent'))
    expect(lines.slice(-2)).toEqual(['commit intent', 'commit done'])
  })

  test.each(['until-proven', 'none'] as const)(
    '%s: one that turns sick then stays open on the new version, and says what may be done',
    async (mode) => {
      const world = await aWorld()
      world.inject({ kind: 'probe-fails', image: newSynapse, onceOpen: true })
      const result = UpdateResult.parse(await world.run(early(mode)))
      expect(result).toMatchObject({
        outcome: 'failed',
        leftOpen: true,
        snapshotOk: true,
        updateOk: true,
        healthOk: false,
        rolledBack: false,
      })
      expect(result.error).toMatchObject({ code: 'PROBE_FAILED', message: expect.stringMatching(/open to its users on the new version/) })
      expect(await world.image('synapse')).toBe(newSynapse)
      expect(await world.fence()).toBeUndefined()
      expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
      expect((await marks(world)).some((line) => line.startsWith('restore'))).toBe(false)
      // A rollback needs them.
      expect(world.host.pinnedImages()).toContain(images.synapse)
      expect(world.counts.loadDatabase).toBeUndefined()
    },
  )

  test('without a fence the chat server is stopped while the snapshot is taken, and nothing is fenced', async () => {
    const world = await aWorld()
    const seen: unknown[] = []
    const deps = await world.agent((ports) =>
      wrapped(ports, async (name, act) => {
        expect(await world.fence()).toBeUndefined()
        if (name === 'dumpDatabase') seen.push(world.host.running(world.box.project.name), world.host.traffic.sendMessage(world.box))
        return act()
      }),
    )
    // Time passes freely while files are written, and every call writes some here.
    const probe = { ...aPayload().probe, timeoutMs: 86_400_000 }
    expect(await world.run(early('none', { probe }), { deps })).toMatchObject({ outcome: 'committed', fencedMs: 0 })
    expect(seen).toEqual([['edge', 'postgres'], 'unreachable'])
    expect(await world.image('synapse')).toBe(newSynapse)
  })

  test('without a fence, a failure before the chat server was started on the new version is rolled back completely', async () => {
    const world = await aWorld()
    world.inject({ kind: 'dies-at-start', image: newPostgres })
    const services = { postgres: { image: newPostgres, digest: digestOf(newPostgres) } }
    const result = await world.run(early('none', { targets: { services, migrationsHead: '0000' } }))
    expect(result).toMatchObject({ outcome: 'rolled_back' })
    expect(world.host.traffic.content(world.box).messages).toBe(3)
    expect(await world.fence()).toBeUndefined()
  })

  test('without a fence, a snapshot that fails leaves the box serving as before', async () => {
    const world = await aWorld()
    world.inject({ kind: 'snapshot-fails' })
    expect(await world.run(early('none'))).toMatchObject({ outcome: 'failed', error: { code: 'SNAPSHOT_FAILED' } })
    expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
    expect(await world.image('synapse')).toBe(images.synapse)
  })

  test('a box that could not be rolled back stays fenced, whatever its mode', async () => {
    const world = await aWorld()
    world.inject({ kind: 'dies-at-start', image: newPostgres })
    world.inject({ kind: 'load-fails' })
    const services = { postgres: { image: newPostgres, digest: digestOf(newPostgres) } }
    const result = await world.run(early('none', { targets: { services, migrationsHead: '0000' } }))
    expect(result).toMatchObject({ outcome: 'rollback_failed' })
    expect(await world.fence()).toContain('ro_1.box_oak.1.update')
    expect(world.host.running(world.box.project.name)).toEqual(['edge'])
  })
})

describe('a failure before anything was touched', () => {
  const asBefore = async (world: Awaited<ReturnType<typeof aWorld>>) => {
    expect(await world.compose()).toBe(composeText('oak'))
    expect(await world.fence()).toBeUndefined()
    expect(world.host.running(world.box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
    expect(world.host.pinnedImages()).toEqual([])
    expect(world.counts.up ?? 0).toBe(0)
    expect(world.host.traffic.sendMessage(world.box)).toBe('stored')
  }

  const faults = [
    ['a missing tag', { kind: 'tag-missing', image: newSynapse }, 'PULL_FAILED'],
    ['a registry that stays away', { kind: 'registry-down' }, 'REGISTRY_UNAVAILABLE'],
    ['a full disk at the pull', { kind: 'disk-full', at: 'pull' }, 'DISK_FULL'],
    ['an unreachable snapshot store', { kind: 'store-down' }, 'SNAPSHOT_STORE_UNAVAILABLE'],
    ['a dump that fails', { kind: 'dump-fails' }, 'SNAPSHOT_FAILED'],
    ['a full disk at the dump', { kind: 'disk-full', at: 'dump' }, 'DISK_FULL'],
    ['a snapshot that fails', { kind: 'snapshot-fails' }, 'SNAPSHOT_FAILED'],
    ['a lost stop', { kind: 'stop-fails' }, 'DOCKER_UNAVAILABLE'],
  ] as const
  test.each(faults)('%s ends it as failed, and the box serves as before', async (_, fault, code) => {
    const world = await aWorld()
    world.inject(fault)
    const result = await world.run()
    expect(result).toMatchObject({
      outcome: 'failed',
      snapshotOk: false,
      error: { code, message: expect.stringContaining('no data was touched') },
    })
    await asBefore(world)
  })

  test.each([
    ['a wrong backup key', 'BACKUP_KEY_INVALID'],
    ['a restic that is too old', 'RESTIC_UNUSABLE'],
    ['a disk that is full under the snapshot', 'DISK_FULL'],
  ] as const)('%s ends it as failed, and the box serves as before', async (_, code) => {
    const world = await aWorld()
    const deps = await world.agent((ports) =>
      wrapped(ports, async (name, act) => {
        if (name === 'take') throw problem(code, 'no snapshot can be taken')
        return act()
      }),
    )
    const result = await world.run(aPayload(), { deps })
    expect(result).toMatchObject({ outcome: 'failed', snapshotOk: false, error: { code } })
    await asBefore(world)
  })

  test('a registry that comes back in time is tried again, a missing tag is not', async () => {
    const world = await aWorld()
    world.inject({ kind: 'registry-down', times: 2 })
    expect((await world.run()).outcome).toBe('committed')
    expect(world.counts.pull).toBe(3)
    const other = await aWorld()
    other.inject({ kind: 'tag-missing', image: newSynapse })
    await other.run()
    expect(other.counts.pull).toBe(1)
  })

  test('a digest other than the planned one is not run', async () => {
    const world = await aWorld()
    const services = { synapse: { image: newSynapse, digest: `sha256:${'0'.repeat(64)}` } }
    expect((await world.run(aPayload({ targets: { services, migrationsHead: '0000' } }))).outcome).toBe('failed')
    await asBefore(world)
  })

  test('a tag that only moved is refused, because a rollback would be impossible', async () => {
    const world = await aWorld()
    const services = { synapse: { image: images.synapse, digest: digestOf(newSynapse) } }
    const result = await world.run(aPayload({ targets: { services, migrationsHead: '0000' } }))
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'DIGEST_MISMATCH' } })
  })

  test('without the snapshot password nothing is fenced', async () => {
    const world = await aWorld()
    const result = await world.run(aPayload(), { context: aContext({ secrets: withoutDaemon }) })
    expect(result).toMatchObject({ outcome: 'failed', fencedMs: 0, error: { code: 'UNREACHABLE' } })
    await asBefore(world)
  })

  test('too little room is found before the fence', async () => {
    const world = await aWorld({ change: () => ({ disk: aDisk({ freeBytes: async () => 1_000 }) }) })
    expect(await world.run()).toMatchObject({ outcome: 'failed', fencedMs: 0, error: { code: 'DISK_FULL' } })
  })

  test('space is needed for a dump in the work folder and a second database on the disk of the volumes, or for both on one disk', async () => {
    const usedBytes = 1e6
    const updated = async (freeBytes: number, diskOf: (path: string) => Promise<string>) => {
      const disk = aDisk({ usedBytes: async () => usedBytes, freeBytes: async () => reserveBytes + freeBytes, diskOf })
      return (await (await aWorld({ change: () => ({ disk }) })).run()).error?.code ?? 'none'
    }
    const each = async (path: string) => path
    const one = async () => 'one'
    expect(await updated(usedBytes, each)).toBe('none')
    expect(await updated(usedBytes - 1, each)).toBe('DISK_FULL')
    expect(await updated(2 * usedBytes, one)).toBe('none')
    expect(await updated(2 * usedBytes - 1, one)).toBe('DISK_FULL')
  })

  test('a compose file changed by hand under a service outside the plan is refused', async () => {
    const world = await aWorld()
    await writeFile(
      world.box.project.composeFile,
      composeText('oak').replace('"objects:/data" ] }', '"objects:/data" ], command: [ server ] }'),
    )
    const result = await world.run()
    expect(result).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'PREFLIGHT_REFUSED', message: expect.stringContaining('minio') },
    })
  })

  test('a compose file that was saved as Latin-1 is refused, and its letters stay', async () => {
    const world = await aWorld()
    const { composeFile } = world.box.project
    const bytes = Buffer.from(`# Türen\n${await readFile(composeFile, 'utf8')}`, 'latin1')
    await writeFile(composeFile, bytes)
    const result = await world.run()
    expect(result).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'COMPOSE_INVALID', message: expect.stringMatching(/line 1 is not UTF-8; .* fix: save it/) },
    })
    expect(await readFile(composeFile)).toEqual(bytes)
  })

  test('a box that does not run in full is not updated', async () => {
    const world = await aWorld()
    await world.host.engine.stop(world.box.project, ['minio'])
    expect(await world.run()).toMatchObject({ outcome: 'failed', error: { code: 'BOX_UNHEALTHY' } })
  })

  test('an image that the host does not allow is not pulled', async () => {
    const world = await aWorld({ change: () => ({ allowedImages: ['registry.test/other/*'] }) })
    expect(await world.run()).toMatchObject({ outcome: 'failed', error: { code: 'IMAGE_NOT_ALLOWED' } })
    expect(world.counts.pull).toBeUndefined()
  })

  test('a fence of somebody else stays', async () => {
    const world = await aWorld()
    await writeFile(fenceFile(world.box.project), 'an operator')
    expect(await world.run()).toMatchObject({ outcome: 'failed', error: { code: 'BOX_HELD' } })
    expect(await world.fence()).toBe('an operator')
  })
})

describe('the deadline', () => {
  test('a snapshot that outlasts it is ended, and the box is started again', async () => {
    const world = await aWorld({ profile: { ...instant, latencies: { ...instant.latencies, dumpMs: [9e9, 9e9] } } })
    const result = await world.run(aPayload({ deadlineMs: 86_400_000 }))
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'COMMAND_EXPIRED' } })
    expect(await world.fence()).toBeUndefined()
  })

  test('probing that exceeds it rolls back', async () => {
    const world = await aWorld()
    const result = await world.run(
      aPayload({ deadlineMs: 2 * 86_400_000, probe: { consecutive: 20, spacingMs: 2 * 86_400_000, timeoutMs: 1e10 } }),
    )
    expect(result).toMatchObject({ outcome: 'rolled_back', error: { code: 'COMMAND_EXPIRED' } })
  })
})

describe('a refusal', () => {
  test('an older owner is refused', async () => {
    const world = await aWorld({ box: { ownershipEpoch: 3 } })
    await expect(world.run(aPayload({ ownershipEpoch: 2 }))).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  test('a box that is only observed is never updated', async () => {
    const world = await aWorld({ box: { managed: false } })
    await expect(world.run()).rejects.toMatchObject({ code: 'BOX_NOT_MANAGED' })
  })

  test('two commands never touch one box', async () => {
    const world = await aWorld()
    const deps = await world.agent()
    const first = world.run(aPayload(), { deps })
    await expect(world.run(aPayload(), { deps, context: aContext({ commandId: 'other' }) })).rejects.toMatchObject({ code: 'BOX_HELD' })
    expect((await first).outcome).toBe('committed')
  })
})
