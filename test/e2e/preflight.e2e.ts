import { readFile, writeFile } from 'node:fs/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { boxServers } from '../../src/agent/box-servers/index.ts'
import { factFinder, reportVersions } from '../../src/agent/boxes/index.ts'
import type { ContainerEngine, DatabaseFacts } from '../../src/agent/ports/index.ts'
import { prefetch, type UpdateDeps, update } from '../../src/agent/update/index.ts'
import { parseImage, synapseSchemaOf, type TierVersions, type VersionsReport } from '../../src/core/boxes/index.ts'
import { preflightBox } from '../../src/core/rollouts/index.ts'
import { systemClock, systemRandom } from '../../src/node/index.ts'
import { aKnownBox } from '../support/rollouts.ts'
import { synapseSchemas } from '../support/synapse-schemas.ts'
import { dockerEnvironment, readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type OneBox, oneBox } from './support/one-box.ts'

describe.skipIf(!testbedExists())('the table of Synapse schemas', () => {
  test.each(['1.97.0', '1.157.1', '1.163.2'] as const)('says of %s what its own image says', async (version) => {
    const testbed = readTestbed()
    const ask = `import re, inspect
from synapse.storage.schema import SCHEMA_VERSION, SCHEMA_COMPAT_VERSION
from synapse.storage.engines import postgres
print(SCHEMA_VERSION, SCHEMA_COMPAT_VERSION, int(re.search(r"self._version < ([0-9]+)", inspect.getsource(postgres)).group(1)) // 10000)`
    const args = ['run', '--rm', '--network', 'none', '--entrypoint', 'python3', testbed.images[`synapse-${version}`].ref, '-c', ask]
    const { stdout } = await execa(testbed.docker, args, { env: dockerEnvironment(testbed), extendEnv: false })
    const known = synapseSchemaOf(synapseSchemas, version)
    expect(stdout.trim()).toBe(`${known?.schema} ${known?.compat} ${known?.postgres}`)
  })
})

