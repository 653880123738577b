import { mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { rewriteImages, rewriteVolumes } from '../../../src/agent/boxes/index.ts'
import type { ContainerEngine, ContainerState, EngineEvent, Project } from '../../../src/agent/ports/index.ts'
import { Service } from '../../../src/core/boxes/index.ts'

/** Images of the registry under test. `newer` is another postgres. Their programs do not run: every service sleeps. */
type SuiteImages = Readonly<{
  edge: string
  synapse: string
  postgres: string
  minio: string
  newer: string
  missing: string
  nowhere: string
}>

/** A registry that does not answer, an image of it, and a mirror that has it. */
type Mirrored = Readonly<{ registry: string; mirror: string; image: string }>
/** An image that only one account may have. */
type Guarded = Readonly<{ registry: string; image: string; username: string; password: string }>

export type EngineUnderTest = Readonly<{ engine: ContainerEngine; images: SuiteImages; mirrored: Mirrored; guarded: Guarded }>

const all: readonly Service[] = Service.options
let nextProject = 1

/** Rules for every container engine, real or simulated. */
export function engineSuite(title: string, fresh: () => Promise<EngineUnderTest>): void {
  describe(title, () => {
    let engine: ContainerEngine
    let images: SuiteImages
    let mirrored: Mirrored
    let guarded: Guarded
    const laidOut: { project: Project; text: string }[] = []

    beforeAll(async () => {
      ;({ engine, images, mirrored, guarded } = await fresh())
      for (const image of [images.edge, images.synapse, images.postgres, images.minio, images.newer]) await engine.pull(image, {})
    })

    afterEach(async () => {
      for (const { project, text } of laidOut.splice(0)) {
        await writeFile(project.composeFile, text)
        await engine.down(project, { volumes: true })
        await rm(project.folder, { recursive: true })
      }
    })

    const aProject = async () => {
      const folder = await realpath(await mkdtemp(join(tmpdir(), 'tenantry-engine-')))
      await mkdir(join(folder, 'edge'))
      const name = `suite-${process.pid}-${nextProject++}`
      const project: Project = { name, folder, composeFile: join(folder, 'compose.yaml') }
      const text = sleepers(name, images)
      await writeFile(project.composeFile, text)
      laidOut.push({ project, text })
      return { project, text }
    }
    const the = async (project: Project, service: Service) =>
      (await engine.containers(project)).find((container) => container.service === service) as ContainerState
    const ids = async (project: Project) => Object.fromEntries((await engine.containers(project)).map(({ service, id }) => [service, id]))

    test('it reports its versions', async () => {
      expect(await engine.info()).toEqual({ engine: expect.stringMatching(/./), compose: expect.stringMatching(/./) })
    })

    describe('images', () => {
      test('a pull answers the registry digest, again and by digest', async () => {
        const digest = await engine.pull(images.postgres, {})
        expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/)
        expect(await engine.pull(images.postgres, { digest })).toBe(digest)
        expect(await engine.localDigest(images.postgres)).toBe(digest)
        expect(await engine.localDigest(images.missing)).toBeUndefined()
      })

      test('failed pulls have distinct codes, with the image in the message', async () => {
        await expect(engine.pull(images.missing, {})).rejects.toMatchObject({
          code: 'PULL_FAILED',
          message: expect.stringContaining(images.missing),
        })
        await expect(engine.pull(images.nowhere, {})).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' })
        await expect(engine.pull(images.postgres, { digest: `sha256:${'0'.repeat(64)}` })).rejects.toMatchObject({ code: 'PULL_FAILED' })
      })

      test('a mirror is asked first, and what came from it bears the name and the digest that were asked for', async () => {
        const { registry, mirror, image } = mirrored
        const registries = { [registry]: { mirror } }
        const digest = await engine.pull(image, { registries })
        expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/)
        expect(await engine.localDigest(image)).toBe(digest)
        expect(await engine.pull(image, { registries, digest })).toBe(digest)
        await expect(engine.pull(image, { registries, digest: `sha256:${'0'.repeat(64)}` })).rejects.toMatchObject({
          code: expect.stringMatching(/^(PULL_FAILED|REGISTRY_UNAVAILABLE)$/),
        })
      })

      test('a mirror that does not answer, or lacks the image, is passed by', async () => {
        const { registry } = mirrored
        const ours = images.postgres.split('/')[0] as string
        for (const mirror of [registry, `${ours}/somewhere/else`])
          expect(await engine.pull(images.postgres, { registries: { [ours]: { mirror } } })).toBe(await engine.localDigest(images.postgres))
      })

      test('a registry refuses another account, and credentials go to no other registry', async () => {
        const { image, registry, username, password } = guarded
        const pull = (account: object) => engine.pull(image, { registries: { [registry]: account } })
        await expect(engine.pull(image, {})).rejects.toMatchObject({ code: 'PULL_FAILED' })
        await expect(pull({ username, password: 'wrong' })).rejects.toMatchObject({
          code: 'PULL_FAILED',
          message: expect.not.stringContaining('wrong'),
        })
        expect(await pull({ username, password })).toBe(await engine.localDigest(image))
      })

      test('a tag is resolved without a pull, to the digest that a pull returns', async () => {
        const { image: elsewhere, registry, mirror } = mirrored
        const registries = { [registry]: { mirror } }
        expect(await engine.resolve(images.newer, {})).toBe(await engine.localDigest(images.newer))
        expect(await engine.resolve(images.newer, {})).not.toBe(await engine.resolve(images.postgres, {}))
        expect(await engine.resolve(elsewhere, { registries })).toBe(await engine.pull(elsewhere, { registries }))
        await expect(engine.resolve(images.missing, {})).rejects.toMatchObject({
          code: 'IMAGE_NOT_FOUND',
          message: expect.stringContaining(images.missing),
        })
        await expect(engine.resolve(images.nowhere, {})).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' })
        expect(await engine.localDigest(images.missing)).toBeUndefined()
      })

      test('a registry with an account resolves no tag for another account', async () => {
        const { image, registry, username, password } = guarded
        const ask = (account: object) => engine.resolve(image, { registries: { [registry]: account } })
        await expect(engine.resolve(image, {})).rejects.toMatchObject({ code: 'PULL_FAILED' })
        await expect(ask({ username, password: 'wrong' })).rejects.toMatchObject({
          code: 'PULL_FAILED',
          message: expect.not.stringContaining('wrong'),
        })
        const digest = await ask({ username, password })
        expect(await engine.pull(image, { digest, registries: { [registry]: { username, password } } })).toBe(digest)
      })

      test('a local image reports its C library and stays unchanged', async () => {
        expect(await engine.imageLibc(images.postgres)).toBe('glibc')
        expect(await engine.imageLibc(images.postgres)).toBe('glibc')
        await expect(engine.imageLibc(images.missing)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      })

      test('pins are idempotent and leave the image', async () => {
        await engine.pin(images.postgres, 'roll.oak.1.update')
        await engine.pin(images.postgres, 'roll.oak.1.update')
        await engine.unpin('roll.oak.1.update')
        await engine.unpin('roll.oak.1.update')
        expect(await engine.localDigest(images.postgres)).toMatch(/^sha256:/)
        await expect(engine.pin(images.missing, 'x')).rejects.toMatchObject({ code: expect.stringMatching(/NOT_FOUND|PULL_FAILED/) })
      })

      test('are listed with their users, and an unused one is removed with its names and no other', async () => {
        const { project } = await aProject()
        const named = async (name: string) => (await engine.images()).find(({ names }) => names.includes(name))
        await engine.pull(images.newer, {})
        await engine.up(project, ['postgres'])
        expect(await named(images.postgres)).toMatchObject({ pulled: true, used: true })
        expect(await named(images.newer)).toMatchObject({ names: [images.newer], pulled: true, pinned: false, used: false })
        expect(Date.parse((await named(images.newer))?.namedAt ?? '')).toBeGreaterThan(0)
        await engine.pin(images.newer, `suite.${project.name}`)
        const newer = await named(images.newer)
        expect(newer).toMatchObject({ names: [images.newer], pinned: true })
        await expect(engine.removeImage(newer!)).rejects.toMatchObject({ code: 'CONFLICT' })
        expect(await engine.localDigest(images.newer)).toMatch(/^sha256:/)
        await engine.unpin(`suite.${project.name}`)
        await engine.removeImage(newer!)
        await engine.removeImage(newer!)
        expect(await engine.localDigest(images.newer)).toBeUndefined()
        expect(await named(images.postgres)).toMatchObject({ used: true })
        await engine.pull(images.newer, {})
      })

      test('an aborted pull ends', async () => {
        await expect(engine.pull(images.postgres, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i)
      })
    })

    describe('up', () => {
      test("starts only what is named, with the digest that runs, compose's own hash and the named volumes", async () => {
        const { project } = await aProject()
        expect(await engine.containers(project)).toEqual([])
        await engine.up(project, ['postgres'])
        expect(Object.keys(await ids(project))).toEqual(['postgres'])
        expect(await the(project, 'postgres')).toMatchObject({
          state: 'running',
          image: images.postgres,
          digest: await engine.localDigest(images.postgres),
          configHash: (await engine.configHashes(project)).postgres?.[0],
          exitCode: null,
          restartCount: 0,
          volumes: [`${project.name}-postgres`],
        })
        expect((await the(project, 'postgres')).address).toMatch(/^[0-9.]+$/)
      })

      test('again changes nothing; another image recreates that service alone', async () => {
        const { project, text } = await aProject()
        await engine.up(project, all)
        const before = await ids(project)
        await engine.up(project, all)
        expect(await ids(project)).toEqual(before)
        await writeFile(project.composeFile, rewriteImages(text, { postgres: images.newer }))
        const hashes = await engine.configHashes(project)
        expect(hashes.postgres).not.toContain((await the(project, 'postgres')).configHash)
        expect(hashes.synapse).toContain((await the(project, 'synapse')).configHash)
        await engine.up(project, all)
        const after = await ids(project)
        expect(after).toEqual({ ...before, postgres: after.postgres })
        expect(after.postgres).not.toBe(before.postgres)
        expect(await the(project, 'postgres')).toMatchObject({ image: images.newer, digest: await engine.localDigest(images.newer) })
      })

      test('what is only created is the new container, and start starts it', async () => {
        const { project, text } = await aProject()
        await engine.up(project, all)
        const before = await ids(project)
        await engine.stop(project, ['synapse'])
        await writeFile(project.composeFile, text.replace('media:/media', 'media:/other'))
        await engine.create(project, ['synapse'])
        const created = await ids(project)
        expect(created).toEqual({ ...before, synapse: created.synapse })
        expect(created.synapse).not.toBe(before.synapse)
        expect((await the(project, 'synapse')).state).not.toBe('running')
        await engine.create(project, ['synapse'])
        await engine.start(project, ['synapse'])
        expect(await ids(project)).toEqual(created)
        expect((await the(project, 'synapse')).state).toBe('running')
      })

      test('a service that depends on others is current after it was brought up alone', async () => {
        const { project, text } = await aProject()
        const dependent = text.replace('volumes: ["media:/media"]', 'volumes: ["media:/media"]\n    depends_on: [postgres]')
        await writeFile(project.composeFile, dependent)
        await engine.up(project, ['synapse'])
        expect((await engine.configHashes(project)).synapse).toContain((await the(project, 'synapse')).configHash)
        await writeFile(project.composeFile, dependent.replace('media:/media', 'media:/other'))
        expect((await engine.configHashes(project)).synapse).not.toContain((await the(project, 'synapse')).configHash)
      })

      test('a container has the settings that compose names, dollar signs and defaults of its image included', async () => {
        const { project, text } = await aProject()
        const variables = text.replace('volumes: ["media:/media"]', 'volumes: ["media:/media"]\n    environment: { PASSWORD: "a$$b" }')
        await writeFile(project.composeFile, variables)
        await engine.up(project, ['synapse'])
        const { settings, imageSettings, image, composeVersion } = await the(project, 'synapse')
        const composed = (await engine.composedServices(project)).synapse
        expect({ ...imageSettings, ...settings, ...composed?.settings }).toEqual({
          ...settings,
          environment: composed?.settings.environment,
        })
        expect(settings.environment).toEqual({ ...imageSettings.environment, ...composed?.settings.environment })
        expect(JSON.stringify(settings)).not.toContain('a$')
        expect(composed?.image).toBe(image)
        expect(composeVersion).toMatch(/^\d+\.\d+\.\d+$/)
      })

      test('never goes on with the former volume when the file names another', async () => {
        const { project, text } = await aProject()
        const other = `${project.name}-postgres-2`
        await engine.up(project, ['postgres'])
        await writeFile(project.composeFile, rewriteVolumes(text, { postgres: other }))
        await engine.up(project, ['postgres'])
        expect((await the(project, 'postgres')).volumes).toEqual([other])
        expect(await engine.volumePath(`${project.name}-postgres`)).toBeDefined()
        await engine.down(project, { volumes: true })
      })

      test('refuses a file that is none, a service that is not in it, and an image that is not here', async () => {
        const { project, text } = await aProject()
        await writeFile(project.composeFile, rewriteImages(text, { synapse: images.missing }))
        await expect(engine.up(project, ['synapse'])).rejects.toMatchObject({
          code: 'PULL_FAILED',
          message: expect.stringContaining(images.missing),
        })
        await writeFile(project.composeFile, text.replace('  minio:', '  other:'))
        await expect(engine.up(project, ['minio'])).rejects.toMatchObject({ code: 'COMPOSE_INVALID' })
        await writeFile(project.composeFile, 'services: [')
        await expect(engine.up(project, ['synapse'])).rejects.toMatchObject({ code: 'COMPOSE_INVALID' })
        await expect(engine.configHashes(project)).rejects.toMatchObject({ code: 'COMPOSE_INVALID' })
      })

      test('an abort ends it', async () => {
        const { project } = await aProject()
        await expect(engine.up(project, ['postgres'], AbortSignal.abort())).rejects.toThrow(/abort/i)
      })
    })

    test('the output of a program in a container is streamed, and returned at its end', async () => {
      const { project } = await aProject()
      await engine.up(project, ['postgres'])
      const heard: string[] = []
      const onStdout = (part: Buffer) => void heard.push(part.toString('utf8'))
      const { exitCode, stdout } = await engine.exec((await ids(project)).postgres!, ['echo', 'awake'], { onStdout })
      expect({ exitCode, stdout, heard: heard.join('') }).toEqual({ exitCode: 0, stdout: 'awake\n', heard: 'awake\n' })
    })

    describe('stop and start', () => {
      test('keep the container and say how it stands, even while the file is broken', async () => {
        const { project } = await aProject()
        await engine.up(project, ['postgres', 'edge'])
        const before = await ids(project)
        await writeFile(project.composeFile, 'services: [')
        await engine.stop(project, ['postgres', 'synapse'])
        await engine.stop(project, ['postgres'])
        expect(await the(project, 'postgres')).toMatchObject({ state: 'exited', exitCode: expect.any(Number), address: null })
        expect(await the(project, 'edge')).toMatchObject({ state: 'running' })
        await expect(engine.exec(before.postgres!, ['true'])).rejects.toMatchObject({ code: 'BOX_UNHEALTHY' })
        await engine.start(project, ['postgres', 'synapse'])
        expect(await ids(project)).toEqual(before)
        expect(await the(project, 'postgres')).toMatchObject({ state: 'running' })
        expect((await engine.exec(before.postgres!, ['true'])).exitCode).toBe(0)
      })

      test('are sent to all listeners', async () => {
        const { project } = await aProject()
        const abort = new AbortController()
        const seen: EngineEvent[] = []
        const listening = (async () => {
          for await (const event of engine.events(abort.signal)) {
            if (event.project === project.name) seen.push(event)
            if (seen.length === 2) abort.abort()
          }
        })()
        await engine.info()
        await engine.up(project, ['edge'])
        await engine.stop(project, ['edge'])
        await listening
        expect(seen.map(({ service, action }) => `${service} ${action}`)).toEqual(['edge start', 'edge die'])
      })
    })

    describe('containers by their ids', () => {
      test('stop, start unchanged and are removed, whatever project they are of; their volumes stay', async () => {
        const { project } = await aProject()
        await engine.up(project, ['postgres', 'edge'])
        const before = await ids(project)
        const named = async () => (await engine.projectContainers(project.name)).map(({ name, isRunning }) => `${name} ${isRunning}`)
        const [edge, postgres] = ['edge', 'postgres'].map((service) => `${project.name}-${service}-1`)
        expect(await named()).toEqual([`${edge} true`, `${postgres} true`])
        const gone = '0'.repeat(64)
        await engine.stopContainers([before.postgres!, gone])
        await engine.stopContainers([before.postgres!])
        expect(await named()).toEqual([`${edge} true`, `${postgres} false`])
        expect((await engine.hostContainers()).map(({ id }) => id)).not.toContain(before.postgres)
        await engine.startContainers([{ id: before.postgres!, alwaysRestarts: false }])
        expect(await ids(project)).toEqual(before)
        expect(await named()).toEqual([`${edge} true`, `${postgres} true`])
        await expect(engine.startContainers([{ id: gone, alwaysRestarts: false }])).rejects.toMatchObject({ code: 'BOX_UNHEALTHY' })
        const volumes = await engine.projectVolumes(project.name)
        expect(volumes).toContain(`${project.name}-postgres`)
        await engine.removeContainers([before.postgres!, gone])
        expect(await named()).toEqual([`${edge} true`])
        expect(await engine.projectVolumes(project.name)).toEqual(volumes)
      })
    })

    describe('all of a project', () => {
      test('is found and removed by its name alone, volumes of former attempts too', async () => {
        const { project } = await aProject()
        const other = await aProject()
        await engine.up(project, ['postgres', 'edge'])
        await engine.up(other.project, ['edge'])
        await engine.createVolume(project, 'postgres', `${project.name}-postgres-2`)
        const [network, ...others] = await engine.networks(project)
        expect(network).toMatchObject({ name: `${project.name}_default`, composeVersion: expect.stringMatching(/^\d+\.\d+/) })
        expect(others).toEqual([])
        const postgres = (await engine.hostContainers()).find(({ name }) => name === `${project.name}-postgres-1`)
        expect(postgres).toMatchObject({ project: project.name, service: 'postgres', image: images.postgres })
        expect(postgres?.addresses).toContainEqual(expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/))
        expect(postgres?.mounts).toContainEqual({
          source: await engine.volumePath(`${project.name}-postgres`),
          target: '/var/lib/postgresql/data',
        })
        await engine.stop(project, ['postgres'])
        expect((await engine.hostContainers()).map(({ id }) => id)).not.toContain(postgres?.id)
        await writeFile(project.composeFile, 'services: [')
        expect(await engine.projects(`suite-${process.pid}-`)).toEqual(expect.arrayContaining([project.name, other.project.name]))
        expect(await engine.projects(`${project.name}-none`)).toEqual([])
        const removed = await engine.removeProject(project.name)
        expect(removed).toEqual(
          expect.arrayContaining([
            `container ${project.name}-postgres-1`,
            `volume ${project.name}-postgres`,
            `volume ${project.name}-postgres-2`,
          ]),
        )
        expect(await engine.containers(project)).toEqual([])
        expect(await engine.volumePath(`${project.name}-postgres-2`)).toBeUndefined()
        expect(await engine.projects(project.name)).toEqual([])
        expect(await engine.removeProject(project.name)).toEqual([])
        expect(await the(other.project, 'edge')).toMatchObject({ state: 'running' })
      })

      test('other volumes stay and are reported when only the volumes of the box are removed', async () => {
        const { project } = await aProject()
        await engine.up(project, ['postgres', 'edge'])
        await engine.createVolume(project, 'postgres', `${project.name}-postgres-2`)
        await engine.createVolume(project, 'bridge', `${project.name}-bridge`)
        const removed = await engine.removeProject(project.name, ['postgres', 'media', 'objects'])
        expect(removed).toEqual(
          expect.arrayContaining([
            `container ${project.name}-edge-1`,
            `volume ${project.name}-postgres`,
            `volume ${project.name}-postgres-2`,
            `left: volume ${project.name}-bridge`,
          ]),
        )
        expect(await engine.volumePath(`${project.name}-bridge`)).toMatch(/^\//)
        expect(await engine.volumePath(`${project.name}-postgres-2`)).toBeUndefined()
        expect(await engine.removeProject(project.name)).toEqual([`volume ${project.name}-bridge`])
      })

      test('is still found when only a volume is left of it', async () => {
        const { project } = await aProject()
        await engine.createVolume(project, 'media', `${project.name}-media`)
        expect(await engine.projects(project.name)).toEqual([project.name])
        expect(await engine.removeProject(project.name)).toEqual([`volume ${project.name}-media`])
      })
    })

    describe('what was printed', () => {
      const lineForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z .+$/

      test('is read with the engine’s times and from a moment on, running or stopped', async () => {
        const { project } = await aProject()
        await engine.up(project, ['edge'])
        const { id } = await the(project, 'edge')
        await expect.poll(() => engine.logs(id, 10)).not.toBe('')
        await engine.stop(project, ['edge'])
        const plain = (await engine.logs(id, 10)).trim().split('\n')
        const timed = (await engine.logs(id, 10, { timestamps: true })).trim().split('\n')
        for (const line of timed) expect(line).toMatch(lineForm)
        expect(timed.map((line) => line.slice(line.indexOf(' ') + 1))).toEqual(plain)
        const last = timed.at(-1) as string
        expect(await engine.logs(id, 10, { timestamps: true, since: last.slice(0, last.indexOf(' ')) })).toBe(`${last}\n`)
        expect(await engine.logs(id, 10, { since: '2199-01-01T00:00:00.000000001Z' })).toBe('')
      })

      test('are followed from a time on, until the signal aborts or the container stops', async () => {
        const { project } = await aProject()
        await engine.up(project, ['edge'])
        const { id, startedAt } = await the(project, 'edge')
        // A program may print before the engine notes its start.
        const since = new Date(Date.parse(startedAt as string) - 60_000).toISOString()
        const stop = new AbortController()
        for await (const line of engine.followLogs(id, since, stop.signal)) {
          expect(line).toMatch(lineForm)
          stop.abort()
        }
        await engine.stop(project, ['edge'])
        const lines: string[] = []
        for await (const line of engine.followLogs(id, since, AbortSignal.timeout(20_000))) lines.push(line)
        expect(lines.length).toBeGreaterThan(0)
      })

      test('a running container is measured, a stopped one is not', async () => {
        const { project } = await aProject()
        await engine.up(project, ['edge'])
        const { id } = await the(project, 'edge')
        expect(await engine.usage(id)).toEqual({
          ...{ cpuPercent: expect.any(Number), memoryBytes: expect.any(Number), memoryLimitBytes: expect.any(Number) },
        })
        await engine.stop(project, ['edge'])
        expect(await engine.usage(id)).toBeNull()
        expect(await engine.usage('0'.repeat(64))).toBeNull()
      })
    })

    describe('discarding', () => {
      test('takes the named containers away, running or stopped, even while the file is broken; volumes stay', async () => {
        const { project } = await aProject()
        await engine.up(project, ['edge', 'postgres', 'minio'])
        await engine.stop(project, ['minio'])
        await writeFile(project.composeFile, 'services: [')
        await engine.discard(project, ['postgres', 'minio', 'synapse'])
        await engine.discard(project, ['postgres'])
        expect(Object.keys(await ids(project))).toEqual(['edge'])
        expect(await engine.volumePath(`${project.name}-postgres`)).toBeDefined()
      })
    })

    describe('volumes', () => {
      test('are made, found, removed; one in use is left', async () => {
        const { project } = await aProject()
        const name = `${project.name}-extra`
        expect(await engine.volumePath(name)).toBeUndefined()
        await engine.createVolume(project, 'extra', name)
        await engine.createVolume(project, 'extra', name)
        expect(await engine.volumePath(name)).toBe(join((await engine.volumesFolder()) ?? '', name, '_data'))
        const folders = await engine.imageFolders()
        expect(folders.length).toBeGreaterThan(0)
        for (const folder of folders) expect((await stat(folder)).isDirectory()).toBe(true)
        await engine.removeVolume(name)
        await engine.removeVolume(name)
        expect(await engine.volumePath(name)).toBeUndefined()
        await engine.up(project, ['postgres'])
        await expect(engine.removeVolume(`${project.name}-postgres`)).rejects.toMatchObject({ code: 'CONFLICT' })
      })

      test('outlive the containers unless they shall not', async () => {
        const { project } = await aProject()
        await engine.up(project, ['postgres'])
        await engine.down(project)
        expect(await engine.containers(project)).toEqual([])
        expect(await engine.volumePath(`${project.name}-postgres`)).toBeDefined()
        await engine.up(project, ['postgres'])
        await engine.down(project, { volumes: true })
        expect(await engine.volumePath(`${project.name}-postgres`)).toBeUndefined()
      })
    })
  })
}

/** Four services that only sleep, in the images of a box. */
const sleepers = (name: string, images: SuiteImages): string => `# by the suite
name: ${name}
x-asleep: &asleep { entrypoint: ["sleep", "1000"], stop_signal: SIGKILL }
services:
  edge:
    image: ${images.edge}
    <<: *asleep
    entrypoint: ["sh", "-c", "echo awake; exec sleep 1000"]
  synapse:
    image: ${images.synapse}
    <<: *asleep
    volumes: ["media:/media"]
  postgres:
    image: ${images.postgres}
    <<: *asleep
    volumes: ["postgres:/var/lib/postgresql/data"]
  minio:
    image: ${images.minio}
    <<: *asleep
    volumes: ["objects:/data"]
volumes:
  postgres: { name: ${name}-postgres }
  media: { name: ${name}-media }
  objects: { name: ${name}-objects }
`
