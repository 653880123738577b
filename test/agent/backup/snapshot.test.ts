import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { fetchSnapshot } from '../../../src/agent/backup/index.ts'
import type { CommandContext, ContainerEngine, SnapshotStore } from '../../../src/agent/ports/index.ts'
import type { Fault } from '../../../src/agent/simulated/index.ts'
import { instant } from '../../../src/agent/simulated/index.ts'
import { SnapshotTaken } from '../../../src/core/boxes/index.ts'
import { aDisk } from '../simulated/disks.ts'
import { wrapped } from '../update/an-update.ts'
import { mortal } from '../update/mortal.ts'
import { aBackedUpBox, aContext, aSnapshotPayload, commandId, repository } from './a-backup.ts'

const left = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

describe('a snapshot of a box that serves', () => {
  test('is whole, says what it is, and leaves nothing on the host', async () => {
    const { host, box, take, workFolder } = await aBackedUpBox()
    const steps: string[] = []
    const taken = await take(aSnapshotPayload(), aContext({ progress: ({ step }) => void steps.push(step) }))
    expect(SnapshotTaken.parse(taken)).toMatchObject({ tier: 'daily', installed: { synapse: '1.157.1', migrationsHead: '0000' } })
    expect(steps).toEqual(['prepare', 'dump', 'store'])
    expect(await left(workFolder)).toEqual([])
    expect(host.running(box.project.name)).toEqual(['edge', 'synapse', 'postgres', 'minio'])
    const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder: `${host.folder}/fetched` }
    const { manifest } = await fetchSnapshot(host, wanted)
    expect(manifest).toMatchObject({
      tier: 'daily',
      commandId,
      rows: { schema_version: 1, events: 1, local_media_repository: 1 },
      at: taken.takenAt,
    })
    expect(Object.keys(manifest.images).sort()).toEqual(['edge', 'minio', 'postgres', 'synapse'])
  })

  test('never fences: what is sent meanwhile is stored, and is not in it', async () => {
    const { host, box, take } = await aBackedUpBox({ ...instant, latencies: { ...instant.latencies, dumpMs: [5_000, 5_000] } })
    const sent: string[] = []
    const progress = ({ step }: { step: string }) => void (step === 'store' && sent.push(host.traffic.sendMessage(box)))
    const taken = await take(aSnapshotPayload(), aContext({ progress }))
    expect(sent).toEqual(['stored'])
    const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: null, folder: `${host.folder}/fetched` }
    expect((await fetchSnapshot(host, wanted)).manifest.rows.events).toBe(1)
    expect(host.traffic.content(box).messages).toBe(2)
  })

  test('shows why it waits for its store, and its step again once it continues', async () => {
    const { host, agent, take } = await aBackedUpBox()
    const waiting: SnapshotStore['take'] = async (repository, request, signal) => {
      for (const reason of ['the lock of another restic', undefined]) request.onWaiting?.(reason)
      return host.snapshots.take(repository, request, signal)
    }
    const steps: string[] = []
    const progress: CommandContext['progress'] = ({ step, detail }) => void steps.push(detail ? `${step}: ${detail}` : step)
    const deps = await agent({ ...host, snapshots: { ...host.snapshots, take: waiting } })
    await take(aSnapshotPayload(), aContext({ progress }), deps)
    expect(steps).toEqual(expect.arrayContaining(['waiting: the lock of another restic', 'store']))
  })

  test('is not taken twice for the same command', async () => {
    const { host, take } = await aBackedUpBox()
    const first = await take()
    expect(await take()).toEqual(first)
    expect(await host.snapshots.list(repository)).toHaveLength(1)
  })

  test('gives the repository the recovery key that came with the command', async () => {
    const { host, take } = await aBackedUpBox()
    await take(aSnapshotPayload(), aContext({}, { ...repository, env: {}, recoveryPassword: 'kept in a safe' }))
    expect(await host.snapshots.list({ ...repository, password: 'kept in a safe' })).toHaveLength(1)
  })
})