describe.skipIf(!testbedExists())('the pre-flight of a real box', () => {
  let one: OneBox
  let healthy: VersionsReport

  beforeAll(async () => {
    one = await oneBox({ slug: `pf-pre-${process.pid}`, synapse: 'synapse-1.163.2' })
    healthy = await one.report()
  })
  afterAll(() => one?.end())

  const installedTarget = (): TierVersions => ({ ...healthy.installed })
  const limits = { now: '2026-01-05T02:10:00.000Z', staleAfterMs: 26 * 3_600_000, schemas: synapseSchemas }
  /** As the daemon sees it with the box's own report. */
  const found = (report: VersionsReport, change: Partial<TierVersions>) => {
    const box = aKnownBox(one.slug, { installed: report.installed, report, databaseBytes: report.databaseBytes ?? null })
    return preflightBox(box, { ...installedTarget(), ...change }, limits).findings.map(({ severity, code }) => `${severity} ${code}`)
  }
  const attempt = (id: string, services: object, deps: UpdateDeps = one.deps) =>
    update(deps)(one.context(id), one.payload({ services, migrationsHead: '0000' }))
  const editCompose = async (change: (text: string) => string) => {
    const { composeFile } = (await one.box()).project
    const before = await readFile(composeFile, 'utf8')
    await writeFile(composeFile, change(before))
    return () => writeFile(composeFile, before)
  }
  const newer = 'RELEASE.2027-01-01T00-00-00Z'

  test('is given what its servers, its disk and its files say', async () => {
    // Folders are walked beside the first reports.
    await expect.poll(async () => (await one.report()).facts?.mediaBytes, { timeout: 20_000 }).not.toBeNull()
    expect(await one.report()).toMatchObject({
      installed: { migrationsHead: '0000', synapse: '1.163.2' },
      databaseBytes: expect.any(Number),
      facts: {
        ...{ schemaVersion: 94, compatVersion: 84, backgroundUpdates: expect.any(Array), collation: 'C', libc: 'glibc' },
        ...{ mediaBytes: expect.any(Number), objectBytes: expect.any(Number), freeDiskBytes: expect.any(Number) },
        ...{ otherServices: [], wouldRecreate: [], composeChanged: false },
      },
    })
  })

  test('costs little: beside what it asks of the engine, a report runs one program, which asks the database', async () => {
    const ran: string[] = []
    const real = one.deps.engine
    const counting =
      <Args extends unknown[], Answer>(name: string, call: (...args: Args) => Answer) =>
      (...args: Args): Answer => {
        ran.push(name)
        return call(...args)
      }
    const engine: ContainerEngine = {
      ...real,
      exec: (id, argv, options) => counting(argv.includes('psql') ? 'psql' : (argv[0] ?? ''), real.exec)(id, argv, options),
      composedServices: counting('compose config', real.composedServices),
      imageLibc: counting('a look into an image', real.imageLibc),
    }
    const clock = systemClock
    const compose = { around: async () => undefined as never, isChanged: async () => false }
    const servers = boxServers({ engine, clock, random: systemRandom })
    const deps = { engine, servers, clock, findFacts: factFinder({ engine, clock, disk: one.deps.disk, compose }) }
    await reportVersions(deps, await one.box())
    ran.length = 0
    const begun = performance.now()
    await reportVersions(deps, await one.box())
    console.log(`a report takes ${Math.round(performance.now() - begun)} ms`)
    expect(ran).toEqual(['psql'])
  })

  test('finds nothing in a healthy box but what is still settling', () => {
    expect(found(healthy, { minio: newer }).filter((finding) => finding.startsWith('refuse'))).toEqual([])
  })

  test('refuses to go back to a Synapse that could not read the database', () => {
    expect(found(healthy, { synapse: '1.97.0' })).toEqual(expect.arrayContaining(['refuse DOWNGRADE', 'refuse SCHEMA_TOO_NEW']))
    expect(found(healthy, { synapse: '1.157.1' })).toContain('refuse DOWNGRADE')
    expect(found(healthy, { synapse: '1.157.1' })).not.toContain('refuse SCHEMA_TOO_NEW')
    expect(found(healthy, { synapse: '1.999.0' })).toContain('warn SCHEMA_UNKNOWN')
  })

  test('refuses a PostgreSQL major as a tag', () => {
    expect(found(healthy, { postgres: '17.6' })).toContain('refuse POSTGRES_MAJOR')
  })

  test('refuses a box without room, in the plan and at the box', async () => {
    const { facts } = healthy
    expect(found({ ...healthy, facts: { ...facts!, freeDiskBytes: 1e8 } }, { minio: newer })).toContain('refuse NO_SPACE')
    const disk = { ...one.deps.disk, usedBytes: async () => 1e15 }
    const result = await attempt('space', { synapse: one.target('synapse-1.157.1') }, { ...one.deps, disk })
    expect(result).toMatchObject({ outcome: 'failed', fencedMs: 0, error: { code: 'DISK_FULL' } })
  })

  test('warns of a compose file changed by hand, of other services, and refuses what compose would recreate', async () => {
    const revert = await editCompose((text) => `${text}# a remark\n`)
    expect(found(await one.report(), { synapse: '1.999.0' })).toContain('warn COMPOSE_CHANGED')
    await revert()
    const revertOther = await editCompose((text) => text.replace('services:\n', 'services:\n  bridge: { image: "bridge:1" }\n'))
    expect(found(await one.report(), { synapse: '1.999.0' })).toContain('warn OTHER_SERVICES')
    await revertOther()
    const revertMinio = await editCompose((text) => text.replace('MINIO_BROWSER: "off"', 'MINIO_BROWSER: "on"'))
    expect(found(await one.report(), { synapse: '1.999.0' })).toContain('refuse WOULD_RECREATE')
    const result = await attempt('by-hand', { synapse: one.target('synapse-1.157.1') })
    expect(result).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(/minio/) },
    })
    await revertMinio()
    const revertVolume = await editCompose((text) => text.replace(/(\n {2}postgres:\n)( {4}name:)/, '$1    external: true\n$2'))
    expect(found(await one.report(), { synapse: '1.999.0' })).toContain('refuse NOT_RESTORABLE')
    expect(await attempt('external', { synapse: one.target('synapse-1.157.1') })).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'NOT_RESTORABLE', message: expect.stringMatching(/the volume postgres \(line [0-9]+ .*is external/) },
    })
    await revertVolume()
    expect((await one.report()).facts).toMatchObject({ composeChanged: false, wouldRecreate: [], otherServices: [] })
  })

  test('refuses a service that was scaled by hand', async () => {
    const { project } = await one.box()
    const { testbed } = one
    const scale = (count: number) => {
      const args = [
        'compose',
        '-p',
        project.name,
        '-f',
        project.composeFile,
        'up',
        '-d',
        '--no-recreate',
        '--scale',
        `minio=${count}`,
        'minio',
      ]
      return execa(testbed.docker, args, { env: dockerEnvironment(testbed), extendEnv: false })
    }
    await scale(2)
    expect(found(await one.report(), { synapse: '1.999.0' })).toContain('refuse SCALED_SERVICE')
    expect(await attempt('scaled', { synapse: one.target('synapse-1.157.1') })).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(/minio has more than one container/) },
    })
    await scale(1)
    expect((await one.report()).facts).toMatchObject({ scaledServices: [], notRestorable: [] })
  })

  test('stops at images that are not there, at digests that are others, and at a registry that does not answer', async () => {
    const { slug, boxId, ownershipEpoch } = one.payload({ services: {}, migrationsHead: '0000' })
    const { image, digest } = one.target('synapse-1.157.1')
    const fetchOf = (id: string, target: { image: string; digest?: string }) =>
      prefetch(one.deps)(one.context(id), {
        slug,
        boxId,
        ownershipEpoch,
        targets: { services: { synapse: target }, migrationsHead: '0000' },
      })
    await expect(fetchOf('no-tag', { image: `${image}-nowhere` })).rejects.toMatchObject({ code: 'PULL_FAILED' })
    await expect(fetchOf('no-digest', { image, digest: `sha256:${'0'.repeat(64)}` })).rejects.toMatchObject({ code: 'PULL_FAILED' })
    await expect(fetchOf('not-allowed', { image: 'registry.elsewhere/tenantry/synapse:v1.157.1', digest })).rejects.toMatchObject({
      code: 'IMAGE_NOT_ALLOWED',
    })
  })

  test('refuses a sick box by its part, a fenced one, and one in other hands', async () => {
    const { project } = await one.box()
    await one.deps.engine.stop(project, ['minio'])
    const sick = await one.report()
    const probe = await one.deps.servers.probe(await one.box())
    await one.deps.engine.start(project, ['minio'])
    expect(found(sick, { synapse: '1.999.0' })).toContain('refuse BOX_UNHEALTHY')
    const box = aKnownBox(one.slug, { installed: healthy.installed, report: healthy, probe, heldBy: 'move:mv_1' })
    const { findings } = preflightBox(box, { ...installedTarget(), synapse: '1.999.0' }, limits)
    expect(findings).toMatchObject(
      expect.arrayContaining([
        { severity: 'refuse', code: 'BOX_UNHEALTHY', message: expect.stringMatching(/objectStorage/) },
        { severity: 'warn', code: 'BOX_HELD', message: expect.stringMatching(/move:mv_1/) },
      ]),
    )
  })

  test('sees an image with another C library under a database that sorts by one, before anything stops', async () => {
    const { engine, servers } = one.deps
    const { images } = one.testbed
    expect(await engine.imageLibc(images.postgres.ref)).toBe('glibc')
    await expect(engine.imageLibc(`${images.postgres.ref}-nowhere`)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const major = Number.parseInt(parseImage(images.edge.ref).tag, 10)
    const ofMajor = (facts: DatabaseFacts): DatabaseFacts => ({
      ...{ ...facts, collation: 'de_DE.utf8' },
      ...(facts.hotCopy ? { hotCopy: { ...facts.hotCopy, major } } : {}),
    })
    const deps: UpdateDeps = {
      ...one.deps,
      engine: { ...engine, imageLibc: async (image) => (image === images.postgres.ref ? engine.imageLibc(image) : 'musl') },
      servers: { ...servers, databaseFacts: async (box) => ofMajor((await servers.databaseFacts(box))!) },
    }
    // Any other image will do: nothing of it is started. The tag of this one counts as the version of the database.
    const result = await attempt('libc', { postgres: { image: images.edge.ref, digest: images.edge.digest } }, deps)
    expect(result).toMatchObject({
      outcome: 'failed',
      fencedMs: 0,
      error: { code: 'PREFLIGHT_REFUSED', message: expect.stringMatching(/uses the collation de_DE.utf8.*glibc.*musl/) },
    })
    await one.talk.expectComplete()
  })
})
