import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Service } from '../../core/boxes/index.ts'
import { canonicalJson, problem, sha256Hex } from '../../core/kit/index.ts'
import { composeFacts, mountsOf, readCompose, recordOf, remembered, resolvedCompose } from '../boxes/index.ts'
import type { ContainerMount, ContainerSettings, EngineEvent, Project } from '../ports/index.ts'
import { chatState } from './servers.ts'
import {
  assertEngineUp,
  containerOf,
  createContainer,
  type SimulatedContainer,
  startContainer,
  stopContainer,
  type World,
} from './world.ts'

/**
 * Simulates `up --no-deps --pull never`, with `-d` or `--no-start`: recreates only changed services; a container that exits at once is not a
 * failure.
 */
export async function recreate(
  { world, project, isStarted }: Readonly<{ world: World; project: Project; isStarted: boolean }>,
  services: readonly Service[],
  signal?: AbortSignal,
): Promise<void> {
  assertEngineUp(world)
  const models = await readModel(project)
  const wanted = services.map((service) => modelOf(models, service))
  for (const { image } of wanted) {
    if (!world.local.has(image)) throw problem('PULL_FAILED', `Image ${image} is not on this host. fix: pull it first`)
  }
  await world.faults.linger('upMs', signal)
  const { networks } = await resolveText(project, await readText(project))
  for (const { name, ...settings } of Object.values(recordOf(networks)).map(recordOf)) {
    const named = String(name)
    if (!world.networks.has(named)) world.networks.set(named, { project: project.name, settings })
  }
  for (const model of wanted) {
    const container = currentOf(world, project, model)
    if (isStarted) startContainer(world, container)
  }
  chatState(world, project.name)
}

function modelOf(models: readonly ServiceModel[], service: Service): ServiceModel {
  const model = models.find((candidate) => candidate.service === service)
  if (!model) throw problem('COMPOSE_INVALID', `The compose file has no service ${service}`)
  return model
}

function currentOf(world: World, project: Project, model: ServiceModel): SimulatedContainer {
  const now = containerOf(world, project.name, model.service)
  const digest = world.local.get(model.image) ?? ''
  if (now && isCurrent(now, model, digest)) return now
  if (now) stopContainer(world, now)
  return createContainer(world, { ...model, project, digest })
}

const isCurrent = (now: SimulatedContainer, model: ServiceModel, digest: string): boolean =>
  now.configHash === model.configHash && now.digest === digest && now.volumes.join() === model.volumes.join()

