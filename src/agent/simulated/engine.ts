import { isoNow, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, ContainerState, HostContainer, LocalImage, Project } from '../ports/index.ts'
import { readModel, recreate, resolveText, streamEvents } from './compose.ts'
import { pullSimulated, resolveSimulated } from './pull.ts'
import { chatState, followLog, logOf, printedLog, restartsOf, usageOf } from './servers.ts'

import {
  assertEngineUp,
  containerOf,
  containersOf,
  createVolume,
  type SimulatedContainer,
  startContainer,
  stopContainer,
  type World,
} from './world.ts'

/** Scripts an `exec` in a simulated container; undefined uses the default: success without output. */
export type ExecScript = (
  container: Readonly<{ project: string; service: string }>,
  argv: readonly string[],
) => Readonly<{ exitCode: number; stdout: string; stderr: string }> | undefined

/** The simulated container engine. The fault `engine-down` affects every call. */
export function simulatedEngine(world: World, execScript: ExecScript = () => undefined): ContainerEngine {
  const { volumes, pins, local } = world
  const byId = (id: string) => [...world.containers.values()].find((container) => container.id === id)
  return {
    info: async () => {
      assertEngineUp(world)
      return { engine: 'simulated', compose: 'simulated' }
    },
    pull: (image, options) => pullSimulated(world, image, options),
    resolve: (image, options) => resolveSimulated(world, image, options),
    misfit: async (image) => (world.faults.strike('wrong-platform', { image }) ? `${image} is for another platform` : undefined),
    localDigest: async (image) => {
      assertEngineUp(world)
      return local.get(image)
    },
    imageLibc: async (image) => {
      if (!local.has(image)) throw problem('NOT_FOUND', `Image ${image} is not on this host`)
      return world.image(image).libc
    },
    pin: async (image, label) => {
      if (!local.has(image)) throw problem('NOT_FOUND', `Image ${image} is not on this host and cannot be pinned`)
      pins.set(label, (pins.get(label) ?? new Set()).add(image))
      world.namedAt.set(image, isoNow(world.clock))
    },
    unpin: async (label) => {
      pins.delete(label)
    },
    images: async () => {
      assertEngineUp(world)
      return [...local.keys()].map((image) => localImage(world, image))
    },
    removeImage: async ({ id: image }) => {
      assertEngineUp(world)
      if (!local.has(image)) return
      const { pinned, used } = localImage(world, image)
      if (pinned || used) throw problem('CONFLICT', `Image ${image} is ${pinned ? 'pinned' : 'in use'}`)
      local.delete(image)
    },
    containers: async (project) => {
      assertEngineUp(world)
      chatState(world, project.name)
      return containersOf(world, project.name).map((container) => stateOf(world, container))
    },
    configHashes: async (project) =>
      Object.fromEntries((await readModel(project)).map(({ service, configHash }) => [service, [configHash]])),
    composedServices: async (project) =>
      Object.fromEntries(
        (await readModel(project))
          .filter(({ isActive }) => isActive)
          .map(({ service, configHash, ...model }) => [service, { hashes: [configHash], ...model }]),
      ),
    resolveCompose: async (project, text) => {
      assertEngineUp(world)
      return resolveText(project, text)
    },
    up: (project, services, signal) => recreate({ world, project, isStarted: true }, services, signal),
    create: (project, services, signal) => recreate({ world, project, isStarted: false }, services, signal),
    stop: async (project, services) => {
      assertEngineUp(world)
      chatState(world, project.name)
      if (world.faults.strike('stop-fails', { box: project.name }))
        throw problem('DOCKER_UNAVAILABLE', 'The simulated engine dropped the stop request')
      await world.faults.linger('stopMs')
      for (const service of services) eachOf(world, { project, service }, stopContainer)
    },
    start: async (project, services) => {
      assertEngineUp(world)
      for (const service of services) eachOf(world, { project, service }, startContainer)
    },
    discard: async (project, services) => {
      assertEngineUp(world)
      for (const service of services) {
        eachOf(world, { project, service }, stopContainer)
        world.containers.delete(`${project.name}/${service}`)
      }
    },
    down: async (project, options) => {
      assertEngineUp(world)
      for (const container of containersOf(world, project.name)) {
        stopContainer(world, container)
        world.containers.delete(`${project.name}/${container.service}`)
        if (options?.volumes) for (const volume of container.volumes) volumes.remove(volume)
      }
      removeNetworks(world, project.name)
    },
    hostContainers: async () => {
      assertEngineUp(world)
      return [...world.containers.values()].filter(({ wanted }) => wanted === 'running').map((container) => hostContainer(world, container))
    },
    projectContainers: async (name) => {
      assertEngineUp(world)
      return containersOf(world, name)
        .map(({ id, service, wanted }) => ({ id, name: `${name}-${service}-1`, isRunning: wanted === 'running' }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    },
    projectVolumes: async (name) => volumes.names().filter((volume) => world.volumeProjects.get(volume) === name),
    stopContainers: async (ids) => {
      assertEngineUp(world)
      for (const container of ids.flatMap((id) => byId(id) ?? [])) {
        chatState(world, container.project.name)
        stopContainer(world, container)
      }
    },
    startContainers: async (containers) => {
      assertEngineUp(world)
      for (const { id } of containers) {
        const container = byId(id)
        if (!container) throw problem('BOX_UNHEALTHY', `Container ${id.slice(0, 12)} does not exist`)
        startContainer(world, container)
      }
    },
    removeContainers: async (ids) => {
      assertEngineUp(world)
      for (const container of ids.flatMap((id) => byId(id) ?? [])) {
        stopContainer(world, container)
        world.containers.delete(`${container.project.name}/${container.service}`)
      }
    },
    networks: async (project) =>
      [...world.networks].flatMap(([name, network]) =>
        network.project === project.name ? [{ name, configHash: null, composeVersion: '2.26.1', settings: network.settings }] : [],
      ),
    removeProject: async (name, onlyVolumes) => removeProject(world, name, onlyVolumes),
    projects: async (prefix) => {
      assertEngineUp(world)
      const names = [...world.containers.values()].map(({ project }) => project.name)
      const left = [...world.volumeProjects].filter(([volume]) => volumes.path(volume) !== undefined).map(([, project]) => project)
      return [...new Set([...names, ...left])].filter((name) => name.startsWith(prefix)).sort()
    },
    exec: async (id, argv, options) => {
      assertEngineUp(world)
      const container = byId(id)
      if (container?.wanted !== 'running') throw problem('BOX_UNHEALTHY', `Container ${id.slice(0, 12)} is not running`)
      const answer = execScript({ project: container.project.name, service: container.service }, argv)
      if (answer) options?.onStdout?.(Buffer.from(answer.stdout))
      return answer ?? { exitCode: 0, stdout: '', stderr: '' }
    },
    logs: async (id, lines, options) => {
      const container = byId(id)
      return container ? printedLog(logOf(world, container), lines, options) : ''
    },
    followLogs: (id, since, signal) => followLog(world, { id, since, signal }),
    usage: async (id) => {
      assertEngineUp(world)
      const container = byId(id)
      return container ? usageOf(world, container) : null
    },
    volumePath: async (name) => volumes.path(name),
    volumesFolder: async () => volumes.root,
    imageFolders: async () => [volumes.root],
    createVolume: async (project, key, name) => createVolume(world, { project: project.name, name, key }),
    removeVolume: async (name) => {
      const user = [...world.containers.values()].find((container) => container.volumes.includes(name))
      if (user) throw problem('CONFLICT', `Volume ${name} is in use by ${user.project.name}/${user.service}`)
      volumes.remove(name)
    },
    events: (signal) => streamEvents(world, signal),
  }
}

const localImage = (world: World, image: string): LocalImage => ({
  id: image,
  names: [image],
  pulled: true,
  pinned: [...world.pins.values()].some((images) => images.has(image)),
  used: [...world.containers.values()].some((container) => container.image === image),
  namedAt: world.namedAt.get(image) ?? null,
})

function removeNetworks({ networks }: World, project: string): void {
  for (const [name, network] of networks) if (network.project === project) networks.delete(name)
}

function removeProject(world: World, name: string, onlyVolumes?: readonly string[]): string[] {
  assertEngineUp(world)
  const containers = containersOf(world, name)
  for (const container of containers) {
    stopContainer(world, container)
    world.containers.delete(`${name}/${container.service}`)
  }
  removeNetworks(world, name)
  const volumes = world.volumes.names().filter((volume) => world.volumeProjects.get(volume) === name)
  const stays = (volume: string) => {
    const key = world.volumeKeys.get(volume)
    return onlyVolumes !== undefined && key !== undefined && !onlyVolumes.includes(key)
  }
  for (const volume of volumes) if (!stays(volume)) world.volumes.remove(volume)
  return [
    ...containers.map(({ service }) => `container ${name}-${service}-1`),
    ...volumes.map((volume) => `${stays(volume) ? 'left: ' : ''}volume ${volume}`),
  ]
}

const eachOf = (
  world: World,
  { project, service }: Readonly<{ project: Project; service: SimulatedContainer['service'] }>,
  act: typeof startContainer,
) => {
  const container = containerOf(world, project.name, service)
  if (container) act(world, container)
}

const hostContainer = (world: World, { id, project, service, image, settings, mounts }: SimulatedContainer): HostContainer => ({
  ...{ id, service, image, name: `${project.name}-${service}-1`, project: project.name },
  command: settings.command ?? [],
  addresses: ['192.0.2.1'],
  mounts: mounts.map(({ kind, source, target }) => ({ source: kind === 'volume' ? (world.volumes.path(source) ?? '') : source, target })),
  published: [],
  alwaysRestarts: false,
})

function stateOf(world: World, container: SimulatedContainer): ContainerState {
  const { id, service, image, digest, configHash, startedAt, volumes, mounts, networks, dies, wanted } = container
  const running = wanted === 'running'
  const imageSettings = { environment: {}, command: [], entrypoint: [] }
  return {
    id,
    service,
    image,
    digest,
    configHash,
    composeVersion: '2.26.1',
    settings: { ...imageSettings, ...container.settings },
    imageSettings,
    startedAt,
    volumes,
    mounts,
    networks,
    composeFiles: [container.project.composeFile],
    envFiles: container.project.envFile === undefined ? [] : [container.project.envFile],
    state: running ? (dies ? 'restarting' : 'running') : 'exited',
    exitCode: running ? (dies ? 1 : null) : 0,
    restartCount: restartsOf(world, container),
    address: running && !dies ? '192.0.2.1' : null,
  }
}
