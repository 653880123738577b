import type { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine, ContainerUsage, Project } from '../ports/index.ts'
import { composeArguments, configHashes, runDocker } from './compose.ts'
import { composedServices, resolveCompose } from './compose-model.ts'
import { connect, type Docker, type DockerSettings, limitsOf } from './connect.ts'
import { containersIn } from './containers.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'
import { execIn } from './exec.ts'
import { hostContainers, projectContainers, projectVolumes, removeContainers, startContainers, stopContainers } from './host-containers.ts'
import { imagesOn, libcOf, pin, removeImage, unpin } from './images.ts'

import { misfit } from './platform.ts'
import { networksIn, projects, removeProject } from './projects.ts'
import { localDigests, pull } from './pull.ts'
import { resolve } from './registry.ts'
import { engineEvents, followLogs, logs } from './streams.ts'
import { ignoring, up } from './up.ts'
import { createVolume, imageFolders, removeVolume, volumePath, volumesFolder } from './volumes.ts'

/** The container engine of this host: the API for containers, the compose plugin for compose files. */
export function dockerEngine(settings: DockerSettings): ContainerEngine {
  const connections = connect(settings)
  const { questions, changes, streams } = connections
  return {
    info: () => info(questions, settings),
    pull: (image, options) => pull({ connections, settings }, image, options),
    resolve: (image, options) => resolve({ docker: questions, settings }, image, options),
    misfit: (image, options) => misfit({ docker: questions, settings }, image, options),
    localDigest: async (image) => {
      const digests = await localDigests(questions, image)
      return digests === undefined ? undefined : (digests.at(-1) ?? null)
    },
    imageLibc: (image) => libcOf(questions, image),
    pin: (image, label) => pin(questions, image, label),
    unpin: (label) => unpin(questions, label),
    images: () => imagesOn(questions),
    removeImage: (image) => removeImage(changes, image),
    containers: (project) => containersIn(questions, project),
    hostContainers: () => hostContainers(questions),
    projectContainers: (name) => projectContainers(questions, name),
    projectVolumes: (name) => projectVolumes(questions, name),
    stopContainers: (ids) => stopContainers(changes, ids),
    startContainers: (containers) => startContainers(changes, containers),
    removeContainers: (ids) => removeContainers(changes, ids),
    networks: (project) => networksIn(questions, project.name),
    configHashes: (project) => configHashes(settings, project),
    composedServices: (project) => composedServices(settings, project),
    resolveCompose: (project, text) => resolveCompose(settings, project, text),
    up: (project, services, signal) => up(changes, settings, { project, services, signal, isStarted: true }),
    create: (project, services, signal) => up(changes, settings, { project, services, signal, isStarted: false }),
    // Through the API, because a box must be stoppable while its compose file is broken.
    stop: (project, services) => eachContainer(changes, { project, services }, (container) => container.stop()),
    start: (project, services) => start(changes, project, services),
    discard: (project, services) => eachContainer(changes, { project, services }, (container) => container.remove({ force: true })),
    down: (project, options) => down(settings, project, options?.volumes ?? false),
    removeProject: (name, onlyVolumes) => removeProject(changes, name, onlyVolumes),
    projects: (prefix) => projects(questions, prefix),
    exec: (id, argv, options) => execIn({ ...connections, ...settings }, { containerId: id, argv }, options),
    logs: (id, lines, options) => logs({ docker: questions, id }, lines, options),
    followLogs: (id, since, signal) => followLogs({ docker: streams, id }, since, signal),
    usage: (id) => usage(questions, id),
    volumePath: (name) => volumePath(questions, name),
    volumesFolder: () => volumesFolder(questions),
    imageFolders: () => imageFolders(questions),
    createVolume: (project, key, name) => createVolume(questions, project, { key, name }),
    removeVolume: (name) => removeVolume(changes, name),
    events: (signal) => engineEvents(streams, signal),
  }
}

