import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readFacts } from '../../../src/agent/box-servers/database-facts.ts'
import { folderSizes } from '../../../src/agent/boxes/box-facts.ts'
import { composeRecord, factFinder, localBoxes, reportVersions } from '../../../src/agent/boxes/index.ts'
import type { LocalBox, ProjectNetwork } from '../../../src/agent/ports/index.ts'
import type { BoxFacts } from '../../../src/core/boxes/index.ts'
import { aHost, aRunningBox, composeText, moving } from '../simulated/boxes.ts'

type Hashes = { suffix: string; compose?: string; networks?: readonly ProjectNetwork[] }

async function aReportingHost(disk = { freeBytes: async () => 7e9 }, hashes: Hashes = { suffix: '' }) {
  const host = await aHost()
  const box = await aRunningBox(host)
  const boxes = localBoxes(host.folder)
  await boxes.put(box)
  const compose = composeRecord({ stateFolder: host.folder, boxes })
  const counts: Record<string, number> = {}
  const engine = {
    ...host.engine,
    ...Object.fromEntries(
      (['composedServices', 'imageLibc'] as const).map((name) => [
        name,
        (argument: never) => {
          counts[name] = (counts[name] ?? 0) + 1
          return host.engine[name](argument)
        },
      ]),
    ),
  }
  const composedServices: typeof engine.composedServices = async (project) =>
    Object.fromEntries(
      Object.entries(await engine.composedServices(project)).map(([name, service]) => [
        name,
        { ...service, hashes: service.hashes.map((hash) => `${hash}${hashes.suffix}`) },
      ]),
    )
  const info: typeof engine.info = async () => ({ ...(await engine.info()), ...(hashes.compose ? { compose: hashes.compose } : {}) })
  const networks: typeof engine.networks = async (project) => hashes.networks ?? engine.networks(project)
  const findFacts = factFinder({ engine: { ...engine, composedServices, info, networks }, clock: host.clock, disk, compose })
  const report = () => moving(host.clock, () => reportVersions({ engine, servers: host.servers, clock: host.clock, findFacts }, box))
  const facts = async () => (await report()).facts as BoxFacts
  return { host, box, boxes, compose, counts, report, facts, findFacts }
}

const edit = async ({ project }: LocalBox, change: (text: string) => string) =>
  writeFile(project.composeFile, change(await readFile(project.composeFile, 'utf8')))

