import { mkdtemp, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dockerEngine } from '../../src/agent/docker/index.ts'
import { endSurvivors, ownedEnvironment } from '../../src/agent/journal/index.ts'
import type { ContainerEngine, Project } from '../../src/agent/ports/index.ts'
import { systemClock } from '../../src/node/index.ts'
import { engineSuite } from '../agent/suites/engine-suite.ts'
import { deleteTag, pushTag, readTestbed, testbedExists } from '../testbed/testbed.ts'
import { type GuardedRegistry, guardedRegistry } from './support/guarded-registry.ts'

const here = testbedExists()
const engineOfTestbed = (change: { dockerHost?: string } = {}) => {
  const { dockerHost, dockerConfig, docker } = readTestbed()
  return dockerEngine({ dockerHost, dockerConfig, docker, ...change })
}
const newerTag = '15.99'
/** An address without a listener. */
const away = '127.0.0.1:9'

describe.skipIf(!here)('Docker', () => {
  let guard: GuardedRegistry
  beforeAll(async () => {
    guard = await guardedRegistry()
    await pushTag('postgres', readTestbed().images.postgres.tag, newerTag, { relabel: true })
  })
  afterAll(async () => {
    await deleteTag('postgres', newerTag)
    await guard.stop()
    const { docker, dockerHost } = readTestbed()
    const { stdout } = await execa(docker, ['-H', dockerHost, 'images', '--format', '{{.Repository}}:{{.Tag}}'])
    const names = stdout.split('\n').filter((name) => name.startsWith(guard.registry) || name.startsWith(`${away}/`))
    if (names.length > 0) await execa(docker, ['-H', dockerHost, 'rmi', ...names])
  })

  engineSuite('the engine suite', async () => {
    const { images, registry } = readTestbed()
    const { username, password } = guard
    return {
      engine: engineOfTestbed(),
      mirrored: { registry: away, mirror: registry, image: images.edge.ref.replace(registry, away) },
      guarded: { registry: guard.registry, image: images.edge.ref.replace(registry, guard.registry), username, password },
      images: {
        edge: images.edge.ref,
        synapse: images['synapse-1.157.1'].ref,
        postgres: images.postgres.ref,
        minio: images.minio.ref,
        newer: `${images.postgres.repository}:${newerTag}`,
        missing: `${registry}/tenantry/synapse:v9.9.9`,
        nowhere: `${away}/tenantry/synapse:v1.0.0`,
      },
    }
  })

  describe('beyond the suite', () => {
    let engine: ContainerEngine
    let project: Project
    let edge: string
    let folder: string

    const file = (more = '') => `services:
  edge:
    image: ${readTestbed().images.edge.ref}
    entrypoint: ["sleep", "1000"]
    stop_signal: SIGKILL
${more}`

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'tenantry-engine-'))
      engine = engineOfTestbed()
      project = { name: `beyond-${process.pid}`, folder, composeFile: join(folder, 'compose.yaml') }
      await writeFile(project.composeFile, file())
      await engine.pull(readTestbed().images.edge.ref, {})
      await engine.up(project, ['edge'])
      edge = (await engine.containers(project))[0]!.id
    })
    afterAll(() => engine.down(project, { volumes: true }))

    test('a multi-platform image is resolved to the digest of its index, by which it is pulled and identified', async () => {
      const { images, registry } = readTestbed()
      const [one, several] = [`one-${process.pid}`, `several-${process.pid}`]
      const digest = await pushList('edge', await pushTag('edge', images.edge.tag, one, { relabel: true }), several)
      const image = `${registry}/tenantry/edge:${several}`
      try {
        expect(await engine.resolve(image, {})).toBe(digest)
        expect(await engine.pull(image, { digest })).toBe(digest)
        expect(await engine.pull(image, {})).toBe(digest)
        expect(await engine.localDigest(image)).toBe(digest)
      } finally {
        for (const tag of [one, several]) await deleteTag('edge', tag)
        const here = (await engine.images()).find(({ names }) => names.includes(image))
        if (here) await engine.removeImage(here)
      }
    })

    test('exec answers exit code, output and errors, and feeds the program', async () => {
      expect(await engine.exec(edge, ['sh', '-c', 'cat; echo oh >&2; exit 7'], { stdin: 'fed' })).toEqual({
        exitCode: 7,
        stdout: 'fed',
        stderr: 'oh\n',
      })
      const stream = Readable.from(Array.from({ length: 200 }, (_, line) => `${line}\n`))
      expect((await engine.exec(edge, ['wc', '-l'], { stdin: stream })).stdout.trim()).toBe('200')
      expect((await engine.exec(edge, ['no-such-program'])).exitCode).not.toBe(0)
    })

    test('a large output goes to a file whole; a full disk is DISK_FULL', async () => {
      const stdoutFile = join(folder, 'large')
      const large = ['head', '-c', '50000000', '/dev/zero']
      expect(await engine.exec(edge, large, { stdoutFile })).toMatchObject({ exitCode: 0, stdout: '' })
      expect((await stat(stdoutFile)).size).toBe(50_000_000)
      await expect(engine.exec(edge, large, { stdoutFile: '/dev/full' })).rejects.toMatchObject({ code: 'DISK_FULL' })
    })

    test('an aborted exec ends the program in the container too', async () => {
      const abort = new AbortController()
      const running = engine.exec(edge, ['sleep', '987'], { signal: abort.signal })
      running.catch(() => undefined)
      await expect.poll(() => processes(engine, edge)).toContain('sleep 987')
      abort.abort()
      await expect(running).rejects.toThrow(/abort/i)
      await expect.poll(() => processes(engine, edge)).not.toContain('sleep 987')
    })

    test('a program of a killed agent, which goes on in its container, is ended when the next one starts', async () => {
      const { dockerHost, dockerConfig, docker } = readTestbed()
      const killed = dockerEngine({ dockerHost, dockerConfig, docker, childEnvironment: ownedEnvironment(folder, 'engine') })
      const left = killed.exec(edge, ['sleep', '986'])
      await expect.poll(() => processes(engine, edge)).toContain('sleep 986')
      expect(await endSurvivors({ clock: systemClock, owner: `${folder}-other` })).toBe(0)
      expect(await endSurvivors({ clock: systemClock, owner: folder })).toBe(1)
      expect(await processes(engine, edge)).not.toContain('sleep 986')
      expect((await left).exitCode).not.toBe(0)
    })

    test('a container that prints is read to its last lines', async () => {
      await writeFile(project.composeFile, file('    command: []\n').replace('["sleep", "1000"]', '["sh", "-c", "seq 1 9; sleep 1000"]'))
      await engine.up(project, ['edge'])
      edge = (await engine.containers(project))[0]!.id
      await expect.poll(() => engine.logs(edge, 2)).toBe('8\n9\n')
    })

    test('what dies at its start is no failure of `up`, and shows', async () => {
      await writeFile(project.composeFile, file('    restart: unless-stopped\n').replace('["sleep", "1000"]', '["false"]'))
      await engine.up(project, ['edge'])
      await expect.poll(async () => (await engine.containers(project))[0]?.restartCount, { timeout: 20_000 }).toBeGreaterThan(0)
    })

    test('a port that is taken is PORT_TAKEN', async () => {
      const server = createServer()
      const port = await new Promise<number>((resolve) =>
        server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
      )
      await writeFile(project.composeFile, file(`    ports: ["127.0.0.1:${port}:80"]\n`))
      await expect(engine.up(project, ['edge'])).rejects.toMatchObject({ code: 'PORT_TAKEN' })
      await new Promise((resolve) => server.close(resolve))
      await writeFile(project.composeFile, file())
      await engine.up(project, ['edge'])
    })

    test('an up that is aborted while it waits leaves no compose process', async () => {
      const waiting = `${file('    depends_on: { minio: { condition: service_healthy } }\n')}  minio:
    image: ${readTestbed().images.edge.ref}
    entrypoint: ["sleep", "1000"]
    stop_signal: SIGKILL
    healthcheck: { test: ["CMD", "false"], start_period: 600s }
`
      await writeFile(project.composeFile, waiting)
      const abort = new AbortController()
      const running = engine.up(project, ['edge', 'minio'], abort.signal)
      running.catch(() => undefined)
      await expect
        .poll(async () => (await engine.containers(project)).some(({ service }) => service === 'minio'), { timeout: 20_000 })
        .toBe(true)
      expect(await composeProcesses(project)).not.toEqual([])
      abort.abort()
      await expect(running).rejects.toThrow(/abort/i)
      expect(await composeProcesses(project)).toEqual([])
    })

    test('variables of the environment lead nowhere else', async () => {
      process.env.COMPOSE_PROJECT_NAME = 'elsewhere'
      process.env.COMPOSE_FILE = '/nowhere.yaml'
      try {
        await writeFile(project.composeFile, file())
        await engine.up(project, ['edge'])
        expect(await engine.containers({ ...project, name: 'elsewhere' })).toEqual([])
      } finally {
        delete process.env.COMPOSE_PROJECT_NAME
        delete process.env.COMPOSE_FILE
      }
    })

    test('an engine that is not there is DOCKER_UNAVAILABLE, whatever is asked', async () => {
      const gone = engineOfTestbed({ dockerHost: 'unix:///nowhere/docker.sock' })
      await expect(gone.info()).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' })
      await expect(gone.containers(project)).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' })
      await expect(gone.pull(readTestbed().images.edge.ref, {})).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' })
      await expect(gone.up(project, ['edge'])).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' })
      await expect(gone.exec(edge, ['true'])).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' })
    })
  })
})

