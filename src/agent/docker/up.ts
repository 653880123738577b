import pRetry from 'p-retry'
import type { Service } from '../../core/boxes/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import type { Project } from '../ports/index.ts'
import { composeArguments, runDocker } from './compose.ts'
import { type ComposeModel, composeModel, mountsIn } from './compose-model.ts'
import { type Docker, type DockerSettings, limitsOf } from './connect.ts'
import { inspectAll, namedVolumes, serviceOf } from './containers.ts'
import { engineProblem, hasStatus } from './engine-problem.ts'

type Raising = Readonly<{ project: Project; services: readonly Service[]; signal?: AbortSignal | undefined; isStarted: boolean }>

/**
 * Creates or recreates services as the file defines them, and starts them. Removes a container with other volumes first, because compose's hash ignores real
 * volume names and would keep the old data.
 */
export async function up(docker: Docker, settings: DockerSettings, { project, services, signal, isStarted }: Raising): Promise<void> {
  const model = await composeModel(settings, project, signal)
  for (const container of await inspectAll(docker, project, services)) {
    if (mountsWhatItShould(model, serviceOf(container), namedVolumes(container))) continue
    await removeContainer(docker, container.Id)
  }
  const args = ['up', isStarted ? '--detach' : '--no-start', '--no-deps', '--no-build', '--pull', 'never', '--', ...services]
  const start = () =>
    runDocker(settings, composeArguments(project, args), {
      what: `${isStarted ? 'Starting' : 'Creating'} ${services.join(', ')} of ${project.name}`,
      otherwise: 'BOX_UNHEALTHY',
      timeoutMs: limitsOf(settings).composeChangeMs,
      signal,
    })
  await pRetry(start, {
    retries: 3,
    minTimeout: 1_000,
    factor: 2,
    shouldRetry: ({ error }) => isStillBusy(error) || isCutOff(error),
    ...(signal ? { signal } : {}),
  })
}

/** The engine may still finish work of a killed compose; a retry then continues from there. */
const isStillBusy = ({ message }: Error): boolean =>
  /container name .* is already in use|removal of container .* is already in progress|is marked for removal/i.test(message)

/** A restarting engine; compose continues with what is left to do. */
const isCutOff = (error: Error): boolean =>
  isProblem(error, 'DOCKER_UNAVAILABLE') && /cannot connect|error during connect/i.test(error.message)

function mountsWhatItShould(model: ComposeModel, service: Service, mounted: readonly { name: string; target: string }[]): boolean {
  const wanted = mountsIn(model, service).filter(({ kind }) => kind === 'volume')
  return wanted.every(({ source, target }) => mounted.some((mount) => mount.target === target && mount.name === source))
}

async function removeContainer(docker: Docker, id: string): Promise<void> {
  const container = docker.getContainer(id)
  try {
    await container.stop().catch(ignoring(304, 404))
    await container.remove().catch(ignoring(404))
  } catch (error) {
    throw engineProblem(error, `Removing container ${id.slice(0, 12)}`, 'DOCKER_UNAVAILABLE')
  }
}

/** For catch: ignores status codes that mean the change is already done. */
export const ignoring =
  (...statuses: number[]) =>
  (error: unknown): void => {
    if (!hasStatus(error, ...statuses)) throw error
  }