/** Streams events until the signal aborts. */
export async function* streamEvents(world: World, signal: AbortSignal): AsyncGenerator<EngineEvent> {
  const waiting: EngineEvent[] = []
  let wake = () => {}
  const listener = (event: EngineEvent) => {
    waiting.push(event)
    wake()
  }
  world.listeners.add(listener)
  signal.addEventListener('abort', () => wake())
  try {
    while (!signal.aborted) {
      const event = waiting.shift()
      if (event) yield event
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    world.listeners.delete(listener)
  }
}

type ServiceModel = Readonly<{
  service: Service
  image: string
  volumes: readonly string[]
  configHash: string
  settings: Partial<ContainerSettings>
  mounts: readonly ContainerMount[]
  networks: readonly string[]
  /** In no profile; the simulated project activates none. */
  isActive: boolean
}>

/** Reads the project's compose file. Throws COMPOSE_INVALID. */
export async function readModel(project: Project): Promise<readonly ServiceModel[]> {
  return modelsIn(await resolved(project, await readText(project)), project.name, project.folder)
}

/** Like compose, with the real names of volumes and networks and the long form of mounts. Throws COMPOSE_INVALID. */
export async function resolveText(project: Project, text: string): Promise<Readonly<Record<string, unknown>>> {
  const whole = resolvedCompose(await resolved(project, text))
  const { volumes } = composeFacts(whole, project.name)
  const named = Object.entries(recordOf(whole.volumes)).map(([key, value]) => [key, { ...recordOf(value), name: volumes[key] }])
  const services = Object.entries(recordOf(whole.services)).map(([name, service]) => [name, withLongMounts(recordOf(service))])
  const networks = Object.entries({ default: {}, ...recordOf(whole.networks) }).map(([key, value]) => [
    key,
    { ...recordOf(value), name: `${project.name}_${key}` },
  ])
  return { ...whole, services: Object.fromEntries(services), volumes: Object.fromEntries(named), networks: Object.fromEntries(networks) }
}

const withLongMounts = (service: Record<string, unknown>) =>
  service.volumes === undefined
    ? service
    : { ...service, volumes: mountsOf(service).map((mount, index) => ({ ...longForm(service, index), ...typed(mount) })) }

function longForm({ volumes }: Record<string, unknown>, index: number): Record<string, unknown> {
  const written = Array.isArray(volumes) ? volumes[index] : undefined
  return typeof written === 'string' && written.endsWith(':ro') ? { read_only: true } : recordOf(written)
}
const typed = ({ kind, source, target }: ReturnType<typeof mountsOf>[number]) => ({ type: kind, source, target })

const maxTexts = 32

const modelsIn = remembered(maxTexts, (text: string, projectName: string, folder: string): readonly ServiceModel[] => {
  const { services, database, volumes } = readCompose(text, projectName)
  const written = recordOf(resolvedCompose(text).services)
  const hashes = configHashes(text)
  return Object.entries(services).map(([service, facts]) => ({
    service: service as Service,
    image: facts.image,
    volumes: service === 'postgres' ? dataFirst(facts.volumes, database?.volume) : facts.volumes,
    configHash: hashes[service] as string,
    settings: settingsOf(recordOf(written[service])),
    mounts: realMounts(recordOf(written[service]), volumes, folder),
    networks: networksOf(recordOf(written[service])).map((key) => `${projectName}_${key}`),
    isActive: recordOf(written[service]).profiles === undefined,
  }))
})

const realMounts = (service: Record<string, unknown>, volumes: Readonly<Record<string, string>>, folder: string): ContainerMount[] =>
  mountsOf(service).flatMap(({ kind, source, target }): ContainerMount[] => {
    if (kind === 'other' || source === '') return []
    return [{ kind, source: kind === 'bind' ? resolve(folder, source) : (volumes[source] ?? source), target }]
  })

/** The simulated project writes variables as a map and a command as a list. */
const settingsOf = ({ environment, command }: Record<string, unknown>): Partial<ContainerSettings> => ({
  environment: Object.fromEntries(Object.entries(recordOf(environment)).map(([name, value]) => [name, sha256Hex(String(value))])),
  ...(Array.isArray(command) ? { command: command.map(String) } : {}),
})

const networksOf = ({ networks }: Record<string, unknown>): string[] =>
  Array.isArray(networks) ? networks.map(String) : networks ? Object.keys(recordOf(networks)) : ['default']

/** Like compose, hashes the service's settings without real volume names. */
const configHashes = remembered(maxTexts, (text: string): Readonly<Record<string, string>> => {
  const { services } = resolvedCompose(text) as { services: Record<string, unknown> }
  return Object.fromEntries(Object.entries(services).map(([service, settings]) => [service, sha256Hex(canonicalJson(settings))]))
})

/** The simulated server uses the first volume for data. */
const dataFirst = (volumes: readonly string[], data: string | undefined): readonly string[] =>
  data === undefined ? volumes : [data, ...volumes.filter((volume) => volume !== data)]

/** Substitutes variables of the project's env file only, like the real engine. */
async function resolved({ envFile }: Project, text: string): Promise<string> {
  const lines = envFile === undefined ? [] : (await readFile(envFile, 'utf8')).split('\n')
  const variables = new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
  return text.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, otherwise = '') => variables.get(name) || otherwise)
}

async function readText(project: Project): Promise<string> {
  const path = resolve(project.folder, project.composeFile)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw problem('COMPOSE_INVALID', `Cannot read compose file ${path}: ${(error as Error).message}`, { cause: error })
  }
}