describe('a report', () => {
  test('reports the facts of the preflight', async () => {
    const { host, box, facts } = await aReportingHost()
    host.traffic.uploadMedia(box)
    await expect.poll(async () => (await facts()).mediaBytes).toBeGreaterThan(0) // walked beside the first reports
    expect(await facts()).toEqual({
      ...{ schemaVersion: 94, compatVersion: 84, backgroundUpdates: [], collation: 'C', libc: 'glibc' },
      ...{ mediaBytes: expect.any(Number), objectBytes: expect.any(Number), freeDiskBytes: 7e9 },
      ...{ otherServices: [], wouldRecreate: [], composeChanged: null, scaledServices: [], notRestorable: [], formerDatabases: [] },
      hotCopy: expect.objectContaining({ major: 15, walLevel: 'replica' }),
    })
  })

  test('reports the former databases that are still there', async () => {
    const { host, box, findFacts } = await aReportingHost()
    const former = { version: '15.18', until: '2026-12-07T00:00:00.000Z' }
    await host.engine.createVolume(box.project, 'db', 'box-oak-former')
    const formerDatabases = ['box-oak-former', 'box-oak-removed'].map((volume) => ({ ...former, volume }))
    const found = await findFacts({ ...box, formerDatabases }, await host.engine.containers(box.project), undefined)
    expect(found.formerDatabases).toEqual([{ ...former, volume: 'box-oak-former', bytes: 0 }])
  })

  test('reports the head in the database, not the one stored on the host', async () => {
    const { host, box, boxes, report } = await aReportingHost()
    await boxes.put({ ...box, migrationsHead: '0007' })
    expect((await report()).installed.migrationsHead).toBe('0000')
    await host.servers.applyMigration(box, { head: '0001', name: 'a', sha256: 'a'.repeat(64), sql: 'select 1;' })
    expect((await report()).installed.migrationsHead).toBe('0001')
    await host.engine.stop(box.project, ['postgres'])
    expect(await report()).toMatchObject({ installed: { migrationsHead: 'unknown' }, facts: { schemaVersion: null, collation: null } })
  })

  test('names services that compose would recreate, and those that are none of a box', async () => {
    const { box, facts } = await aReportingHost()
    await edit(box, (text) =>
      text.replace('"objects:/data" ] }', '"objects:/data" ], command: [ server ] }\n  bridge: { image: "bridge:1" }'),
    )
    expect(await facts()).toMatchObject({
      wouldRecreate: ['minio'],
      otherServices: ['bridge'],
      differences: [
        expect.stringMatching(/^minio runs with other settings than compose\.yaml has .* fix: revert the change, or apply it with/),
      ],
    })
  })

  test('names services with several containers, and why the box could not be restored', async () => {
    const { box, facts } = await aReportingHost()
    await edit(box, (text) =>
      text.replace('"objects:/data" ] }', '"objects:/data" ], scale: 2 }').replace('{ name: box-oak-media }', '{ external: true }'),
    )
    expect(await facts()).toMatchObject({
      scaledServices: ['minio'],
      notRestorable: [expect.stringMatching(/^the volume media \(line 9 .*external/)],
    })
  })

  test('is made of a broken compose file and a disk that cannot be asked too', async () => {
    const { box, facts } = await aReportingHost({ freeBytes: async () => Promise.reject(new Error('no such disk')) })
    await writeFile(box.project.composeFile, 'services: [')
    expect(await facts()).toMatchObject({
      wouldRecreate: null,
      otherServices: null,
      scaledServices: null,
      notRestorable: [expect.stringMatching(/is not YAML/)],
      freeDiskBytes: null,
      collation: 'C',
    })
  })

  test('names a compose file that is not UTF-8, which no update could change', async () => {
    const { box, facts } = await aReportingHost()
    const text = await readFile(box.project.composeFile, 'utf8')
    await writeFile(box.project.composeFile, Buffer.from(`# Türen\n${text}`, 'latin1'))
    expect(await facts()).toMatchObject({
      wouldRecreate: null,
      composeChanged: null,
      notRestorable: [`Cannot read ${box.project.composeFile}: line 1 is not UTF-8. fix: save it with the encoding UTF-8 in your editor`],
    })
  })

  test('asks for what is dear only when it may have changed', async () => {
    const { box, counts, facts } = await aReportingHost()
    for (let turn = 0; turn < 3; turn++) await facts()
    expect(counts).toEqual({ composedServices: 1, imageLibc: 1 })
    await appendFile(box.project.composeFile, '# a remark\n')
    await facts()
    expect(counts).toEqual({ composedServices: 2, imageLibc: 1 })
  })

  test('a difference that another compose caused is gone once it reads the file as before', async () => {
    const hashes = { suffix: ' of another version' }
    const { facts } = await aReportingHost(undefined, hashes)
    expect((await facts()).wouldRecreate).toEqual(['edge', 'minio', 'postgres', 'synapse'])
    hashes.suffix = ''
    expect((await facts()).wouldRecreate).toEqual([])
  })

  test('names services that another compose created apart from those that differ', async () => {
    const { box, facts } = await aReportingHost(undefined, { suffix: ' of another version', compose: '2.40.0' })
    await edit(box, (text) => text.replace('"media:/media"', '"media:/other"'))
    expect(await facts()).toMatchObject({ wouldRecreate: ['synapse'], otherCompose: ['edge', 'postgres', 'minio'] })
  })
})

test('a report names all services of a network that was edited but not created again', async () => {
  const { box, facts } = await aReportingHost()
  await edit(box, (text) => `${text}\nnetworks: { default: { internal: true } }\n`)
  expect(await facts()).toMatchObject({
    wouldRecreate: ['edge', 'minio', 'postgres', 'synapse'],
    differences: [expect.stringContaining('network box-oak_default has internal false, but compose.yaml has internal true')],
  })
})

describe('a network that another compose version created', () => {
  test('is part of the facts when only its hash differs', async () => {
    expect(await (await aReportingHost()).facts()).not.toHaveProperty('otherNetworks')
    const settings = { driver: 'bridge', internal: false }
    const network = { name: 'box-oak_default', configHash: 'of another version', composeVersion: '2.32.1', settings }
    const { facts } = await aReportingHost(undefined, { suffix: '', networks: [network] })
    const found = await facts()
    expect(found).toMatchObject({ otherNetworks: ['box-oak_default'], wouldRecreate: [] })
    expect(found).not.toHaveProperty('otherCompose')
  })
})

describe('a compose file', () => {
  const changed = async ({ compose, box }: Awaited<ReturnType<typeof aReportingHost>>) =>
    compose.isChanged(box, await readFile(box.project.composeFile, 'utf8'))

  test('that a command wrote is its agent’s own; one changed after it is not', async () => {
    const world = await aReportingHost()
    expect(await changed(world)).toBeNull()
    await world.compose.around('oak', 'c1', () =>
      edit(world.box, () => composeText('oak', { synapse: 'registry.test/tenantry/synapse:v1.163.2' })),
    )
    expect(await changed(world)).toBe(false)
    await edit(world.box, (text) => `${text}# by hand\n`)
    expect(await changed(world)).toBe(true)
  })

  test('changed by hand stays so through a command that leaves it alone, and one that fails', async () => {
    const world = await aReportingHost()
    await world.compose.around('oak', 'c1', () => edit(world.box, (text) => `${text}# ours\n`))
    await edit(world.box, (text) => `${text}# by hand\n`)
    await world.compose.around('oak', 'c2', async () => undefined)
    await expect(world.compose.around('oak', 'c3', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await changed(world)).toBe(true)
  })

  test('written by a command that was killed is known once the command was gone on with', async () => {
    const world = await aReportingHost()
    await world.compose.around('oak', 'c1', () => edit(world.box, (text) => `${text}# first\n`))
    const killed = new Promise<never>(() => undefined)
    void world.compose.around('oak', 'c2', async () => {
      await edit(world.box, (text) => `${text}# second\n`)
      return killed
    })
    await expect.poll(async () => (await readFile(world.box.project.composeFile, 'utf8')).endsWith('# second\n')).toBe(true)
    expect(await changed(world)).toBeNull()
    await world.compose.around('oak', 'c2', async () => undefined)
    expect(await changed(world)).toBe(false)
  })
})

describe('the size of a folder', () => {
  test('is what its files hold, kept for an hour', async () => {
    const { clock, folder } = await aHost()
    const media = join(folder, 'media', 'deep')
    await mkdir(media, { recursive: true })
    await writeFile(join(media, 'a'), 'x'.repeat(1_000))
    const sizes = folderSizes(clock)
    const size = () => moving(clock, () => sizes(join(folder, 'media')))
    await expect.poll(size).toBe(1_000)
    await writeFile(join(media, 'b'), 'x'.repeat(500))
    expect(await size()).toBe(1_000)
    await clock.advance(3_600_000)
    await expect.poll(size).toBe(1_500)
  })

  test('of one that is not there is not known', async () => {
    const { clock, folder } = await aHost()
    expect(await moving(clock, () => folderSizes(clock)(join(folder, 'nowhere')))).toBeNull()
  })
})

describe('what a database printed', () => {
  const hot = {
    ...{ major: 15, walLevel: 'replica', freeSlots: 9, fullPageWrites: true, isStandby: false, isSuperuser: true },
    ...{ checksumFailures: 0, tablespaces: 1 },
  }
  const answer = {
    ...{ tablespaces: ['fast in /mnt/ssd'], archive: 'on', slots: ['standby'], altered: ['work_mem'] },
    ...{ bytes: 5, system: '7412', others: ['bridge'], collation: 'C', superuser: false, schema: ['94'], compat: ['84'], background: [] },
    migrations: [`0001 ${'a'.repeat(64)}`],
    hot,
  }
  test('is read', () => {
    expect(readFacts(JSON.stringify(answer))).toEqual({
      ...{
        bytes: 5,
        systemId: '7412',
        collation: 'C',
        ownerIsSuperuser: false,
        schemaVersion: 94,
        compatVersion: 84,
        backgroundUpdates: [],
        backgroundProgress: null,
      },
      otherDatabases: ['bridge'],
      ...{ tablespaces: ['fast in /mnt/ssd'], archiveMode: 'on', replicationSlots: ['standby'], alteredSettings: ['work_mem'] },
      migrations: [{ head: '0001', sha256: 'a'.repeat(64) }],
      hotCopy: hot,
    })
    const young = { ...answer, system: undefined, schema: null, compat: null, background: null, migrations: null }
    expect(readFacts(JSON.stringify(young))).toMatchObject({ systemId: null, schemaVersion: null, backgroundUpdates: null, migrations: [] })
  })

  test.each(['', 'ERROR: no', '{}', JSON.stringify({ ...answer, migrations: ['by hand'] })])('as %j is no answer', (printed) => {
    expect(readFacts(printed)).toBeUndefined()
  })
})
