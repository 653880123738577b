import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { simulatedImage } from '../../../src/agent/simulated/index.ts'
import { sweepDumpServers, updateSteps } from '../../../src/agent/update/index.ts'
import { problem } from '../../../src/core/kit/index.ts'
import { composeText, images } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'
import { aContext, aPayload, aWorld, newPostgres, newSynapse, type Ports, withoutColdCopy } from './an-update.ts'

type World = Awaited<ReturnType<typeof aWorld>>
type Deps = Awaited<ReturnType<World['agent']>>

const hot = { mode: 'until-proven', formerSchema: 94, snapshot: 'hot' } as const
const order = (change = {}) => aPayload({ fence: hot, ...change })

/** Notes what the agent does to the box, and what users may do meanwhile. */
function watched(world: World) {
  const seen: string[] = []
  const state = async () => ((await world.fence()) === undefined ? 'open' : 'closed')
  const around = (ports: Ports): Ports => ({
    ...ports,
    engine: {
      ...ports.engine,
      up: async (project, services, signal) => {
        seen.push(`up ${project.name.startsWith('dump-') ? 'dump server' : services.join()} (${await state()})`)
        return ports.engine.up(project, services, signal)
      },
      create: async (project, services, signal) => {
        seen.push(`create ${services.join()} (${await state()})`)
        return ports.engine.create(project, services, signal)
      },
    },
    servers: {
      ...ports.servers,
      dumpDatabase: async (box, ...rest) => {
        seen.push(`dump ${box.project.name.startsWith('dump-') ? 'the copy' : 'the box'} (${await state()})`)
        return ports.servers.dumpDatabase(box, ...rest)
      },
    },
    snapshots: {
      ...ports.snapshots,
      take: async (repository, request, signal) => {
        if (!request.warm) seen.push(`store (${await state()})`)
        return ports.snapshots.take(repository, request, signal)
      },
    },
  })
  return { seen, around }
}

async function expectNothingLeft(world: World) {
  expect(await world.host.engine.projects('dump-')).toEqual([])
  expect(world.host.volumeNames()).toHaveLength(3)
  expect(await world.fence()).toBeUndefined()
}

test('the box is open before its database is dumped, from a copy of it, and commits once the snapshot is stored', async () => {
  const world = await aWorld()
  const { seen, around } = watched(world)
  const result = await world.run(order(), { deps: await world.agent(around) })
  expect(result).toMatchObject({ outcome: 'committed', snapshotOk: true, downtime: { mode: 'until-proven', snapshot: 'hot' } })
  expect(seen).toEqual(['create synapse (closed)', 'up dump server (open)', 'dump the copy (open)', 'store (open)'])
  await expectNothingLeft(world)
})

test('the snapshot has the former database and the former files, not what was written since', async () => {
  const world = await aWorld()
  const paths: string[] = []
  let compose = ''
  const deps = await world.agent((ports) => ({
    ...ports,
    snapshots: {
      ...ports.snapshots,
      take: async (repository, request, signal) => {
        if (!request.warm) {
          await request.sample
          world.host.traffic.sendMessage(world.box)
          paths.push(...request.paths)
          compose = await readFile(join(request.paths[1] as string, 'compose.yaml'), 'utf8')
          const dump = await readFile(join(request.paths[0] as string, 'manifest.json'), 'utf8')
          expect(JSON.parse(dump)).toMatchObject({ images: { synapse: { image: images.synapse } }, paths: { boxFolder: request.paths[1] } })
        }
        return ports.snapshots.take(repository, request, signal)
      },
    },
  }))
  const begun = world.host.clock.now().toISOString()
  const { outcome, snapshotTakenAt } = await world.run(order(), { deps })
  expect(outcome).toBe('committed')
  expect(compose).toBe(composeText('oak'))
  expect(await world.compose()).toBe(composeText('oak', { synapse: newSynapse }))
  expect((snapshotTakenAt as string) >= begun).toBe(true)
  expect(world.host.traffic.content(world.box).messages).toBe(4)
})

