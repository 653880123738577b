import type { ProbeResult } from '../../core/boxes/index.ts'
import { isoIn, isProblem, problem } from '../../core/kit/index.ts'
import type { ContainerState } from '../ports/index.ts'
import { fatalLine, lastWords } from './fatal-lines.ts'
import type { Baseline, GuardedRun } from './guarded-run.ts'

type Expected = Readonly<{
  baseline: Baseline
  /** What must run, where the registry's word is known. */
  digests: Readonly<Record<string, string>>
}>

/** Looks at the containers between probes. All throw PROBE_FAILED for one that is not what was started, or never will be well. */
export type Watch = Readonly<{
  look(): Promise<void>
  /** A probe was not good: a server that has printed that it will never be is not waited for. */
  hear(probe: ProbeResult): Promise<void>
  /** A probe was good: what runs now is what must go on running. */
  settle(): Promise<void>
}>

/**
 * A container that ended, was restarted, was replaced or runs another image fails at once. Once in a proof the whole host may start anew:
 * then a chat server may die a few times before its database is up, and only from the next good probe on no restart is borne again.
 * An engine that does not answer says nothing about the box.
 */
export function watchContainers(run: GuardedRun, { baseline: first, digests }: Expected): Watch {
  let baseline = first
  let seen: readonly ContainerState[] = []
  let host: 'as it was' | 'starting anew' | 'started anew' = 'as it was'
  const look = async () => {
    const containers = await containersNow(run)
    if (!containers) return
    seen = containers
    if (host === 'as it was' && startedAnew(containers, baseline)) host = 'starting anew'
    for (const [service, before] of Object.entries(baseline)) {
      const container = containers.find((candidate) => candidate.service === service)
      const harm = otherThan(container, before, digests[service]) ?? (host === 'starting anew' ? undefined : unsteady(container, before))
      if (harm) throw await harmed(run, service, harm, container)
    }
  }
  const settle = async () => {
    if (host !== 'starting anew') return
    const containers = await containersNow(run)
    if (!containers) return
    baseline = baselineFrom(containers)
    host = 'started anew'
  }
  const hear = async ({ components }: ProbeResult) => {
    const sick = sickest(components)
    const container = seen.find(({ service }) => service === sick)
    const line = container && fatalLine(sick, await printedBy(run, container))
    if (line) throw problem('PROBE_FAILED', `${sick} of ${run.box.slug} will not come up: ${line.slice(0, 300)}`)
  }
  return { look, hear, settle }
}

/** The server that the others wait for. */
const sickest = ({ database, objectStorage }: ProbeResult['components']): 'postgres' | 'minio' | 'synapse' => {
  if (!database.ok) return 'postgres'
  return objectStorage.ok ? 'synapse' : 'minio'
}

const linesRead = 200

/**
 * Since its last start, and since this change began: what an earlier life said is over, and what a server said that has run for weeks, it got
 * over. An engine that does not answer says nothing.
 */
function printedBy({ deps, elapsedMs }: GuardedRun, { id, startedAt }: ContainerState): Promise<string> {
  const begunAt = isoIn(deps.clock, -elapsedMs())
  const since = Date.parse(startedAt) < Date.parse(begunAt) ? begunAt : startedAt
  return deps.engine.logs(id, linesRead, { since }).catch(() => '')
}

export const baselineFrom = (containers: readonly ContainerState[]): Baseline =>
  Object.fromEntries(containers.map(({ service, id, restartCount, startedAt }) => [service, { id, restartCount, startedAt }]))

async function containersNow({ deps, box }: GuardedRun): Promise<readonly ContainerState[] | undefined> {
  try {
    return await deps.engine.containers(box.project)
  } catch (error) {
    if (isProblem(error, 'DOCKER_UNAVAILABLE')) return undefined
    throw error
  }
}

/** Nothing has run through: not even the edge, which no change of a box restarts once it is probed. */
const startedAnew = (containers: readonly ContainerState[], baseline: Baseline): boolean =>
  Object.entries(baseline).every(([service, { id, startedAt }]) => {
    const container = containers.find((candidate) => candidate.service === service)
    return startedAt !== undefined && container?.id === id && (container.state !== 'running' || container.startedAt !== startedAt)
  })

function otherThan(container: ContainerState | undefined, before: Baseline[string], digest: string | undefined): string | undefined {
  if (!container) return 'is gone'
  if (container.id !== before.id) return 'was restarted or replaced'
  return digest !== undefined && container.digest !== digest ? `runs ${container.digest} and not ${digest}` : undefined
}

function unsteady(container: ContainerState | undefined, before: Baseline[string]): string | undefined {
  if (container?.state !== 'running') return `is ${container?.state} (exit code ${container?.exitCode ?? 'unknown'})`
  // An engine that starts anew counts from zero: fewer restarts than before are no harm.
  return container.restartCount > before.restartCount ? 'was restarted or replaced' : undefined
}

async function harmed({ deps, box }: GuardedRun, service: string, harm: string, container: ContainerState | undefined) {
  const text = container ? await deps.engine.logs(container.id, linesRead).catch(() => '') : ''
  const line = lastWords(service, text)
  return problem('PROBE_FAILED', `${service} of ${box.slug} ${harm}${line ? `: ${line.slice(0, 200)}` : ''}`)
}
