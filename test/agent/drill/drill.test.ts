import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { drill, drillProjects, sweepDrills } from '../../../src/agent/drill/index.ts'
import type { MediaSample } from '../../../src/agent/ports/index.ts'
import type { SnapshotTaken } from '../../../src/core/boxes/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { aContext, address, around, type Deps, type MovingHost, running, twoHosts } from '../move/a-move.ts'
import { snapshotOfBox } from '../move/a-snapshot.ts'
import { killedOnce } from '../move/killed-once.ts'
import { moving } from '../simulated/boxes.ts'
import { mortal, storeWhileAlive } from '../update/mortal.ts'

const commandId = 'drill-1'

async function drilled() {
  const two = await twoHosts()
  const { old, box, clock } = two
  const snapshot = await snapshotOfBox(old, box, 'daily')
  const run = async (deps?: Deps, change: Partial<Parameters<ReturnType<typeof drill>>[1]> = {}, context = aContext(commandId)) => {
    const { snapshotId, snapshotSha256 } = snapshot
    const payload = { ...address, ownershipEpoch: 1, snapshotId, snapshotSha256, deadlineMs: 30 * 86_400_000, ...change }
    const agent = deps ?? (await old.agent())
    return moving(clock, () => drill(agent)(context, payload), 1_000)
  }
  return { ...two, snapshot: snapshot as SnapshotTaken, run }
}
type World = Awaited<ReturnType<typeof drilled>>