test('a restore from the copy is tried again with the same copy: there is no dump yet', async () => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse })
  let failures = 2
  const deps = await world.agent((ports) => ({
    ...ports,
    servers: {
      ...ports.servers,
      finishDatabaseLoad: async (...of) => {
        if (failures-- > 0) throw problem('RESTORE_FAILED', 'the database stopped')
        return ports.servers.finishDatabaseLoad(...of)
      },
    },
  }))
  expect(await world.run(order(), { deps })).toMatchObject({ outcome: 'rolled_back', restored: { from: 'cold-copy' } })
  expect(world.host.traffic.content(world.box)).toMatchObject({ messages: 3 })
  await expectNothingLeft(world)
})

describe('the snapshot is taken before the new version starts', () => {
  const before = ['dump the box (closed)', 'store (closed)', 'create synapse (closed)']
  const rows: [why: string, reason: RegExp, prepare: (world: World) => Promise<{ deps: Deps }>][] = [
    ['where the copy fails', /the engine makes no volume/, async (world) => ({ deps: await world.agent(withoutColdCopy) })],
    [
      'where PostgreSQL was killed instead of stopped',
      /did not shut down cleanly \(exit code 137\)/,
      async (world) => ({
        deps: await world.agent((ports) => ({
          ...ports,
          engine: {
            ...ports.engine,
            containers: async (project) =>
              (await ports.engine.containers(project)).map((one) =>
                one.service === 'postgres' && one.state === 'exited' ? { ...one, exitCode: 137 } : one,
              ),
          },
        })),
      }),
    ],
    [
      'where PostgreSQL writes to a second place',
      /PostgreSQL also writes to .*archive/,
      async (world) => {
        await world.edit((text) =>
          text.replace(
            'volumes: [ "postgres:/var/lib/postgresql/data" ]',
            'volumes: [ "postgres:/var/lib/postgresql/data", "./archive:/archive" ]',
          ),
        )
        await world.host.engine.up(world.box.project, ['postgres'])
        await world.host.clock.advance(60_000)
        return { deps: await world.agent() }
      },
    ],
    [
      'where compose refuses the second PostgreSQL',
      /a second PostgreSQL cannot be started: no such service/,
      async (world) => ({
        deps: await world.agent((ports) => ({
          ...ports,
          engine: {
            ...ports.engine,
            resolveCompose: async (project, text) => {
              if (project.name.startsWith('dump-')) throw problem('COMPOSE_INVALID', 'no such service')
              return ports.engine.resolveCompose(project, text)
            },
          },
        })),
      }),
    ],
    [
      'where the folder of the box is large',
      /more than 64 MiB/,
      async (world) => ({
        deps: { ...(await world.agent()), disk: aDisk({ usedBytes: async (folder) => (folder === world.box.project.folder ? 1e9 : 1e6) }) },
      }),
    ],
  ]
  test.each(rows)('%s', async (_, reason, prepare) => {
    const world = await aWorld()
    const { seen, around } = watched(world)
    const { deps } = await prepare(world)
    const result = await world.run(order(), { deps: { ...deps, ...around(deps) } })
    expect(result).toMatchObject({ outcome: 'committed', downtime: { snapshot: 'before', snapshotReason: expect.stringMatching(reason) } })
    const others = seen.filter((what) => !what.includes('postgres'))
    // The store begins together with the dump, and waits for its end.
    expect([others.slice(0, 2).toSorted(), others.slice(2)]).toEqual([before.slice(0, 2), before.slice(2)])
  })
})

