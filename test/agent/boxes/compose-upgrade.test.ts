import { describe, expect, test } from 'vitest'
import { differencesOf } from '../../../src/agent/boxes/index.ts'
import type { ComposedService, ContainerEngine, ContainerState, Project } from '../../../src/agent/ports/index.ts'
import { aWorld } from '../update/an-update.ts'

const project: Project = { name: 'box-oak', folder: '/boxes/oak', composeFile: '/boxes/oak/compose.yaml', envFile: '/boxes/oak/.env' }

const imageSettings = { environment: { PATH: 'p', PGDATA: 'd' }, command: ['postgres'], entrypoint: ['start'] }

const container: ContainerState = {
  ...{ id: 'c1', service: 'postgres', image: 'postgres:15.14', digest: null, state: 'running', exitCode: null, restartCount: 0 },
  ...{ configHash: 'by 2.26.1', composeVersion: '2.26.1', startedAt: '2026-01-01T00:00:00Z', address: null, volumes: ['db'] },
  ...{ mounts: [{ kind: 'volume', source: 'db', target: '/data' }], networks: ['box-oak_default'] },
  ...{ composeFiles: [project.composeFile], envFiles: ['/dev/null'] },
  settings: { ...imageSettings, environment: { ...imageSettings.environment, USER: 'u', https_proxy: 'of the docker client' } },
  imageSettings,
}

const composed: ComposedService = {
  hashes: ['by 2.40.0'],
  image: 'postgres:15.14',
  settings: { environment: { USER: 'u', PGDATA: 'd' } },
  mounts: container.mounts,
  networks: container.networks,
}

type Case = Readonly<{ container?: Partial<ContainerState>; composed?: Partial<ComposedService>; compose?: string }>

const found = (change: Case) =>
  differencesOf(project, {
    compose: '2.40.0-1',
    ...change,
    containers: [{ ...container, ...change.container }],
    composed: { postgres: { ...composed, ...change.composed } },
  })

describe('a config hash that differs', () => {
  test('is explained by an upgrade of compose where all else is equal', () => {
    expect(found({})).toMatchObject([{ services: ['postgres'], isHashAlone: true }])
    const run = { settings: { ...container.settings, command: ['a'], entrypoint: ['b'] } }
    const written = { settings: { ...composed.settings, command: ['a'], entrypoint: ['b'] } }
    expect(found({ container: run, composed: written })).toMatchObject([{ isHashAlone: true }])
    expect(found({ container: { composeFiles: ['/boxes/oak/.compose.restore.yaml'] } })).toMatchObject([{ isHashAlone: true }])
  })

  const differing: readonly (readonly [string, Case])[] = [
    ['compose is the version that created the container', { compose: '2.26.1-4' }],
    ['the installed version is unknown', { compose: '' }],
    ['compose recorded no version', { container: { composeVersion: null } }],
    ['the image differs', { composed: { image: 'postgres:15.15' } }],
    ['a variable differs', { composed: { settings: { environment: { USER: 'other' } } } }],
    ['a variable was added', { composed: { settings: { environment: { USER: 'u', MORE: 'm' } } } }],
    ['a variable was removed', { composed: { settings: { environment: {} } } }],
    ['a command was added', { composed: { settings: { ...composed.settings, command: ['postgres', '-c', 'fsync=off'] } } }],
    ['a command was removed', { container: { settings: { ...container.settings, command: ['postgres', '-c', 'fsync=off'] } } }],
    ['the entrypoint differs', { composed: { settings: { ...composed.settings, entrypoint: ['sh'] } } }],
    ['it was started from another file', { container: { composeFiles: [project.composeFile, '/boxes/oak/prod.yaml'] } }],
    ['it was started with other variables', { container: { envFiles: ['/boxes/oak/prod.env'] } }],
    ['a mount differs', { composed: { mounts: [] } }],
    ['a network differs', { composed: { networks: [] } }],
  ]
  test.each(differing)('is a difference where %s', (_, change) => {
    expect(found(change)).toMatchObject([{ isHashAlone: false }])
  })
})

/** As after an upgrade of the compose plugin: it hashes every service differently. */
const upgraded = (engine: ContainerEngine): ContainerEngine => ({
  ...engine,
  info: async () => ({ engine: '28.0.0', compose: '2.40.0' }),
  composedServices: async (of) =>
    Object.fromEntries(
      Object.entries(await engine.composedServices(of)).map(([service, one]) => [service, { ...one, hashes: ['of compose 2.40.0'] }]),
    ),
  configHashes: async (of) =>
    Object.fromEntries(Object.entries(await engine.configHashes(of)).map(([service]) => [service, ['of compose 2.40.0']])),
})

describe('an update after an upgrade of compose', () => {
  const afterUpgrade = (world: Awaited<ReturnType<typeof aWorld>>) => world.agent((ports) => ({ ...ports, engine: upgraded(ports.engine) }))

  test('updates a box whose services are unchanged', async () => {
    const world = await aWorld()
    expect(await world.run(undefined, { deps: await afterUpgrade(world) })).toMatchObject({ outcome: 'committed' })
  })

  test('refuses a service whose command was edited', async () => {
    const world = await aWorld()
    await world.edit((text) => text.replace('"objects:/data" ] }', '"objects:/data" ], command: [ server ] }'))
    expect(await world.run(undefined, { deps: await afterUpgrade(world) })).toMatchObject({
      outcome: 'failed',
      error: { code: 'PREFLIGHT_REFUSED', message: expect.stringContaining('minio runs with other settings than compose.yaml has') },
    })
  })
})
