import type { ContainerEngine, HostContainer } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { inspectIfThere } from './containers.ts'
import { engineProblem } from './engine-problem.ts'
import { ignoring } from './up.ts'

export async function hostContainers(docker: Docker): Promise<HostContainer[]> {
  try {
    const listed = await docker.listContainers()
    const found = await Promise.all(listed.map(({ Id }) => inspectIfThere(docker, Id)))
    return found.flatMap((container) => (container ? [stateOf(container)] : []))
  } catch (error) {
    throw engineProblem(error, 'Listing the containers of the host', 'DOCKER_UNAVAILABLE')
  }
}

const stateOf = ({ Id, Name, Config, HostConfig, Mounts, NetworkSettings }: Docker.ContainerInspectInfo): HostContainer => ({
  id: Id,
  name: Name.replace(/^\//, ''),
  project: Config.Labels['com.docker.compose.project'] ?? null,
  service: Config.Labels['com.docker.compose.service'] ?? null,
  image: Config.Image,
  command: Config.Cmd ?? [],
  addresses: Object.values(NetworkSettings.Networks).flatMap(({ IPAddress, GlobalIPv6Address }) =>
    [IPAddress, GlobalIPv6Address].filter((address) => address),
  ),
  mounts: Mounts.map(({ Source, Destination }) => ({ source: Source, target: Destination })),
  published: publishedBy(NetworkSettings.Ports as Bindings, HostConfig.PortBindings as Bindings),
  alwaysRestarts: HostConfig.RestartPolicy?.Name === 'always',
})

const everywhere = ['0.0.0.0', '::', '']

type Bindings = Readonly<Record<string, readonly Readonly<{ HostIp: string; HostPort: string }>[] | null>> | undefined

/** The engine lists IPv4 and IPv6 apart. A port that it chose by itself is another one after each start, so it is no address. */
export function publishedBy(ports: Bindings, requested: Bindings): HostContainer['published'] {
  const found = Object.entries(ports ?? {}).flatMap(([inner, bound]) => {
    const fixed = (requested?.[inner] ?? []).map(({ HostPort }) => HostPort)
    return inner.endsWith('/tcp') ? (bound ?? []).filter(({ HostPort }) => fixed.includes(HostPort)) : []
  })
  const places = found.map(({ HostIp, HostPort }) => `${everywhere.includes(HostIp) ? '' : HostIp} ${HostPort}`)
  return [...new Set(places)].map((place) => {
    const [address = '', port] = place.split(' ')
    return { address, port: Number(port) }
  })
}

const label = 'com.docker.compose.project'

export async function projectContainers(docker: Docker, name: string): Promise<{ id: string; name: string; isRunning: boolean }[]> {
  try {
    const listed = await docker.listContainers({ all: true, filters: { label: [`${label}=${name}`] } })
    return listed
      .map(({ Id, Names, State }) => ({ id: Id, name: Names[0]?.replace(/^\//, '') ?? Id.slice(0, 12), isRunning: State === 'running' }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    throw engineProblem(error, `Listing containers of ${name}`, 'DOCKER_UNAVAILABLE')
  }
}

export async function projectVolumes(docker: Docker, name: string): Promise<string[]> {
  try {
    const { Volumes } = await docker.listVolumes({ filters: { label: [`${label}=${name}`] } })
    return (Volumes ?? []).map(({ Name }) => Name).sort()
  } catch (error) {
    throw engineProblem(error, `Listing volumes of ${name}`, 'DOCKER_UNAVAILABLE')
  }
}

export async function stopContainers(docker: Docker, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const found = await inspectIfThere(docker, id).catch((error) => {
      throw engineProblem(error, `Reading container ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
    })
    if (!found) continue
    const container = docker.getContainer(id)
    try {
      // A stopped container with `always` runs again after the next restart of the engine.
      if (found.HostConfig.RestartPolicy?.Name === 'always') await container.update({ RestartPolicy: { Name: 'unless-stopped' } })
      await container.stop().catch(ignoring(304, 404))
    } catch (error) {
      throw engineProblem(error, `Stopping ${found.Name.replace(/^\//, '')}`, 'DOCKER_UNAVAILABLE')
    }
  }
}

type Startable = Parameters<ContainerEngine['startContainers']>[0]

export async function startContainers(docker: Docker, containers: Startable): Promise<void> {
  for (const { id, alwaysRestarts } of containers) {
    const container = docker.getContainer(id)
    try {
      if (alwaysRestarts) await container.update({ RestartPolicy: { Name: 'always' } })
      await container.start().catch(ignoring(304))
    } catch (error) {
      throw engineProblem(error, `Starting container ${id.slice(0, 12)}`, 'BOX_UNHEALTHY')
    }
  }
}

export async function removeContainers(docker: Docker, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await docker
      .getContainer(id)
      .remove({ force: true })
      .catch(ignoring(404, 409))
      .catch((error) => {
        throw engineProblem(error, `Removing container ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
      })
}