describe('a store that does not answer once the box is open', () => {
  const failing = (times: number) => {
    let left = times
    return (ports: Ports): Ports => ({
      ...ports,
      snapshots: {
        ...ports.snapshots,
        take: async (repository, request, signal) => {
          if (!request.warm && left-- > 0) throw problem('SNAPSHOT_STORE_UNAVAILABLE', 'the store does not answer')
          return ports.snapshots.take(repository, request, signal)
        },
      },
    })
  }

  test('is waited for', async () => {
    const world = await aWorld()
    const waited: string[] = []
    const context = aContext({ progress: ({ step, detail }) => void (step === 'waiting' && waited.push(detail ?? '')) })
    expect((await world.run(order(), { deps: await world.agent(failing(1)), context })).outcome).toBe('committed')
    expect(waited).toHaveLength(1)
    expect(waited[0]).toMatch(/the snapshot cannot be stored: .*the store does not answer/)
    await expectNothingLeft(world)
  })

  test('for ten minutes, then the box is rolled back by its images and keeps all data', async () => {
    const world = await aWorld()
    const sends = (ports: Ports): Ports => ({
      ...ports,
      servers: {
        ...ports.servers,
        dumpDatabase: async (...of) => {
          world.host.traffic.sendMessage(world.box)
          return ports.servers.dumpDatabase(...of)
        },
      },
    })
    const result = await world.run(order(), { deps: await world.agent((ports) => sends(failing(1e6)(ports))) })
    expect(result).toMatchObject({ outcome: 'rolled_back', rolledBackBy: 'images', snapshotOk: false, snapshotId: null })
    expect(world.host.traffic.content(world.box).messages).toBe(4)
    expect(await world.image('synapse')).toBe(images.synapse)
    await expectNothingLeft(world)
  })

  test('and where no such rollback is proven, the box stays open and its host keeps the copy', async () => {
    const world = await aWorld()
    const fence = { mode: 'until-proven', isForced: true, snapshot: 'hot' } as const
    const result = await world.run(order({ fence }), { deps: await world.agent(failing(1e6)) })
    expect(result).toMatchObject({ outcome: 'failed', leftOpen: true, snapshotId: null })
    const copy = world.host.volumeNames().find((name) => name.endsWith('-1'))
    expect(result.error?.message).toContain(`no snapshot was stored, but the volume ${copy} of its host is a copy of the former database`)
    expect(await world.host.engine.projects('dump-')).toEqual([])
  })
})

test('a box that fails while its snapshot is stored is rolled back then, not when the store is done', async () => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse, onceOpen: true })
  const hanging = (ports: Ports): Ports => ({
    ...ports,
    snapshots: {
      ...ports.snapshots,
      take: async (repository, request, signal) => {
        if (request.warm) return ports.snapshots.take(repository, request, signal)
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      },
    },
  })
  const result = await world.run(order(), { deps: await world.agent(hanging) })
  expect(result).toMatchObject({ outcome: 'rolled_back', rolledBackBy: 'images', snapshotId: null, error: { code: 'PROBE_FAILED' } })
  await expectNothingLeft(world)
})

test('a box that fails after its slow probes, while its snapshot is still stored, is rolled back then', async () => {
  const world = await aWorld()
  let probes = 0
  const slow = (ports: Ports): Ports => ({
    ...ports,
    servers: {
      ...ports.servers,
      probe: async (...of) => {
        // Three quick and three slow ones are good.
        if (++probes === 10) world.inject({ kind: 'probe-fails', image: newSynapse, onceOpen: true })
        return ports.servers.probe(...of)
      },
    },
    snapshots: {
      ...ports.snapshots,
      take: async (repository, request, signal) => {
        if (request.warm) return ports.snapshots.take(repository, request, signal)
        const begun = world.host.clock.monotonicMs()
        while (world.host.clock.monotonicMs() - begun < 3_600_000 && !signal?.aborted) await world.host.clock.sleep(10_000, signal)
        signal?.throwIfAborted()
        return ports.snapshots.take(repository, request, signal)
      },
    },
  })
  const result = await world.run(order(), { deps: await world.agent(slow) })
  expect(result).toMatchObject({ outcome: 'rolled_back', rolledBackBy: 'images', snapshotId: null, error: { code: 'PROBE_FAILED' } })
})

test('one failure of the engine while the copy is dumped does not fail the update', async () => {
  const world = await aWorld()
  let failures = 1
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: {
      ...ports.engine,
      up: async (project, ...rest) => {
        if (project.name.startsWith('dump-') && failures-- > 0) throw problem('DOCKER_UNAVAILABLE', 'the engine does not answer')
        return ports.engine.up(project, ...rest)
      },
    },
  }))
  expect((await world.run(order(), { deps })).outcome).toBe('committed')
  await expectNothingLeft(world)
})

