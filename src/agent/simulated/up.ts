import type { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { EngineEvent, Project } from '../ports/index.ts'
import { readModel, type ServiceModel } from './compose-model.ts'
import { chatState } from './servers.ts'
import { containerOf, createContainer, needEngine, type SimulatedContainer, startContainer, stopContainer, type World } from './world.ts'

/** `up -d --no-deps --pull never`: only what the file has changed is recreated; a container that dies at once is no failure here. */
export async function recreate(world: World, project: Project, services: readonly Service[], signal?: AbortSignal): Promise<void> {
  needEngine(world)
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
