import pRetry from 'p-retry'
import type { Service } from '../../core/boxes/index.ts'
import type { Project } from '../ports/index.ts'
import { composeArguments, runDocker } from './compose.ts'
import { type Docker, type DockerSettings, limitsOf } from './connect.ts'
import { inspectAll, namedVolumes, serviceOf } from './containers.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'

type ComposeModel = Readonly<{
  services: Readonly<Record<string, Readonly<{ volumes?: readonly Readonly<{ type: string; source?: string; target: string }>[] }>>>
  volumes?: Readonly<Record<string, Readonly<{ name: string }>>>
}>

/**
 * Brings the named services to what the file says. A container that mounts other volumes than the file names is taken away first:
 * compose's hash does not cover the real names of volumes, so `up` alone would go on with the old data.
 */
export async function up(
  docker: Docker,
  settings: DockerSettings,
  project: Project,
  services: readonly Service[],
  signal?: AbortSignal,
): Promise<void> {
  const model = await composeModel(settings, project, signal)
  for (const container of await inspectAll(docker, project)) {
    const service = serviceOf(container)
    if (!services.includes(service) || mountsWhatItShould(model, service, namedVolumes(container))) continue
    await takeAway(docker, container.Id)
  }
  const args = ['up', '--detach', '--no-deps', '--no-build', '--pull', 'never', '--', ...services]
  const start = () =>
    runDocker(settings, composeArguments(project, args), {
      what: `starting ${services.join(', ')} of ${project.name}`,
      otherwise: 'BOX_UNHEALTHY',
      timeoutMs: limitsOf(settings).composeChangeMs,
      signal,
    })
  await pRetry(start, {
    retries: 3,
    minTimeout: 1_000,
    factor: 2,
    shouldRetry: ({ error }) => isStillBusy(error),
    ...(signal ? { signal } : {}),
  })
}

/** The engine goes on with what a killed compose had asked it for; a moment later compose sees it and goes on from there. */
const isStillBusy = ({ message }: Error): boolean =>
  /container name .* is already in use|removal of container .* is already in progress|is marked for removal/i.test(message)

async function composeModel(settings: DockerSettings, project: Project, signal?: AbortSignal): Promise<ComposeModel> {
  const printed = await runDocker(settings, composeArguments(project, ['config', '--format', 'json']), {
    what: `the compose file of ${project.name}`,
    otherwise: 'COMPOSE_INVALID',
    timeoutMs: limitsOf(settings).composeQuestionMs,
    signal,
  })
  return JSON.parse(printed) as ComposeModel
}

function mountsWhatItShould(
  { services, volumes = {} }: ComposeModel,
  service: Service,
  mounted: readonly { name: string; target: string }[],
): boolean {
  const wanted = (services[service]?.volumes ?? []).filter(({ type, source }) => type === 'volume' && source !== undefined)
  return wanted.every(({ source, target }) =>
    mounted.some((mount) => mount.target === target && mount.name === volumes[source ?? '']?.name),
  )
}

async function takeAway(docker: Docker, id: string): Promise<void> {
  const container = docker.getContainer(id)
  try {
    await container.stop().catch(ignoring(304, 404))
    await container.remove().catch(ignoring(404))
  } catch (error) {
    throw engineProblem(error, `removing the container ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
  }
}

/** For catch: lets answers pass that mean it is so already. */
export const ignoring =
  (...statuses: number[]) =>
  (error: unknown): void => {
    if (!hasStatus(error, ...statuses)) throw error
  }
