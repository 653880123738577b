import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { fenceFile, rewriteImages, rewriteVolumes } from '../../../src/agent/boxes/index.ts'
import { type Fault, realistic, seededRandom } from '../../../src/agent/simulated/index.ts'
import { aBox, aHost, aRunningBox, composeText, images, moving } from './boxes.ts'

const newer = 'registry.test/tenantry/synapse:v1.163.2'
const older = 'registry.test/tenantry/synapse:v1.97.0'
const repository = { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true }

describe('messages', () => {
  test('what was stored is there after a stop, an image change and a start', async () => {
    const host = await aHost()
    const box = await aRunningBox(host)
    expect([host.traffic.sendMessage(box), host.traffic.sendMessage(box), host.traffic.uploadMedia(box)]).toEqual([
      'stored',
      'stored',
      'stored',
    ])
    await host.engine.stop(box.project, ['synapse'])
    expect(host.traffic.sendMessage(box)).toBe('unreachable')
    await writeFile(box.project.composeFile, rewriteImages(composeText('oak'), { synapse: newer }))
    await host.engine.pull(newer, {})
    await host.engine.up(box.project, ['synapse'])
    expect(host.traffic.content(box)).toMatchObject({ messages: 2, media: 1, objects: 1, schema: 94 })
  })

  test('the fence file turns clients away and the probe goes on', async () => {
    const host = await aHost()
    const box = await aRunningBox(host)
    await writeFile(fenceFile(box.project), '')
    expect(host.traffic.sendMessage(box)).toBe('fenced')
    expect((await host.servers.probe(box)).verdict).toBe('ok')
    await rm(fenceFile(box.project))
    expect(host.traffic.sendMessage(box)).toBe('stored')
  })

  test('a message sent after the dump is not in it, and the counts say so', async () => {
    const host = await aHost()
    const box = await aRunningBox(host)
    host.traffic.sendMessage(box)
    const dump = join(host.folder, 'dump')
    const counts = await host.servers.dumpDatabase(box, dump)
    host.traffic.sendMessage(box)
    expect(counts.events).toBe(1)
    await writeFile(box.project.composeFile, rewriteVolumes(composeText('oak'), { postgres: 'box-oak-postgres-2' }))
    await host.engine.stop(box.project, ['synapse', 'postgres'])
    await host.engine.up(box.project, ['postgres'])
    await host.servers.loadDatabase(box, { folder: dump, expected: counts })
    await host.engine.up(box.project, ['synapse'])
    expect(host.traffic.content(box).messages).toBe(1)
  })

  test('a copied volume folder is a copied volume', async () => {
    const host = await aHost()
    const box = await aRunningBox(host)
    host.traffic.sendMessage(box)
    await host.engine.createVolume(box.project, 'postgres', 'copy')
    await cp((await host.engine.volumePath('box-oak-postgres'))!, (await host.engine.volumePath('copy'))!, { recursive: true })
    await writeFile(box.project.composeFile, rewriteVolumes(composeText('oak'), { postgres: 'copy' }))
    await host.engine.up(box.project, ['postgres'])
    expect(host.traffic.content(box).messages).toBe(1)
  })
})

describe('schema', () => {
  test('an older Synapse dies on a database that is too new for it, and says so', async () => {
    const host = await aHost()
    const box = await aRunningBox(host)
    await host.engine.pull(older, {})
    await writeFile(box.project.composeFile, rewriteImages(composeText('oak'), { synapse: older }))
    await host.engine.up(box.project, ['synapse'])
    const dead = (await host.engine.containers(box.project)).find(({ service }) => service === 'synapse')
    expect(dead).toMatchObject({ state: 'restarting', restartCount: 1, exitCode: 1 })
    expect(await host.engine.logs(dead!.id, 5)).toMatch(/too new for the server to understand/)
    expect((await host.servers.probe(box)).verdict).toBe('failed')
  })

  test('a schema upgrade takes time, and the probe distinguishes it from a failure', async () => {
    const host = await aHost({ profile: { ...realistic, faults: [] } })
    const box = await aBox(host)
    await writeFile(box.project.composeFile, rewriteImages(composeText('oak'), { synapse: older }))
    await moving(host.clock, async () => {
      for (const image of [...Object.values(images), older, newer]) await host.engine.pull(image, {})
      await host.engine.up(box.project, ['postgres', 'minio', 'synapse', 'edge'])
    })
    const probe = () => moving(host.clock, () => host.servers.probe(box), 50)
    await host.clock.advance(60_000)
    await probe()
    await host.clock.advance(60_000)
    expect((await probe()).verdict).toBe('ok')
    await writeFile(box.project.composeFile, rewriteImages(composeText('oak'), { synapse: newer }))
    await moving(host.clock, () => host.engine.up(box.project, ['synapse']))
    expect(await probe()).toMatchObject({ verdict: 'upgrading', reason: /upgrades its schema/ })
    await host.clock.advance(180_000)
    expect((await probe()).verdict).toBe('ok')
  })
})

