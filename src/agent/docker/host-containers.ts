import type { HostContainer } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { inspectIfThere } from './containers.ts'
import { engineProblem } from './engine-problem.ts'

export async function hostContainers(docker: Docker): Promise<HostContainer[]> {
  try {
    const listed = await docker.listContainers()
    const found = await Promise.all(listed.map(({ Id }) => inspectIfThere(docker, Id)))
    return found.flatMap((container) => (container ? [stateOf(container)] : []))
  } catch (error) {
    throw engineProblem(error, 'Listing the containers of the host', 'DOCKER_UNAVAILABLE')
  }
}

const stateOf = ({ Id, Name, Config, Mounts, NetworkSettings }: Docker.ContainerInspectInfo): HostContainer => ({
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
})
