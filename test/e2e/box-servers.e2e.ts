import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { boxServers } from '../../src/agent/box-servers/index.ts'
import { type LocalBoxes, localBoxes, portInUse, provision, readBoxSecrets } from '../../src/agent/boxes/index.ts'
import { dockerEngine } from '../../src/agent/docker/index.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../../src/agent/ports/index.ts'
import { systemClock, systemRandom } from '../../src/node/index.ts'
import { aContext, aProvision, templateFolder } from '../agent/boxes/provisioning.ts'
import { boxServersSuite } from '../agent/suites/box-servers.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'
import { boxPorts } from './support/ports.ts'

describe.skipIf(!testbedExists())('the servers of a real box', () => {
  const slug = `servers-${process.pid}`
  const ports = boxPorts()
  let engine: ContainerEngine
  let servers: BoxServers
  let box: LocalBox
  let folder: string
  let boxes: LocalBoxes
  const answered = aContext()

  beforeAll(async () => {
    const { images, dockerHost, dockerConfig, docker, registry } = readTestbed()
    folder = await realpath(await mkdtemp(join(tmpdir(), 'tenantry-servers-')))
    engine = dockerEngine({ dockerHost, dockerConfig, docker })
    servers = boxServers({ engine, clock: systemClock, random: systemRandom })
    boxes = localBoxes(join(folder, 'state'))
    const deps = {
      engine,
      servers,
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
    const { probe, report } = await provision(deps)(answered.context, order)
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
    // The loads left volumes behind, as they should.
    await engine.removeProject(`box-${slug}`)
    await rm(folder, { recursive: true, force: true })
  })

  test('a table that is about to be changed while it is dumped is changed, and dumped after that', async () => {
    const database = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')!.id
    const sql = (text: string) =>
      engine.exec(database, [
        'psql',
        '-X',
        '-A',
        '-t',
        '-v',
        'ON_ERROR_STOP=1',
        '-h',
        '127.0.0.1',
        '-U',
        'synapse',
        '-d',
        'synapse',
        '-c',
        text,
      ])
    let changing: Promise<unknown> = Promise.resolve()
    const dumps: string[][] = []
    const exec: ContainerEngine['exec'] = async (id, argv, options) => {
      if (argv.includes('pg_dump') && dumps.push([...argv]) === 1) {
        changing = sql('alter table events add column if not exists tenantry_try integer; alter table events drop column tenantry_try')
        await expect
          .poll(async () => Number((await sql("select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock'")).stdout))
          .toBeGreaterThan(0)
      }
      return engine.exec(id, argv, options)
    }
    const watched = boxServers({ engine: { ...engine, exec }, clock: systemClock, random: systemRandom })
    const counts = await watched.dumpDatabase(box, join(folder, 'while-changed'))
    expect(await changing).toMatchObject({ exitCode: 0 })
    expect(dumps.length).toBeGreaterThan(1)
    const events = Number((await sql('select count(*) from events')).stdout)
    expect(events).toBeGreaterThan(0) // what the probes of its provisioning wrote
    expect(counts.events).toBe(events)
  })

  test('provisioning delivered what the platform needs', async () => {
    const secrets = (await readBoxSecrets(box.project))!
    expect(answered.delivered[0]).toEqual({
      edgeSecret: secrets.edgeSecret,
      appserviceToken: secrets.appserviceToken,
      registrationSharedSecret: secrets.registrationSharedSecret,
    })
  })

  // More often than a user may write in a row.
  test('a probe is good twelve times in a row, without a rate limit in its way', async () => {
    for (let turn = 0; turn < 12; turn++) expect(await servers.probe(box)).toMatchObject({ verdict: 'ok' })
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
  })

  boxServersSuite('passes the contract suite of BoxServers', async () => {
    const { images } = readTestbed()
    const psql = async (sql: string, user: string) => {
      const id = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')!.id
      const answer = await engine.exec(id, ['psql', '-X', '-U', user, '-d', 'postgres', '-h', '127.0.0.1', '-c', sql])
      expect(answer).toMatchObject({ exitCode: 0 })
    }
    return {
      servers,
      engine,
      box,
      folder,
      versions: { synapse: '1.157.1', postgres: images.postgres.tag, minio: images.minio.tag },
      releases: {
        mute: images['synapse-broken'].ref,
        tooOld: images['synapse-1.97.0'].ref,
        next: images['synapse-1.163.2'].ref,
        nextVersion: '1.163.2',
      },
      refuseWrites: async () => {
        await psql('alter database synapse set default_transaction_read_only = on', 'synapse')
        return () => psql('alter database synapse reset default_transaction_read_only', 'synapse')
      },
      crashDatabase: async () => {
        const id = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')!.id
        const { docker, dockerHost } = readTestbed()
        await execa(docker, ['kill', '--signal', 'KILL', id], { env: { DOCKER_HOST: dockerHost } })
        await engine.start(box.project, ['postgres'])
      },
      addDatabase: async (name) => {
        await psql(`create database ${name}`, 'postgres')
        return () => psql(`drop database ${name}`, 'postgres')
      },
    }
  })
})