describe('faults', () => {
  test.each([
    [{ kind: 'registry-down' }, 'REGISTRY_UNAVAILABLE'],
    [{ kind: 'tag-missing', image: 'synapse:v1.163.2' }, 'PULL_FAILED'],
    [{ kind: 'pull-fails', image: 'synapse' }, 'PULL_FAILED'],
    [{ kind: 'disk-full', at: 'pull' }, 'DISK_FULL'],
    [{ kind: 'engine-down' }, 'DOCKER_UNAVAILABLE'],
  ] as const)('a pull under %o is %s, and works when the fault is taken away', async (fault, code) => {
    const host = await aHost()
    const heal = host.inject(fault)
    await expect(host.engine.pull(newer, {})).rejects.toMatchObject({ code })
    heal()
    expect(await host.engine.pull(newer, {})).toMatch(/^sha256:/)
  })

  test('a fault strikes as often as it says', async () => {
    const host = await aHost()
    host.inject({ kind: 'registry-down', times: 1 })
    await expect(host.engine.pull(newer, {})).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' })
    await host.engine.pull(newer, {})
  })

  test('a pull by digest detects a lying tag', async () => {
    const host = await aHost()
    const digest = await host.engine.pull(newer, {})
    host.inject({ kind: 'lying-digest', image: newer })
    await expect(host.engine.pull(newer, { digest })).rejects.toMatchObject({ code: 'PULL_FAILED' })
    expect(await host.engine.pull(newer, {})).not.toBe(digest)
  })

  test('what happens in an engine is of no box: a fault there cannot name one, and never strike', () => {
    type OfBox<Each> = Each extends Fault ? ('box' extends keyof Each ? Each['kind'] : never) : never
    type Servers = 'dump-fails' | 'load-fails' | 'migration-fails' | 'snapshot-fails' | 'probe-fails' | 'disk-full'
    expectTypeOf<OfBox<Fault>>().toEqualTypeOf<Servers>()
  })

  test('probes fail for one box or for one image alone', async () => {
    const host = await aHost()
    const oak = await aRunningBox(host, 'oak')
    const elm = await aRunningBox(host, 'elm')
    host.inject({ kind: 'probe-fails', box: 'oak', components: ['database'] })
    expect(await host.servers.probe(oak)).toMatchObject({
      verdict: 'failed',
      components: { database: { ok: false }, chatApi: { ok: true } },
    })
    expect((await host.servers.probe(elm)).verdict).toBe('ok')
    host.inject({ kind: 'probe-fails', image: 'synapse:v1.163' })
    expect((await host.servers.probe(elm)).verdict).toBe('ok')
  })

  test('an image that dies at its start leaves a container that restarts for ever, and `up` says nothing', async () => {
    const host = await aHost()
    const box = await aRunningBox(host)
    host.inject({ kind: 'dies-at-start', image: newer })
    await host.engine.pull(newer, {})
    await writeFile(box.project.composeFile, rewriteImages(composeText('oak'), { synapse: newer }))
    await host.engine.up(box.project, ['synapse'])
    await host.clock.advance(30_000)
    expect((await host.engine.containers(box.project)).find(({ service }) => service === 'synapse')).toMatchObject({
      state: 'restarting',
      restartCount: 4,
    })
  })
})

describe('snapshots', () => {
  test('what is restored is what was taken', async () => {
    const host = await aHost()
    const box = await aRunningBox(host)
    await host.snapshots.prepare(repository)
    const facts = await host.snapshots.take(repository, { tier: 'pre-update', commandId: 'c1', slug: 'oak', paths: [box.project.folder] })
    expect(await host.snapshots.ofCommand(repository, 'c1')).toEqual(facts)
    await host.snapshots.restore(repository, { id: facts.id, path: box.project.folder, into: join(host.folder, 'back') })
    expect(await readFile(join(host.folder, 'back', 'compose.yaml'), 'utf8')).toBe(composeText('oak'))
  })

  test('a warm snapshot is not taken for the whole one, and another key opens nothing', async () => {
    const host = await aHost()
    await mkdir(join(host.folder, 'x'))
    await host.snapshots.prepare(repository)
    await host.snapshots.take(repository, { tier: 'pre-update', commandId: 'c1', slug: 'oak', paths: [join(host.folder, 'x')], warm: true })
    expect(await host.snapshots.ofCommand(repository, 'c1')).toBeUndefined()
    await expect(host.snapshots.prepare({ ...repository, password: 'another' })).rejects.toMatchObject({ code: 'BACKUP_KEY_INVALID' })
  })
})

test('the same seed gives the same story', async () => {
  const story = async () => {
    const host = await aHost({ random: seededRandom('a story'), profile: realistic })
    const box = await aRunningBox(host)
    const containers = await host.engine.containers(box.project)
    return containers.map(({ id, startedAt }) => `${id} ${startedAt}`)
  }
  expect(await story()).toEqual(await story())
})