describe('a failed snapshot leaves nothing on the host and reports the same failure again', () => {
  const faults: [fault: Fault, code: string][] = [
    [{ kind: 'dump-fails' }, 'SNAPSHOT_FAILED'],
    [{ kind: 'disk-full', at: 'dump' }, 'DISK_FULL'],
    [{ kind: 'snapshot-fails' }, 'SNAPSHOT_FAILED'],
    [{ kind: 'disk-full', at: 'snapshot' }, 'DISK_FULL'],
    [{ kind: 'store-down' }, 'SNAPSHOT_STORE_UNAVAILABLE'],
  ]
  test.each(faults)('%o', async (fault, code) => {
    const { host, take, workFolder } = await aBackedUpBox()
    const heal = host.inject(fault)
    await expect(take()).rejects.toMatchObject({ code })
    expect(await left(workFolder)).toEqual([])
    heal()
    await expect(take()).rejects.toMatchObject({ code })
    expect((await take(aSnapshotPayload(), aContext({ commandId: 'sn_2.snapshot' }))).tier).toBe('daily')
    expect(await host.snapshots.list(repository)).toHaveLength(1)
  })

  test('a database that does not run', async () => {
    const { host, box, take, workFolder } = await aBackedUpBox()
    await host.engine.stop(box.project, ['postgres'])
    await expect(take()).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED', message: expect.stringContaining('oak') })
    expect(await left(workFolder)).toEqual([])
  })

  test.each(['synapse', 'minio'])('a %s whose data is in a folder of the host, which would not be in the snapshot', async (service) => {
    const { agent, take, host } = await aBackedUpBox()
    const containers: ContainerEngine['containers'] = async (project) =>
      (await host.engine.containers(project)).map((one) => (one.service === service ? { ...one, volumes: [] } : one))
    const deps = await agent({ ...host, engine: { ...host.engine, containers } })
    const message = expect.stringContaining(`${service} of oak mounts no named volume`)
    await expect(take(aSnapshotPayload(), aContext(), deps)).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED', message })
    expect(await host.snapshots.list(repository)).toEqual([])
  })

  test('a disk without room for the dump beside its reserve', async () => {
    const { agent, take, host } = await aBackedUpBox()
    const disk = aDisk({ freeBytes: async () => 200_000_000 })
    const deps = { ...(await agent()), disk }
    await expect(take(aSnapshotPayload(), aContext(), deps)).rejects.toMatchObject({ code: 'DISK_FULL' })
    expect(await host.snapshots.list(repository)).toEqual([])
  })

  test('a daemon without a snapshot store, a wrong key, an owner before the present one', async () => {
    const world = await aBackedUpBox()
    const without = aContext({ secrets: async () => ({}) })
    await expect(world.take(aSnapshotPayload(), without)).rejects.toMatchObject({ code: 'CONFIG' })
    await world.take(aSnapshotPayload({ ownershipEpoch: 2 }), aContext({ commandId: 'sn_2.snapshot' }))
    const wrong = aContext({ commandId: 'sn_3.snapshot' }, { ...repository, env: {}, password: 'another' })
    await expect(world.take(aSnapshotPayload({ ownershipEpoch: 2 }), wrong)).rejects.toMatchObject({ code: 'BACKUP_KEY_INVALID' })
    await expect(world.take(aSnapshotPayload(), aContext({ commandId: 'sn_4.snapshot' }))).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })
})

test('only a retried snapshot lists the repository for leftovers of an earlier try', async () => {
  const { host, agent, take } = await aBackedUpBox()
  const lists: unknown[] = []
  const listed = (deps: Awaited<ReturnType<typeof agent>>) => ({
    ...deps,
    snapshots: {
      ...deps.snapshots,
      list: (of: typeof repository) => {
        lists.push(of)
        return deps.snapshots.list(of)
      },
    },
  })
  await take(aSnapshotPayload(), aContext(), listed(await agent()))
  expect(lists).toEqual([])
  expect(await host.snapshots.list(repository)).toHaveLength(1)
})

describe('killed at every touch of the world, the next agent ends the snapshot', () => {
  // More touches than there are: the last lives through to the end, which shows that all places were met.
  const most = 30
  test.each(['before', 'after'] as const)('%s its effect', async (when) => {
    const places: string[] = []
    for (let at = 1; at <= most; at++) {
      const { host, box, fileStore, agent, take, workFolder } = await aBackedUpBox()
      const life = mortal((touch, name) => {
        if (touch === at) places.push(name)
        return touch === at
      }, when)
      const kept = {
        ...fileStore,
        write: async (name: string, text: string) => void (await life.touch('write', () => fileStore.write(name, text))),
      }
      const deps = await agent(wrapped(host, life.touch), kept)
      const lived = await take(aSnapshotPayload(), aContext({ signal: life.signal }), deps).catch((error: Error) => error)
      if (!(lived instanceof Error)) break
      host.traffic.sendMessage(box)
      const taken = await take()
      const listed = await host.snapshots.list(repository)
      expect([at, listed.map(({ id }) => id)]).toEqual([at, [taken.snapshotId]])
      expect([at, await left(workFolder)]).toEqual([at, []])
      const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder: `${host.folder}/fetched` }
      expect((await fetchSnapshot(host, wanted)).manifest.commandId).toBe(commandId)
    }
    expect(places.length).toBeLessThan(most)
    expect(places).toEqual(expect.arrayContaining(['write', 'prepare', 'dumpDatabase', 'take']))
  })
})
