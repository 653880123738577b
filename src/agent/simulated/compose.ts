import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Service } from '../../core/boxes/index.ts'
import { canonicalJson, problem, remembered, sha256Hex } from '../../core/kit/index.ts'
import { readCompose, resolvedCompose } from '../boxes/index.ts'
import type { EngineEvent, Project } from '../ports/index.ts'
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

/** `up -d --no-deps --pull never`: only what the file has changed is recreated; a container that dies at once is no failure here. */
export async function recreate(world: World, project: Project, services: readonly Service[], signal?: AbortSignal): Promise<void> {
  assertEngineUp(world)
  const models = await readModel(project)
  const wanted = services.map((service) => modelOf(models, service))
  for (const { image } of wanted) {
    if (!world.local.has(image)) throw problem('PULL_FAILED', `the image ${image} is not on this host; it must be pulled first`)
  }
  await world.faults.linger('upMs', signal)
  for (const model of wanted) bringUp(world, project, model)
  chatState(world, project.name)
}

function modelOf(models: readonly ServiceModel[], service: Service): ServiceModel {
  const model = models.find((candidate) => candidate.service === service)
  if (!model) throw problem('COMPOSE_INVALID', `the compose file has no service ${service}`)
  return model
}

function bringUp(world: World, project: Project, model: ServiceModel): void {
  const now = containerOf(world, project.name, model.service)
  const digest = world.local.get(model.image) ?? ''
  const stays = now && isCurrent(now, model, digest)
  if (now && !stays) stopContainer(world, now)
  startContainer(world, stays ? now : createContainer(world, { ...model, project, digest }))
}

const isCurrent = (now: SimulatedContainer, model: ServiceModel, digest: string): boolean =>
  now.configHash === model.configHash && now.digest === digest && now.volumes.join() === model.volumes.join()

/** Events as they happen, until the signal aborts. */
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

type ServiceModel = Readonly<{ service: Service; image: string; volumes: readonly string[]; configHash: string }>

/** The project's compose file as it stands on disk. Throws COMPOSE_INVALID. */
export async function readModel(project: Project): Promise<readonly ServiceModel[]> {
  return modelsIn(await resolved(project, await readText(project)), project.name)
}

const maxTexts = 32

const modelsIn = remembered(maxTexts, (text: string, projectName: string): readonly ServiceModel[] => {
  const { services, database } = readCompose(text, projectName)
  const hashes = configHashes(text)
  return Object.entries(services).map(([service, facts]) => ({
    service: service as Service,
    image: facts.image,
    volumes: service === 'postgres' ? dataFirst(facts.volumes, database?.volume) : facts.volumes,
    configHash: hashes[service] as string,
  }))
})

/** As with compose, the hash covers the service's own settings and not the real names of its volumes. */
const configHashes = remembered(maxTexts, (text: string): Readonly<Record<string, string>> => {
  const { services } = resolvedCompose(text) as { services: Record<string, unknown> }
  return Object.fromEntries(Object.entries(services).map(([service, settings]) => [service, sha256Hex(canonicalJson(settings))]))
})

/** The simulated server keeps its data in the first. */
const dataFirst = (volumes: readonly string[], data: string | undefined): readonly string[] =>
  data === undefined ? volumes : [data, ...volumes.filter((volume) => volume !== data)]

/** Variables of the project's own env file; nothing else is known, as with the real engine. */
async function resolved({ envFile }: Project, text: string): Promise<string> {
  const lines = envFile === undefined ? [] : (await readFile(envFile, 'utf8')).split('\n')
  const variables = new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => variables.get(name) ?? '')
}

async function readText(project: Project): Promise<string> {
  const path = resolve(project.folder, project.composeFile)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw problem('COMPOSE_INVALID', `the compose file ${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}