async function info(docker: Docker, settings: DockerSettings): Promise<{ engine: string; compose: string }> {
  const { Version } = await docker.version().catch((error) => {
    throw engineProblem(error, 'Reading the engine version', 'DOCKER_UNAVAILABLE')
  })
  const compose = await runDocker(settings, ['compose', 'version', '--short'], {
    what: 'Compose plugin',
    otherwise: 'DOCKER_UNAVAILABLE',
    timeoutMs: limitsOf(settings).composeReadMs,
  }).catch((cause) => {
    throw problem(
      'DOCKER_UNAVAILABLE',
      `Engine ${Version} answers, but docker compose does not run. fix: install the compose plugin (v2 or newer)`,
      { cause },
    )
  })
  return { engine: Version, compose: compose.trim() }
}

async function start(docker: Docker, project: Project, services: readonly Service[]): Promise<void> {
  const ids = await idsOf(docker, project, services)
  // The engine also answers 404 for a program that the image lacks.
  const ignoreGone = (error: Error) => (/no such container/i.test(error.message) ? undefined : ignoring(304)(error))
  await Promise.all(ids.map((id) => docker.getContainer(id).start().catch(ignoreGone))).catch((error) => {
    throw engineProblem(error, `Starting ${services.join(', ')} of ${project.name}`, 'BOX_UNHEALTHY')
  })
}

async function eachContainer(
  docker: Docker,
  { project, services }: Readonly<{ project: Project; services: readonly Service[] }>,
  act: (container: Docker.Container) => Promise<unknown>,
): Promise<void> {
  const ids = await idsOf(docker, project, services)
  await Promise.all(ids.map((id) => act(docker.getContainer(id)).catch(ignoring(304, 404)))).catch((error) => {
    throw engineProblem(error, `${services.join(', ')} of ${project.name}`, 'DOCKER_UNAVAILABLE')
  })
}

const idsOf = async (docker: Docker, project: Project, services: readonly Service[]): Promise<string[]> =>
  (await containersIn(docker, project)).filter(({ service }) => services.includes(service)).map(({ id }) => id)

async function down(settings: DockerSettings, project: Project, volumes: boolean): Promise<void> {
  const args = ['down', '--remove-orphans', ...(volumes ? ['--volumes'] : [])]
  await runDocker(settings, composeArguments(project, args), {
    what: `Removing ${project.name}`,
    otherwise: 'DOCKER_UNAVAILABLE',
    timeoutMs: limitsOf(settings).composeChangeMs,
  })
}

/** The engine measures twice, a second apart. Null for a container that does not run or is gone. */
async function usage(docker: Docker, id: string): Promise<ContainerUsage | null> {
  try {
    const stats: Stats = await docker.getContainer(id).stats({ stream: false })
    return stats.memory_stats?.usage === undefined ? null : usageOf(stats)
  } catch (error) {
    if (hasStatus(error, 404)) return null
    throw engineProblem(error, `Measuring ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
  }
}

type Cpu = Readonly<{ cpu_usage?: { total_usage?: number }; system_cpu_usage?: number; online_cpus?: number }>
/** Fields are missing where the host's kernel does not count them. */
type Stats = Readonly<{
  cpu_stats?: Cpu
  precpu_stats?: Cpu
  memory_stats?: Readonly<{ usage?: number; limit?: number; stats?: Readonly<Record<string, number>> }>
}>

const usageOf = ({ cpu_stats, precpu_stats, memory_stats: { usage, limit, stats } = {} }: Stats): ContainerUsage => ({
  cpuPercent: cpuPercent(cpu_stats, precpu_stats),
  // Like `docker stats`: without the file cache, which the kernel takes back when it needs the memory.
  memoryBytes: usage === undefined ? null : Math.max(0, usage - (stats?.inactive_file ?? stats?.total_inactive_file ?? 0)),
  memoryLimitBytes: limit ?? null,
})

function cpuPercent(now: Cpu | undefined, before: Cpu | undefined): number | null {
  const used = (now?.cpu_usage?.total_usage ?? Number.NaN) - (before?.cpu_usage?.total_usage ?? Number.NaN)
  const elapsed = (now?.system_cpu_usage ?? Number.NaN) - (before?.system_cpu_usage ?? Number.NaN)
  const percent = (used / elapsed) * (now?.online_cpus ?? 1) * 100
  return Number.isFinite(percent) ? Math.round(percent * 10) / 10 : null
}
