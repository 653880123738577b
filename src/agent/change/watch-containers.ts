import type { ProbeResult } from '../../core/boxes/index.ts'
import { isoIn, isProblem, problem } from '../../core/kit/index.ts'
import type { ContainerState } from '../ports/index.ts'
import { exitReason, fatalLine } from './fatal-lines.ts'
import type { Baseline, ChangeRun } from './run.types.ts'

type Expected = Readonly<{
  baseline: Baseline
  /** Expected image digests by service, where known. */
  digests: Readonly<Record<string, string>>
}>

/** Checks the containers between probes. All throw PROBE_FAILED for one that is not what was started, or will never come up. */
export type Watch = Readonly<{
  assertContainersUnchanged(): Promise<void>
  /** After a bad probe: fails at once when the server has printed a fatal line. */
  assertNoFatalLine(probe: ProbeResult): Promise<void>
  /** After a good probe: what runs now is the new baseline, if the host restarted. */
  acceptRestarts(): Promise<void>
  /** All containers restarted at once, and no probe was good since. */
  isHostRestarting(): boolean
  /** A stopped container is no crash by itself: an engine that shuts down stops one after the other. */
  hasStopped(): boolean
}>

/**
 * A container that exited, restarted, was replaced or runs another image fails at once. Once in a proof the whole host may restart: until the
 * next good probe the chat server may then die a few times before its database is up. An engine that does not answer is ignored.
 */
export function watchContainers(run: ChangeRun, { baseline: first, digests }: Expected): Watch {
  let baseline = first
  let last: readonly ContainerState[] = []
  let host: 'unchanged' | 'restarting' | 'restarted' = 'unchanged'
  const assertContainersUnchanged = async () => {
    const containers = await containersNow(run)
    if (!containers) return
    last = containers
    if (host === 'unchanged' && allRestarted(containers, baseline)) host = 'restarting'
    for (const before of Object.values(baseline)) {
      const { service } = before
      const container = nowOf(containers, before)
      const harm = replaced(container, before, digests[service]) ?? (host === 'restarting' ? undefined : restarted(container, before))
      if (harm) throw await harmed(run, service, { harm, container })
    }
  }
  const acceptRestarts = async () => {
    if (host !== 'restarting') return
    const containers = await containersNow(run)
    if (!containers) return
    baseline = baselineFrom(containers)
    host = 'restarted'
  }
  const assertNoFatalLine = async ({ components }: ProbeResult) => {
    const sick = failingService(components)
    const container = last.find(({ service }) => service === sick)
    const line = container && fatalLine(sick, await logSinceStart(run, container))
    if (line) throw problem('PROBE_FAILED', `${sick} of ${run.box.slug} cannot start: ${line.slice(0, 300)}`)
  }
  return {
    assertContainersUnchanged,
    assertNoFatalLine,
    acceptRestarts,
    isHostRestarting: () => host === 'restarting',
    hasStopped: () => last.some(({ state }) => state === 'exited'),
  }
}

/** The server that the others wait for. */
const failingService = ({ database, objectStorage }: ProbeResult['components']): 'postgres' | 'minio' | 'synapse' => {
  if (!database.ok) return 'postgres'
  return objectStorage.ok ? 'synapse' : 'minio'
}

const maxLines = 200

/** The log since the container's last start and since this change began: older lines are about problems that are over. */
function logSinceStart({ deps, elapsedMs }: ChangeRun, { id, startedAt }: ContainerState): Promise<string> {
  const begunAt = isoIn(deps.clock, -elapsedMs())
  const since = Date.parse(startedAt) < Date.parse(begunAt) ? begunAt : startedAt
  return deps.engine.logs(id, maxLines, { since }).catch(() => '')
}

export const baselineFrom = (containers: readonly ContainerState[]): Baseline =>
  Object.fromEntries(containers.map(({ service, id, restartCount, startedAt }) => [id, { service, id, restartCount, startedAt }]))

type Started = Baseline[string]

/** The same container now, else one that replaced it. */
const nowOf = (containers: readonly ContainerState[], { id, service }: Started): ContainerState | undefined =>
  containers.find((container) => container.id === id) ?? containers.find((container) => container.service === service)

async function containersNow({ deps, box }: ChangeRun): Promise<readonly ContainerState[] | undefined> {
  try {
    return await deps.engine.containers(box.project)
  } catch (error) {
    if (isProblem(error, 'DOCKER_UNAVAILABLE')) return undefined
    throw error
  }
}

/** The host restarted if no container kept running, not even the edge, which no change of a box restarts once it is probed. */
const allRestarted = (containers: readonly ContainerState[], baseline: Baseline): boolean =>
  Object.values(baseline).every(({ id, startedAt }) => {
    const container = containers.find((candidate) => candidate.id === id)
    return container !== undefined && (container.state !== 'running' || container.startedAt !== startedAt)
  })

function replaced(container: ContainerState | undefined, before: Started, digest: string | undefined): string | undefined {
  if (!container) return 'is gone'
  if (container.id !== before.id) return 'was restarted or replaced'
  return digest !== undefined && container.digest !== digest ? `runs ${container.digest} and not ${digest}` : undefined
}

function restarted(container: ContainerState | undefined, before: Started): string | undefined {
  if (container?.state !== 'running') return `is ${container?.state} (exit code ${container?.exitCode ?? 'unknown'})`
  // A restarted engine counts from zero, so a lower count is not an error.
  return container.restartCount > before.restartCount ? 'was restarted or replaced' : undefined
}

type Harm = Readonly<{ harm: string; container: ContainerState | undefined }>

async function harmed({ deps, box }: ChangeRun, service: string, { harm, container }: Harm) {
  const text = container ? await deps.engine.logs(container.id, maxLines).catch(() => '') : ''
  const line = exitReason(service, text)
  return problem('PROBE_FAILED', `${service} of ${box.slug} ${harm}${line ? `: ${line.slice(0, 200)}` : ''}`)
}
