import { Service } from '../../core/boxes/index.ts'
import type { ProjectNetwork } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem } from './engine-problem.ts'
import { ignoring } from './up.ts'

const label = 'com.docker.compose.project'

type Labelled = Readonly<{
  name: string
  project: string
  /** The service of a container, the key of a volume. */
  of?: string | undefined
  mounts?: readonly string[]
  remove(): Promise<unknown>
}>
type Found = Readonly<Record<'container' | 'network' | 'volume', readonly Labelled[]>>

/** All containers, networks and volumes with compose's project label. */
async function labelled(docker: Docker, filter: string): Promise<Found> {
  const filters = { label: [filter] }
  const [containers, networks, volumes] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listNetworks({ filters }),
    docker.listVolumes({ filters }),
  ])
  return {
    container: containers.map(({ Id, Names, Labels, Mounts }) => ({
      name: Names[0]?.replace(/^\//, '') ?? Id.slice(0, 12),
      project: Labels[label] ?? '',
      of: Labels['com.docker.compose.service'],
      mounts: Mounts.flatMap(({ Name }) => Name ?? []),
      remove: () => docker.getContainer(Id).remove({ force: true, v: true }),
    })),
    network: networks.map(({ Id, Name, Labels }) => ({
      name: Name,
      project: Labels?.[label] ?? '',
      remove: () => docker.getNetwork(Id).remove(),
    })),
    volume: (volumes.Volumes ?? []).map(({ Name, Labels }) => ({
      name: Name,
      project: Labels?.[label] ?? '',
      of: Labels?.['com.docker.compose.volume'],
      remove: () => docker.getVolume(Name).remove(),
    })),
  }
}

/** Selects resources of services other than the box's, and what their containers need. */
function ofOthers({ container }: Found, volumes: readonly string[]): (kind: keyof Found, one: Labelled) => boolean {
  const others = container.filter(({ of }) => !Service.safeParse(of).success)
  const mounted = others.flatMap(({ mounts = [] }) => mounts)
  return (kind, one) =>
    kind === 'container'
      ? others.includes(one)
      : kind === 'network'
        ? others.length > 0
        : mounted.includes(one.name) || one.of === undefined || !volumes.includes(one.of)
}

/** Removes containers, then networks, then volumes. */
export async function removeProject(docker: Docker, name: string, onlyVolumes?: readonly string[]): Promise<string[]> {
  const removed: string[] = []
  try {
    const found = await labelled(docker, `${label}=${name}`)
    const stays = onlyVolumes ? ofOthers(found, onlyVolumes) : () => false
    for (const kind of ['container', 'network', 'volume'] as const)
      for (const one of found[kind]) {
        if (stays(kind, one)) {
          removed.push(`left: ${kind} ${one.name}`)
          continue
        }
        // 409: removal is already in progress.
        await one.remove().catch(ignoring(404, ...(kind === 'container' ? [409] : [])))
        removed.push(`${kind} ${one.name}`)
      }
  } catch (error) {
    throw engineProblem(error, `Removing project ${name}`, 'DOCKER_UNAVAILABLE')
  }
  return removed
}

export async function networksIn(docker: Docker, name: string): Promise<ProjectNetwork[]> {
  try {
    const found = await docker.listNetworks({ filters: { label: [`${label}=${name}`] } })
    return found.map((network) => ({
      name: network.Name,
      configHash: network.Labels?.['com.docker.compose.config-hash'] ?? null,
      composeVersion: network.Labels?.['com.docker.compose.version'] ?? null,
      settings: settingsOf(network),
    }))
  } catch (error) {
    throw engineProblem(error, `Listing networks of ${name}`, 'DOCKER_UNAVAILABLE')
  }
}

const settingsOf = ({ Driver, Options, Internal, Attachable, EnableIPv6, IPAM, Labels }: Docker.NetworkInspectInfo) => ({
  driver: Driver,
  driver_opts: Options,
  internal: Internal,
  attachable: Attachable,
  enable_ipv6: EnableIPv6,
  ipam: { driver: IPAM?.Driver, options: IPAM?.Options, config: (IPAM?.Config ?? []).map(poolOf) },
  labels: Object.fromEntries(Object.entries(Labels ?? {}).filter(([name]) => !name.startsWith('com.docker.compose.'))),
})

const poolOf = ({ Subnet, Gateway, IPRange, AuxiliaryAddresses }: Record<string, unknown>) => ({
  ...{ subnet: Subnet, gateway: Gateway, ip_range: IPRange, aux_addresses: AuxiliaryAddresses },
})

export async function projects(docker: Docker, prefix: string): Promise<string[]> {
  try {
    const found = Object.values(await labelled(docker, label)).flat()
    return [...new Set(found.map(({ project }) => project))].filter((name) => name.startsWith(prefix)).sort()
  } catch (error) {
    throw engineProblem(error, 'Listing projects', 'DOCKER_UNAVAILABLE')
  }
}
