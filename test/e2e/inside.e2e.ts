import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type LocalBoxes,
  localBoxes,
  portInUse,
  provision,
  readBoxSecrets,
  rewriteImages,
  rewriteVolumes,
} from '../../src/agent/boxes/index.ts'
import { dockerEngine } from '../../src/agent/docker/index.ts'
import { boxInside } from '../../src/agent/inside/index.ts'
import type { BoxInside, ContainerEngine, LocalBox } from '../../src/agent/ports/index.ts'
import { systemClock, systemRandom } from '../../src/node/index.ts'
import { aContext, aProvision, templateFolder } from '../agent/boxes/provisioning.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'
import { boxPorts } from './support/ports.ts'

describe.skipIf(!testbedExists())('the inside of a real box', () => {
  const slug = `inside-${process.pid}`
  const ports = boxPorts()
  let engine: ContainerEngine
  let inside: BoxInside
  let box: LocalBox
  let folder: string
  let boxes: LocalBoxes
  const answered = aContext()

  beforeAll(async () => {
    const { images, dockerHost, dockerConfig, docker, registry } = readTestbed()
    folder = await realpath(await mkdtemp(join(tmpdir(), 'tenantry-inside-')))
    engine = dockerEngine({ dockerHost, dockerConfig, docker })
    inside = boxInside({ engine, clock: systemClock, random: systemRandom })
    boxes = localBoxes(join(folder, 'state'))
    const needs = {
      engine,
      inside,
      boxes,
      portInUse,
      clock: systemClock,
      random: systemRandom,
      settings: {
        boxesFolder: join(folder, 'boxes'),
        templateFolder,
        allowedImages: [`${registry}/tenantry/*`],
        binds: { public: '127.0.0.1', platform: '127.0.0.1' },
        maxUploadMegabytes: 50,
      },
    }
    const order = aProvision({
      slug,
      chatDomain: `${slug}.test`,
      publicUrl: `http://127.0.0.1:${ports.public}`,
      images: { edge: images.edge.ref, synapse: images['synapse-1.157.1'].ref, postgres: images.postgres.ref, minio: images.minio.ref },
      ports,
      probe: { consecutive: 2, spacingMs: 200, timeoutMs: 60_000 },
    })
    const { probe, report } = await provision(needs)(answered.context, order)
    expect(probe).toMatchObject({ verdict: 'ok' })
    expect(report).toMatchObject({
      managed: true,
      installed: { synapse: '1.157.1', postgres: images.postgres.tag, minio: images.minio.tag },
      services: { synapse: { digest: images['synapse-1.157.1'].digest, state: 'running' } },
      databaseBytes: expect.any(Number),
    })
    box = (await boxes.find(slug))!
  })

  afterAll(async () => {
    const made = await boxes.find(slug)
    if (made) await engine.down(made.project, { volumes: true })
    // The restore left the first volume behind, as it should.
    await engine.removeVolume(`box-${slug}-postgres`)
    await rm(folder, { recursive: true, force: true })
  })

  test('provisioning delivered what the platform needs', async () => {
    const secrets = (await readBoxSecrets(box.project))!
    expect(answered.delivered[0]).toEqual({
      edgeSecret: secrets.edgeSecret,
      appserviceToken: secrets.appserviceToken,
      registrationSharedSecret: secrets.registrationSharedSecret,
    })
  })

  test('a probe is good twenty times in a row, without a rate limit in its way', async () => {
    for (let turn = 0; turn < 20; turn++) expect(await inside.probe(box)).toMatchObject({ verdict: 'ok' })
  })

  test('the database belongs to a role that may nothing else, and its superuser is out of reach from the network', async () => {
    const id = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')!.id
    const psql = (...argv: string[]) => engine.exec(id, ['psql', '-X', '-A', '-t', ...argv])
    const rights = "select rolname, rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname !~ '^pg_' order by 1"
    expect((await psql('-U', 'synapse', '-d', 'synapse', '-h', '127.0.0.1', '-c', rights)).stdout.trim().split('\n')).toEqual([
      'postgres|t|t|t',
      'synapse|f|f|f',
    ])
    expect((await psql('-U', 'synapse', '-d', 'synapse', '-h', '127.0.0.1', '-c', "copy (select 1) to program 'id'")).exitCode).not.toBe(0)
    const { postgresPassword } = (await readBoxSecrets(box.project))!
    const byNetwork = (user: string) => psql(`postgresql://${user}:${postgresPassword}@postgres/synapse`, '-c', 'select 1')
    expect((await byNetwork('synapse')).stdout.trim()).toBe('1')
    expect((await byNetwork('postgres')).stderr).toMatch(/password authentication failed/)
    expect(await inside.databaseBytes(box)).toBeGreaterThan(1_000_000)
    const asSuperuser = (sql: string) => psql('-U', 'postgres', '-d', 'postgres', '-h', '127.0.0.1', '-c', sql)
    await asSuperuser('create database bridge')
    expect((await inside.databaseFacts(box))?.otherDatabases).toEqual(['bridge'])
    await asSuperuser('drop database bridge')
    expect((await inside.databaseFacts(box))?.otherDatabases).toEqual([])
  })

  test('each part that is away fails its own component', async () => {
    const verdictWithout = async (service: 'edge' | 'minio' | 'synapse' | 'postgres') => {
      await engine.stop(box.project, [service])
      const { components, verdict } = await inside.probe(box)
      await engine.start(box.project, [service])
      await expect.poll(async () => (await inside.probe(box)).verdict, { timeout: 60_000, interval: 500 }).toBe('ok')
      return [
        verdict,
        ...Object.entries(components)
          .filter(([, { ok }]) => !ok)
          .map(([name]) => name),
      ]
    }
    expect(await verdictWithout('minio')).toEqual(['failed', 'objectStorage'])
    expect(await verdictWithout('edge')).toEqual(['failed', 'chatApi', 'chatSync', 'objectStorage'])
    expect(await verdictWithout('synapse')).toEqual(['failed', 'chatApi', 'chatSync'])
    expect(await verdictWithout('postgres')).toEqual(expect.arrayContaining(['database', 'chatSync']))
  })

  test('a database that takes no writes is not well, though it answers queries', async () => {
    const postgres = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')!.id
    const alter = (sql: string) => engine.exec(postgres, ['psql', '-U', 'synapse', '-d', 'postgres', '-c', sql])
    await alter('alter database synapse set default_transaction_read_only = on')
    expect(await inside.probe(box)).toMatchObject({
      verdict: 'failed',
      components: { database: { ok: false, error: expect.stringMatching(/read-only/) } },
    })
    await alter('alter database synapse reset default_transaction_read_only')
    expect((await inside.probe(box)).components.database.ok).toBe(true)
  })

  test('a dump is loaded into a new volume, counted, and the box is as it was', async () => {
    const dump = join(folder, 'dump')
    await engine.stop(box.project, ['synapse'])
    const counts = await inside.dumpDatabase(box, dump)
    expect(counts.events).toBeGreaterThan(20)
    expect(Object.keys(counts).length).toBeGreaterThan(100)
    const text = await readFile(box.project.composeFile, 'utf8')
    await writeFile(box.project.composeFile, rewriteVolumes(text, { postgres: `${box.project.name}-postgres-2` }))
    await engine.up(box.project, ['postgres'])
    await expect.poll(() => inside.databaseReady(box), { timeout: 60_000 }).toBe(true)
    await inside.loadDatabase(box, dump, counts)
    await expect(inside.loadDatabase(box, dump, counts)).rejects.toMatchObject({
      code: 'RESTORE_FAILED',
      message: expect.stringMatching(/not empty/),
    })
    await engine.up(box.project, ['synapse', 'edge'])
    await expect.poll(async () => (await inside.probe(box)).verdict, { timeout: 60_000, interval: 500 }).toBe('ok')
  })

  test('a release that listens but serves nothing fails the sync alone; one too old for the database says why it dies', async () => {
    const { images } = readTestbed()
    const synapse = async () => (await engine.containers(box.project)).find(({ service }) => service === 'synapse')!
    const switchTo = async (image: string) => {
      await engine.pull(image, {})
      await writeFile(box.project.composeFile, rewriteImages(await readFile(box.project.composeFile, 'utf8'), { synapse: image }))
      await engine.up(box.project, ['synapse'])
    }
    await switchTo(images['synapse-broken'].ref)
    await expect.poll(async () => (await inside.probe(box)).components.chatApi.ok, { timeout: 60_000, interval: 500 }).toBe(true)
    expect(await inside.probe(box)).toMatchObject({ verdict: 'failed', components: { chatSync: { ok: false }, database: { ok: true } } })
    await switchTo(images['synapse-1.97.0'].ref)
    await expect.poll(async () => (await synapse()).restartCount, { timeout: 60_000, interval: 500 }).toBeGreaterThan(0)
    expect(await engine.logs((await synapse()).id, 50)).toMatch(/too new for the server to understand/)
    expect((await inside.probe(box)).verdict).toBe('failed')
    await switchTo(images['synapse-1.163.2'].ref)
    await expect.poll(async () => (await inside.probe(box)).verdict, { timeout: 60_000, interval: 500 }).toBe('ok')
    expect((await inside.serverVersions(box)).synapse).toBe('1.163.2')
  })

  test('a dump that cannot be written and a stopped database are told', async () => {
    await expect(inside.dumpDatabase(box, '/dev/null/x')).rejects.toThrow()
    await engine.stop(box.project, ['postgres'])
    await expect(inside.dumpDatabase(box, join(folder, 'dump-2'))).rejects.toMatchObject({ code: 'BOX_UNHEALTHY' })
    expect(await inside.databaseReady(box)).toBe(false)
    expect(await inside.databaseBytes(box)).toBeUndefined()
  })
})
