import semver from 'semver'
import { parseImage, type Service } from '../../core/boxes/index.ts'
import { type Clock, isoNow, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import type { ContainerMount, ContainerSettings, EngineEvent, Project } from '../ports/index.ts'
import { majorOfFiles, startDatabaseFiles, stopDatabaseFiles } from './data-files.ts'
import type { Faults } from './faults.ts'
import type { SimulatedVolumes } from './volumes.ts'

export type SimulatedContainer = {
  readonly id: string
  readonly project: Project
  readonly service: Service
  readonly image: string
  readonly digest: string
  readonly configHash: string
  readonly settings: Partial<ContainerSettings>
  readonly volumes: readonly string[]
  readonly mounts: readonly ContainerMount[]
  readonly networks: readonly string[]
  wanted: 'running' | 'stopped'
  startedAt: string
  startedMs: number
  /** Monotonic time at which it starts to answer. */
  readyMs: number
  upgradingUntilMs: number
  /** Last log line of a container that crashes at every start. */
  dies: string | null
  /** Synapse checks its database once per start. */
  metDatabase: boolean
}

/** State of one simulated host, shared by its engine, servers and snapshots. */
export type World = Readonly<{
  clock: Clock
  random: Random
  faults: Faults
  volumes: SimulatedVolumes
  containers: Map<string, SimulatedContainer>
  /** Digests of local images by reference. */
  local: Map<string, string>
  pins: Map<string, Set<string>>
  /** Time of the last pull or pin by image. */
  namedAt: Map<string, string>
  /** Project of each volume created for one. */
  volumeProjects: Map<string, string>
  /** Volume keys in the compose file; volumes created with containers have none. */
  volumeKeys: Map<string, string>
  /** Networks by name, with the settings of their creation: like compose before 2.32, none is created again. */
  networks: Map<string, Readonly<{ project: string; settings: Readonly<Record<string, unknown>> }>>
  listeners: Set<(event: EngineEvent) => void>
  /** Projects whose database has an open backup. */
  backups: Set<string>
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
  networks: new Map(),
  listeners: new Set(),
  backups: new Set(),
  image: (ref) => simulatedImage(ref, images),
})

const key = (project: string, service: string) => `${project}/${service}`

export const containerOf = (world: World, project: string, service: Service): SimulatedContainer | undefined =>
  world.containers.get(key(project, service))

export const containersOf = (world: World, project: string): SimulatedContainer[] =>
  (['edge', 'synapse', 'postgres', 'minio'] as const).flatMap((service) => containerOf(world, project, service) ?? [])

/** Like the engine's labels, an existing volume keeps its project. */
export function createVolume(
  { volumes, volumeProjects, volumeKeys }: World,
  { project, name, key }: Readonly<{ project: string; name: string; key?: string }>,
): void {
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
  settings: Partial<ContainerSettings>
  volumes: readonly string[]
  mounts: readonly ContainerMount[]
  networks: readonly string[]
}>

/** Creates a container that replaces the service's previous one. */
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
  for (const volume of wanted.volumes) createVolume(world, { project: wanted.project.name, name: volume })
  world.containers.set(key(wanted.project.name, wanted.service), container)
  return container
}

const startTakes = { postgres: 'postgresStartMs', synapse: 'synapseStartMs', minio: 'minioStartMs' } as const

export function startContainer(world: World, container: SimulatedContainer): void {
  if (container.wanted === 'running') return
  const { service, image } = container
  container.wanted = 'running'
  const files = service === 'postgres' ? dataFolder(world, container) : undefined
  const incompatible = files === undefined ? undefined : whyIncompatible(files, majorOf(world, image))
  if (files !== undefined && !incompatible) startDatabaseFiles(files, majorOf(world, image))
  container.startedAt = isoNow(world.clock)
  container.startedMs = world.clock.monotonicMs()
  container.readyMs = container.startedMs + (service === 'edge' ? 0 : world.faults.draw(startTakes[service]))
  container.upgradingUntilMs = 0
  container.metDatabase = false
  const fault = world.faults.strike('dies-at-start', { image })
  container.dies = incompatible ?? (fault ? `${service} exited at start (injected by the fault profile)` : null)
  emitEvent(world, container, container.dies ? 'die' : 'start')
}

const majorOf = (world: World, image: string): string => String(Number.parseInt(world.image(image).version, 10) || 15)

/** The last line of a server that meets files of another major version. */
function whyIncompatible(files: string, major: string): string | undefined {
  const other = majorOfFiles(files)
  if (other === undefined || other === major) return undefined
  return `FATAL:  database files are incompatible with server: they are of PostgreSQL ${other}, and this is ${major}`
}

/** The data folder of a database. */
const dataFolder = (world: World, { volumes: [data] }: SimulatedContainer): string | undefined =>
  data === undefined ? undefined : world.volumes.path(data)

export function stopContainer(world: World, container: SimulatedContainer): void {
  if (container.wanted === 'stopped') return
  container.wanted = 'stopped'
  const files = container.service === 'postgres' ? dataFolder(world, container) : undefined
  if (files !== undefined && !whyIncompatible(files, majorOf(world, container.image))) stopDatabaseFiles(files)
  if (container.service === 'postgres') world.backups.delete(container.project.name)
  emitEvent(world, container, 'die')
}

const emitEvent = (world: World, { project, service }: SimulatedContainer, action: string): void => {
  for (const listener of world.listeners) listener({ project: project.name, service, action })
}

export const runs = (container: SimulatedContainer | undefined): container is SimulatedContainer =>
  container?.wanted === 'running' && container.dies === null

/** Throws DOCKER_UNAVAILABLE while the fault `engine-down` is active. */
export function assertEngineUp(world: World): void {
  if (world.faults.strike('engine-down', {})) throw problem('DOCKER_UNAVAILABLE', 'The simulated container engine does not answer')
}

/** An image of the simulated registry. Tags with `alpine` use musl. `schema` is the version Synapse writes, `compat` the oldest one that can read it. */
type SimulatedImage = Readonly<{
  ref: string
  version: string
  digest: string
  schema: number
  compat: number
  libc: 'glibc' | 'musl'
}>

/** Overrides of values derived from the tag. */
export type ImageOverrides = Readonly<Record<string, Partial<Omit<SimulatedImage, 'ref'>>>>

/** Every tag exists in the simulated registry, with a digest derived from its name. */
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

// The version as the server reports it: `v1.163.2-broken` is 1.163.2, and a MinIO tag is its own version.
const versionInTag = (tag: string): string => /^v?(\d+(?:\.\d+)+)/.exec(tag)?.[1] ?? tag

// Simplified real history: 1.98 and 1.105 raised the compat version.
function schemaOf(version: string): { schema: number; compat: number } {
  const minor = semver.coerce(version)?.minor ?? 163
  if (minor < 98) return { schema: 83, compat: 80 }
  if (minor < 105) return { schema: 84, compat: 83 }
  return { schema: 84 + Math.min(10, Math.floor((minor - 105) / 5)), compat: 84 }
}
