import { Service } from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import type { ContainerMount, ContainerSettings, ContainerState, Project } from '../ports/index.ts'
import type { Docker } from './connect.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
import { digestsIn } from './pull.ts'

type Inspected = Docker.ContainerInspectInfo

/** Containers of the four services, found by compose labels. Skips a container removed during the read. */
export async function containersIn(docker: Docker, project: Project): Promise<ContainerState[]> {
  const inspected = await inspectAll(docker, project)
  const images = await imageFactsOf(docker, inspected)
  return inspected.map((container) => stateOf(container, images.get(container.Image))).sort(liveFirst)
}

/** Containers of the named services alone: the engine answers for one that starts or stops only when it is done. */
export async function inspectAll(docker: Docker, project: Project, services: readonly Service[] = Service.options): Promise<Inspected[]> {
  try {
    const label = [`com.docker.compose.project=${project.name}`, 'com.docker.compose.oneoff=False']
    const listed = await docker.listContainers({ all: true, filters: { label } })
    const ours = listed.filter(({ Labels }) => services.some((service) => service === Labels['com.docker.compose.service']))
    const found = await Promise.all(ours.map(({ Id }) => inspectIfThere(docker, Id)))
    return found.filter((container) => container !== undefined)
  } catch (error) {
    throw engineProblem(error, `Listing containers of ${project.name}`, 'DOCKER_UNAVAILABLE')
  }
}

export const inspectIfThere = (docker: Docker, id: string): Promise<Inspected | undefined> =>
  docker
    .getContainer(id)
    .inspect()
    .catch((error) => {
      if (hasStatus(error, 404)) return undefined
      throw error
    })

type ImageFacts = Readonly<{ digests: readonly string[]; settings: ContainerSettings }>

/** By image id; empty for an image removed while its container runs. */
async function imageFactsOf(docker: Docker, containers: readonly Inspected[]): Promise<ReadonlyMap<string, ImageFacts>> {
  const ids = [...new Set(containers.map(({ Image }) => Image))]
  const inspect = async (id: string) => {
    const image = await docker
      .getImage(id)
      .inspect()
      .catch(() => undefined)
    return [id, { digests: image?.RepoDigests ?? [], settings: settingsIn(image?.Config ?? {}) }] as const
  }
  return new Map(await Promise.all(ids.map(inspect)))
}

export const serviceOf = ({ Config }: Inspected): Service => Config.Labels['com.docker.compose.service'] as Service

function stateOf(container: Inspected, image: ImageFacts | undefined): ContainerState {
  const { Id, Config, State, RestartCount } = container
  const repository = Config.Image.replace(/(?::[^/:]+)?(?:@.*)?$/, '')
  return {
    id: Id,
    service: serviceOf(container),
    image: Config.Image,
    digest: digestsIn(image?.digests, repository).at(-1) ?? null,
    state: stateName(State),
    exitCode: State.Running && !State.Restarting ? null : State.ExitCode,
    restartCount: RestartCount ?? 0,
    configHash: Config.Labels['com.docker.compose.config-hash'] ?? null,
    composeVersion: Config.Labels['com.docker.compose.version'] ?? null,
    settings: settingsIn(Config),
    imageSettings: image?.settings ?? settingsIn({}),
    startedAt: State.StartedAt,
    address: State.Running && !State.Restarting ? addressOf(container) : null,
    volumes: namedVolumes(container).map(({ name }) => name),
    mounts: mountsOf(container),
    networks: Object.keys(container.NetworkSettings.Networks).sort(),
    composeFiles: listed(Config.Labels['com.docker.compose.project.config_files']),
    envFiles: listed(Config.Labels['com.docker.compose.project.environment_file']),
  }
}

type ConfigOfDocker = Readonly<{ Env?: string[] | null; Cmd?: string[] | null; Entrypoint?: string | string[] | null }>

const settingsIn = ({ Env, Cmd, Entrypoint }: ConfigOfDocker): ContainerSettings => ({
  environment: Object.fromEntries(
    (Env ?? []).map((entry) => [entry.split('=', 1)[0] as string, sha256Hex(entry.slice(entry.indexOf('=') + 1))]),
  ),
  command: Cmd ?? [],
  entrypoint: [Entrypoint ?? []].flat(),
})

const listed = (label: string | undefined): string[] => (label ?? '').split(',').filter((path) => path !== '')

const mountsOf = (container: Inspected): ContainerMount[] => [
  ...namedVolumes(container).map(({ name, target }): ContainerMount => ({ kind: 'volume', source: name, target })),
  ...container.Mounts.flatMap(({ Type, Source, Destination }): ContainerMount[] =>
    Type === 'bind' ? [{ kind: 'bind', source: Source, target: Destination }] : [],
  ),
]

function stateName({ Status }: Inspected['State']): ContainerState['state'] {
  if (Status === 'running' || Status === 'restarting' || Status === 'created') return Status
  return Status === 'paused' ? 'running' : 'exited'
}

const addressOf = ({ NetworkSettings }: Inspected): string | null =>
  Object.values(NetworkSettings.Networks).find(({ IPAddress }) => IPAddress !== '')?.IPAddress ?? null

/** Named volumes ordered by mount point; anonymous ones have 64 hex digits as name. */
export const namedVolumes = ({ Mounts }: Inspected): { name: string; target: string }[] =>
  Mounts.flatMap(({ Type, Name, Destination }) =>
    Type === 'volume' && Name && !/^[0-9a-f]{64}$/.test(Name) ? [{ name: Name, target: Destination }] : [],
  ).sort((a, b) => (a.target < b.target ? -1 : 1))

// During a recreation a service has two containers for a moment.
const liveFirst = (a: ContainerState, b: ContainerState): number => Number(b.state === 'running') - Number(a.state === 'running')