test('a snapshot from before the box served again does not count: another has what was written since', async () => {
  const world = await aWorld()
  const { engine, traffic, clock } = world.host
  const { project } = world.box
  world.inject({ kind: 'dies-at-start', image: newPostgres })
  let killed = true
  const deps = await world.agent((ports) => ({
    ...ports,
    engine: {
      ...ports.engine,
      containers: async (of) =>
        (await ports.engine.containers(of)).map((one) =>
          killed && one.service === 'postgres' && one.state === 'exited' ? { ...one, exitCode: 137 } : one,
        ),
    },
  }))
  const snapshot: typeof updateSteps.snapshot = async (run) => {
    const taken = await updateSteps.snapshot(run)
    if (!killed) return taken
    killed = false
    await engine.start(project, ['postgres', 'minio', 'synapse'])
    await clock.advance(300_000)
    expect(traffic.sendMessage(world.box)).toBe('stored')
    return taken
  }
  const services = Object.fromEntries(
    Object.entries({ synapse: newSynapse, postgres: newPostgres }).map(([name, image]) => [
      name,
      { image, digest: simulatedImage(image).digest },
    ]),
  )
  const fence = { mode: 'none', formerSchema: 94, snapshot: 'hot' } as const
  const targets = { services, migrationsHead: '0000' }
  const result = await world.run(order({ fence, targets }), { deps, steps: { ...updateSteps, snapshot } })
  expect(result).toMatchObject({ outcome: 'rolled_back', restored: { from: 'cold-copy' }, snapshotId: expect.any(String) })
  expect(traffic.content(world.box).messages).toBe(4)
})

test('the server of a lost command is removed when the agent starts, that of an open one is not', async () => {
  const world = await aWorld()
  const { engine, journal, workFolder } = await world.agent()
  const leaving = new AbortController()
  let dumping = (): void => undefined
  const isDumping = new Promise<void>((resolve) => {
    dumping = resolve
  })
  const deps = await world.agent((ports) => ({
    ...ports,
    servers: {
      ...ports.servers,
      dumpDatabase: () =>
        new Promise<never>(() => {
          leaving.abort(new Error('killed'))
          dumping()
        }),
    },
    engine: { ...ports.engine, removeProject: () => Promise.reject(new Error('killed')) },
  }))
  world.run(order(), { deps, context: aContext({ signal: leaving.signal }) }).catch(() => undefined)
  await isDumping
  expect(await engine.projects('dump-')).toHaveLength(1)
  expect(await sweepDumpServers({ engine, journal: await reopened(world), workFolder })).toEqual([])
  expect(await sweepDumpServers({ engine, journal: { ...journal, open: async () => [] }, workFolder })).toHaveLength(1)
  expect(await engine.projects('dump-')).toEqual([])
})

const reopened = async (world: World) => (await world.agent()).journal

test.each([
  ['the former version takes the database as it is', 94, { outcome: 'rolled_back', rolledBackBy: 'images' }, 3],
  ['else the rollback fails and keeps both', undefined, { outcome: 'rollback_failed' }, 4],
])('a copy from before a restart of the host does not count until it is synced: %s', async (_, formerSchema, ends, volumes) => {
  const world = await aWorld()
  world.inject({ kind: 'probe-fails', image: newSynapse })
  const rebooted: typeof updateSteps.rewrite = async (run) => {
    const mark = join(`${run.dumpFolder}.copied`, 'mark.json')
    await writeFile(mark, (await readFile(mark, 'utf8')).replace(/"bootId":"[^"]+"/, '"bootId":"another"'))
    return updateSteps.rewrite(run)
  }
  const fence = { mode: 'until-proven', snapshot: 'hot', ...(formerSchema === undefined ? {} : { formerSchema }) } as const
  expect(await world.run(order({ fence }), { steps: { ...updateSteps, rewrite: rebooted } })).toMatchObject(ends)
  expect(world.host.volumeNames()).toHaveLength(volumes)
})

test('until stable the snapshot is stored while the slow probes run, and the box is opened after both', async () => {
  const world = await aWorld()
  const { seen, around } = watched(world)
  const fence = { mode: 'until-stable', snapshot: 'hot' } as const
  const steps: string[] = []
  const probe: typeof updateSteps.probe = async (run) => {
    steps.push('probe')
    return updateSteps.probe(run)
  }
  const result = await world.run(order({ fence }), { deps: await world.agent(around), steps: { ...updateSteps, probe } })
  expect(result).toMatchObject({ outcome: 'committed', downtime: { mode: 'until-stable', snapshot: 'hot' } })
  expect(result.probes).toHaveLength(3)
  // The slow probes are not repeated.
  expect(steps).toEqual([])
  expect(seen[0]).toBe('create synapse (closed)')
  expect(seen.slice(1).toSorted()).toEqual(['dump the copy (closed)', 'store (closed)', 'up dump server (closed)'])
})
