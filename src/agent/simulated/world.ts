import semver from 'semver'
import { parseImage, type Service } from '../../core/boxes/index.ts'
import { type Clock, isoNow, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import type { EngineEvent, Project } from '../ports/index.ts'
import type { Faults } from './faults.ts'
import type { SimulatedVolumes } from './volumes.ts'

export type SimulatedContainer = {
  readonly id: string
  readonly project: Project
  readonly service: Service
  readonly image: string
  readonly digest: string
  readonly configHash: string
  readonly volumes: readonly string[]
  wanted: 'running' | 'stopped'
  startedAt: string
  startedMs: number
  /** Monotonic time from which it answers, once it has started. */
  readyMs: number
  upgradingUntilMs: number
  /** The last line of its log when it dies as often as it is started. */
  dies: string | null
  /** A Synapse looks at its database once per start. */
  metDatabase: boolean
}

/** All that the simulated engine, boxes and snapshots share of one host. */
export type World = Readonly<{
  clock: Clock
  random: Random
  faults: Faults
  volumes: SimulatedVolumes
  containers: Map<string, SimulatedContainer>
  /** Images on the host, by reference; what a tag was when it was pulled. */
  local: Map<string, string>
  pins: Map<string, Set<string>>
  /** When each image was pulled or pinned last. */
  namedAt: Map<string, string>
  /** The project of each volume that was made for one. */
  volumeProjects: Map<string, string>
  /** Its name in the compose file; the volumes that containers of a box came with have none here. */
  volumeKeys: Map<string, string>
  listeners: Set<(event: EngineEvent) => void>
  image(ref: string): SimulatedImage
}>

type Deps = Readonly<{ clock: Clock; random: Random; faults: Faults; volumes: SimulatedVolumes; images: ImageOverrides }>

export const makeWorld = ({ clock, random, faults, volumes, images }: Deps): World => ({
  clock,
  random,
  faults,
  volumes,
  containers: new Map(),
  local: new Map(),
  pins: new Map(),
  namedAt: new Map(),
  volumeProjects: new Map(),
  volumeKeys: new Map(),
  listeners: new Set(),
  image: (ref) => simulatedImage(ref, images),
})

const key = (project: string, service: string) => `${project}/${service}`

export const containerOf = (world: World, project: string, service: Service): SimulatedContainer | undefined =>
  world.containers.get(key(project, service))

export const containersOf = (world: World, project: string): SimulatedContainer[] =>
  (['edge', 'synapse', 'postgres', 'minio'] as const).flatMap((service) => containerOf(world, project, service) ?? [])

/** As the engine labels it: one that exists keeps the project that it was made for. */
export function createVolume({ volumes, volumeProjects, volumeKeys }: World, project: string, name: string, key?: string): void {
  if (volumes.path(name) === undefined) {
    volumeProjects.set(name, project)
    if (key === undefined) volumeKeys.delete(name)
    else volumeKeys.set(name, key)
  }
  volumes.create(name)
}

type Wanted = Readonly<{
  project: Project
  service: Service
  image: string
  digest: string
  configHash: string
  volumes: readonly string[]
}>

/** Creates and starts a container in place of the one that the service had. */
export function createContainer(world: World, wanted: Wanted): SimulatedContainer {
  const seed = `${wanted.project.name}/${wanted.service}/${Buffer.from(world.random.bytes(8)).toString('hex')}`
  const container: SimulatedContainer = {
    ...wanted,
    id: sha256Hex(seed),
    wanted: 'stopped',
    startedAt: isoNow(world.clock),
    startedMs: 0,
    readyMs: 0,
    upgradingUntilMs: 0,
    dies: null,
    metDatabase: false,
  }
  for (const volume of wanted.volumes) createVolume(world, wanted.project.name, volume)
  world.containers.set(key(wanted.project.name, wanted.service), container)
  return container
}

const startTakes = { postgres: 'postgresStartMs', synapse: 'synapseStartMs', minio: 'minioStartMs' } as const

export function startContainer(world: World, container: SimulatedContainer): void {
  if (container.wanted === 'running') return
  const { service, image } = container
  container.wanted = 'running'
  container.startedAt = isoNow(world.clock)
  container.startedMs = world.clock.monotonicMs()
  container.readyMs = container.startedMs + (service === 'edge' ? 0 : world.faults.draw(startTakes[service]))
  container.upgradingUntilMs = 0
  container.metDatabase = false
  const fault = world.faults.strike('dies-at-start', { image })
  container.dies = fault ? `${service} died at its start, as the fault profile says` : null
  tell(world, container, container.dies ? 'die' : 'start')
}

export function stopContainer(world: World, container: SimulatedContainer): void {
  if (container.wanted === 'stopped') return
  container.wanted = 'stopped'
  tell(world, container, 'die')
}

const tell = (world: World, { project, service }: SimulatedContainer, action: string): void => {
  for (const listener of world.listeners) listener({ project: project.name, service, action })
}

export const runs = (container: SimulatedContainer | undefined): container is SimulatedContainer =>
  container?.wanted === 'running' && container.dies === null

/** Throws DOCKER_UNAVAILABLE while a fault has the engine down. */
export function assertEngineUp(world: World): void {
  if (world.faults.strike('engine-down', {})) throw problem('DOCKER_UNAVAILABLE', 'the simulated container engine does not answer')
}

/** An image of the simulated registry. Tags with `alpine` have the other C library. `schema` is what a Synapse writes, `compat` the oldest schema that may still read it. */
type SimulatedImage = Readonly<{
  ref: string
  version: string
  digest: string
  schema: number
  compat: number
  libc: 'glibc' | 'musl'
}>

/** Differs from what the tag says by itself. */
export type ImageOverrides = Readonly<Record<string, Partial<Omit<SimulatedImage, 'ref'>>>>

/** Every tag exists in the simulated registry, with a digest made from its name, unless a fault says otherwise. */
export function simulatedImage(ref: string, overrides: ImageOverrides = {}): SimulatedImage {
  const version = versionInTag(parseImage(ref).tag)
  return {
    ref,
    version,
    digest: `sha256:${sha256Hex(ref)}`,
    ...schemaOf(version),
    libc: /alpine/.test(ref) ? 'musl' : 'glibc',
    ...overrides[ref],
  }
}

// As the server itself would say it: `v1.163.2-broken` is 1.163.2, and a MinIO tag is its own version.
const versionInTag = (tag: string): string => /^v?(\d+(?:\.\d+)+)/.exec(tag)?.[1] ?? tag

// The true history in short: 1.98 and 1.105 raised the oldest schema that may read the database.
function schemaOf(version: string): { schema: number; compat: number } {
  const minor = semver.coerce(version)?.minor ?? 163
  if (minor < 98) return { schema: 83, compat: 80 }
  if (minor < 105) return { schema: 84, compat: 83 }
  return { schema: 84 + Math.min(10, Math.floor((minor - 105) / 5)), compat: 84 }
}