/** A list of machines under a tag; all of them get the one image. Answers its digest. */
async function pushList(repo: string, manifest: string, tag: string): Promise<string> {
  const api = `http://${readTestbed().registry}/v2/tenantry/${repo}/manifests`
  const mediaType = 'application/vnd.docker.distribution.manifest.v2+json'
  const { size } = await (await fetch(`${api}/${manifest}`, { headers: { accept: mediaType } })).blob()
  const listType = 'application/vnd.docker.distribution.manifest.list.v2+json'
  const manifests = ['amd64', 'arm64'].map((architecture) => ({
    mediaType,
    size,
    digest: manifest,
    platform: { architecture, os: 'linux' },
  }))
  const body = JSON.stringify({ schemaVersion: 2, mediaType: listType, manifests })
  const pushed = await fetch(`${api}/${tag}`, { method: 'PUT', headers: { 'content-type': listType }, body })
  if (!pushed.ok) throw new Error(`${tag} was not pushed: ${await pushed.text()}`)
  return pushed.headers.get('docker-content-digest') as string
}

const processes = async (engine: ContainerEngine, id: string): Promise<string> =>
  (await engine.exec(id, ['sh', '-c', 'cat /proc/[0-9]*/cmdline | tr "\\0" " "'])).stdout

async function composeProcesses(project: Project): Promise<string[]> {
  const { stdout } = await execa('ps', ['-eo', 'args'], { reject: false })
  return stdout.split('\n').filter((line) => line.includes('compose') && line.includes(project.name))
}