async function expectUntouched({ old, box }: Pick<World, 'old' | 'box'>) {
  expect(await old.host.engine.projects(drillProjects(`${old.folder}/state`))).toEqual([])
  expect(old.host.volumeNames()).toHaveLength(3)
  expect(old.host.pinnedImages()).toEqual([])
  expect((await readdir(`${old.folder}/state/work`).catch(() => [])).filter((name) => name.startsWith('drill'))).toEqual([])
  expect(running(old, box)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
  expect(await old.fence()).toBeUndefined()
  expect(old.host.traffic.content(box)).toMatchObject({ messages: 3, media: 1, objects: 1 })
}

test('a good snapshot is proven by what it holds, and nothing is left of it', async () => {
  const world = await drilled()
  const result = await world.run()
  expect(result).toMatchObject({
    ok: true,
    error: null,
    snapshotId: world.snapshot.snapshotId,
    tables: 3,
    rows: 5,
    media: { files: 1, sampled: 1, hashed: 1 },
    probe: { verdict: 'ok' },
  })
  expect(result.restoreMs).toBeGreaterThanOrEqual(0)
  expect(result.durationMs).toBeGreaterThanOrEqual(result.restoreMs ?? 0)
  await expectUntouched(world)
  expect(await world.run()).toEqual(result)
})

test.each([
  ['another sum', { snapshotSha256: 'f'.repeat(64) }, 'RESTORE_FAILED'],
  ['an id that the repository does not have', { snapshotId: 'abcdef12', snapshotSha256: null }, 'RESTORE_FAILED'],
] as const)('a snapshot with %s is a result, not an exception', async (_, change, code) => {
  const world = await drilled()
  expect(await world.run(undefined, change)).toMatchObject({ ok: false, restoreMs: null, error: { code } })
  await expectUntouched(world)
})

test.each([
  [{ kind: 'load-fails', times: 1 }, 'RESTORE_FAILED'],
  [{ kind: 'disk-full', at: 'load', times: 1 }, 'DISK_FULL'],
  [{ kind: 'store-down', times: 1 }, 'SNAPSHOT_STORE_UNAVAILABLE'],
  [{ kind: 'dies-at-start', image: 'synapse', times: 1 }, 'BOX_UNHEALTHY'],
] as const)('a failure is reported: %j', async (fault, code) => {
  const world = await drilled()
  world.old.host.inject(fault)
  const result = await world.run()
  expect(result).toMatchObject({ ok: false, error: { code } })
  await expectUntouched(world)
})

test('counts that differ from the manifest fail a drill', async () => {
  const world = await drilled()
  const deps = await world.old.agent()
  const wrong: Deps['servers']['loadDatabase'] = (box, { folder, expected: { events = 0, ...rows } }, signal) =>
    deps.servers.loadDatabase(box, { folder, expected: { ...rows, events: events + 1 } }, signal)
  const result = await world.run({ ...deps, servers: { ...deps.servers, loadDatabase: wrong } })
  expect(result).toMatchObject({
    ok: false,
    error: { code: 'RESTORE_FAILED', message: expect.stringMatching(/events has 3 rows instead of 4/) },
  })
  await expectUntouched(world)
})

test('a fetched dump that the disk damages is fetched again, and a second damage fails the drill', async () => {
  for (const times of [1, 2]) {
    const world = await drilled()
    const deps = await world.old.agent()
    let left = times
    const damaged: Deps['servers']['loadDatabase'] = async (box, dump, signal) => {
      if (left-- > 0) await writeFile(`${dump.folder}/database.dump`, 'torn')
      return deps.servers.loadDatabase(box, dump, signal)
    }
    const result = await world.run({ ...deps, servers: { ...deps.servers, loadDatabase: damaged } })
    const message = expect.stringContaining('fetched twice')
    expect(result).toMatchObject(times === 1 ? { ok: true, error: null } : { ok: false, error: { code: 'RESTORE_FAILED', message } })
    await expectUntouched(world)
  }
})

/** The folder of the media of a copy, once it is filled. */
async function mediaOfCopy({ old }: World): Promise<string> {
  const [name] = old.host.volumeNames().filter((volume) => volume.startsWith('drill-') && volume.endsWith('-media'))
  return join((await old.host.engine.volumePath(name ?? '')) ?? '', 'local_content')
}

const aMediaFile = 'me/di/a-00000001'

/** A drill during which something happens to the restored media, or to the sample of them, before it is compared. */
async function sampling(change: (restored: string, taken: MediaSample) => Promise<MediaSample | undefined>) {
  const world = await drilled()
  const deps = await world.old.agent()
  const sampleMedia: Deps['servers']['sampleMedia'] = async (...args) => {
    const taken = await deps.servers.sampleMedia(...args)
    return (await change(await mediaOfCopy(world), taken)) ?? taken
  }
  const result = await world.run({ ...deps, servers: { ...deps.servers, sampleMedia } })
  await expectUntouched(world)
  return result
}

test.each([
  ['is missing', (file: string) => rm(file), /me\/di\/a-00000001 is missing/],
  ['is shorter', (file: string) => writeFile(file, 'torn'), /has 4 bytes instead of \d+/],
  ['differs', async (file: string) => writeFile(file, 'x'.repeat((await readFile(file)).length)), /has another checksum/],
  ['is a link', (file: string) => rm(file).then(() => symlink('/etc/hostname', file)), /is not a regular file/],
] as const)('a restored media file that %s fails a drill', async (_, spoil, message) => {
  const result = await sampling(async (restored) => void (await spoil(join(restored, aMediaFile))))
  expect(result).toMatchObject({ ok: false, media: null, error: { code: 'RESTORE_FAILED', message: expect.stringMatching(message) } })
})

test('media that the snapshot counts and the sample lacks fail a drill', async () => {
  const result = await sampling(async (_, taken) => ({ ...taken, sample: [] }))
  expect(result).toMatchObject({ ok: false, error: { code: 'MEDIA_UNPROVEN', message: expect.stringMatching(/1 media file.* only 0/) } })
})

test('media without a checksum are compared by size', async () => {
  const result = await sampling(async (_, taken) => ({ ...taken, sample: taken.sample.map((one) => ({ ...one, sha256: null })) }))
  expect(result).toMatchObject({ ok: true, media: { files: 1, sampled: 1, hashed: 0 } })
})

test('rows without a file of their own are no media', async () => {
  expect(await sampling(async () => ({ withoutFile: 1, sample: [] }))).toMatchObject({
    ok: true,
    media: { files: 0, sampled: 0, hashed: 0 },
  })
})

test('a wait for the lock of the repository is progress of the drill', async () => {
  const world = await drilled()
  const deps = await world.old.agent()
  const restore: Deps['snapshots']['restore'] = async (repository, ...rest) => {
    for (const reason of ['the lock of another restic', undefined]) repository.onWaiting?.(reason)
    return deps.snapshots.restore(repository, ...rest)
  }
  const seen: unknown[] = []
  const context = aContext(commandId, { progress: (one) => void seen.push(one) })
  expect((await world.run({ ...deps, snapshots: { ...deps.snapshots, restore } }, {}, context)).ok).toBe(true)
  expect(seen).toContainEqual({ step: 'waiting', detail: 'the lock of another restic' })
  expect(seen).toContainEqual({ step: 'waiting', detail: 'over: the lock is free' })
})

test('an image that is gone everywhere fails a drill', async () => {
  const world = await drilled()
  const deps = await world.old.agent()
  const engine = { ...deps.engine, localDigest: async () => undefined }
  world.old.host.inject({ kind: 'tag-missing', image: 'synapse' })
  expect(await world.run({ ...deps, engine })).toMatchObject({ ok: false, error: { code: 'PULL_FAILED' } })
  await expectUntouched(world)
})

test('too little space is seen before anything is fetched', async () => {
  const world = await drilled()
  const deps = await world.old.agent()
  const result = await world.run({ ...deps, disk: { ...deps.disk, freeBytes: async () => 1e6 } })
  expect(result).toMatchObject({ ok: false, error: { code: 'DISK_FULL', message: expect.stringMatching(/a drill of oak needs/) } })
})

test('a drill that takes too long ends at its deadline, and is cleared away', async () => {
  const world = await drilled()
  world.old.host.inject({ kind: 'probe-fails' })
  expect(await world.run(undefined, { deadlineMs: 60_000 })).toMatchObject({ ok: false, error: { code: 'COMMAND_EXPIRED' } })
  await expectUntouched(world)
})

test('a drill is refused for a box that is not here, is another, or was handed over', async () => {
  const world = await drilled()
  await expect(world.run(undefined, { slug: 'elm' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await world.old.boxes.put({ ...world.box, ownershipEpoch: 2 })
  await expect(world.run()).rejects.toMatchObject({ code: 'LEASE_LOST' })
})

test('the box is free for other commands while it is drilled, but not for a second drill', async () => {
  const world = await drilled()
  const deps = await world.old.agent()
  const seen: string[] = []
  const servers: Deps['servers'] = {
    ...deps.servers,
    loadDatabase: async (...args) => {
      await (await deps.locks.acquire('oak')).release()
      seen.push(await world.run(deps, {}, aContext('drill-2')).then(String, (error) => error.code))
      await deps.servers.loadDatabase(...args)
    },
  }
  expect((await world.run({ ...deps, servers })).ok).toBe(true)
  expect(seen).toEqual(['BOX_HELD'])
})

test('the copy keeps quiet, and cannot be reached nor reach anybody', async () => {
  const world = await drilled()
  const deps = await world.old.agent()
  let compose = ''
  let config = ''
  const servers: Deps['servers'] = {
    ...deps.servers,
    createTemporaryAccount: async (box, secret, signal) => {
      compose = await readFile(box.project.composeFile, 'utf8')
      config = await readFile(`${box.project.folder}/synapse/homeserver.yaml`, 'utf8')
      expect(config).toContain(secret.reveal())
      return deps.servers.createTemporaryAccount(box, secret, signal)
    },
  }
  await world.run({ ...deps, servers })
  expect(compose).toMatch(/networks:\n {2}default:\n {4}internal: true/)
  expect(compose).not.toMatch(/ports:|edge:|unless-stopped|labels:/)
  expect(config).toMatch(/app_service_config_files: \[\]/)
  expect(config).toMatch(/start_pushers: false/)
  expect(config).toMatch(/federation_domain_whitelist: \[\]/)
  const original = await readFile(`${world.box.project.folder}/synapse/homeserver.yaml`, 'utf8')
  expect(original).toMatch(/appservice\.yaml/)
})

test.each(['before', 'after'] as const)(
  'killed at every change of the host, %s its effect, it comes to the same end and leaves nothing',
  async (when) => {
    for (let place = 1; ; place++) {
      const world = await drilled()
      const result = await killedOnce(world.old, { place, when }, (deps, signal) =>
        world.run(deps, {}, aContext(commandId, signal ? { signal } : {})),
      )
      if (!result) {
        expect(place).toBeGreaterThan(12)
        return
      }
      expect(result).toMatchObject({ ok: true, tables: 3, rows: 5 })
      await expectUntouched(world)
    }
  },
  120_000,
)

test('what a drill left whose command is over or unknown goes when the agent starts; an open one is left to its command', async () => {
  const world = await drilled()
  const life = mortal((_, name) => name === 'loadDatabase', 'after')
  const dying = await world.old.agent(around(life.touch), storeWhileAlive(world.old.fileStore, life))
  await world.run(dying, {}, aContext(commandId, { signal: life.signal })).catch(() => undefined)
  const left = async (host: MovingHost) => host.host.engine.projects(drillProjects(`${host.folder}/state`))
  expect(await left(world.old)).toHaveLength(1)
  expect(await sweepDrills(await world.old.agent())).toEqual([])
  const forgetful = await world.old.agent((same) => same, { ...world.old.fileStore, names: async () => [] })
  expect(await sweepDrills(forgetful)).toHaveLength(1)
  expect(await left(world.old)).toEqual([])
  expect(world.old.host.volumeNames()).toHaveLength(3)
})

test('images that a drill could not let go of are let go at the next start, though nothing else of it is left', async () => {
  const world = await drilled()
  const deps = await world.old.agent()
  const unpin = () => Promise.reject(problem('DOCKER_UNAVAILABLE', 'it does not answer'))
  expect(await world.run({ ...deps, engine: { ...deps.engine, unpin } })).toMatchObject({ ok: false })
  expect(world.old.host.pinnedImages()).toHaveLength(3)
  expect(await sweepDrills(await world.old.agent())).toEqual([])
  expect(world.old.host.pinnedImages()).toEqual([])
})

test('the drills of another agent on the same engine are left alone', async () => {
  const world = await drilled()
  const life = mortal((_, name) => name === 'loadDatabase', 'after')
  const dying = await world.old.agent(around(life.touch), storeWhileAlive(world.old.fileStore, life))
  await world.run(dying, {}, aContext(commandId, { signal: life.signal })).catch(() => undefined)
  const other = {
    ...(await world.old.agent((same) => same, { ...world.old.fileStore, names: async () => [] })),
    stateFolder: '/var/lib/other',
  }
  expect(await sweepDrills(other)).toEqual([])
})
