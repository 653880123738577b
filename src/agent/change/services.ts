import { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { clearDump } from '../backup/index.ts'
import type { ContainerState } from '../ports/index.ts'
import type { Baseline, ChangeRun } from './run.types.ts'
import { baselineFrom } from './watch-containers.ts'

type Starting = Readonly<{
  /** Only these are recreated from the compose file; the others start as they are. */
  recreate: readonly Service[]
  /** Default: all. */
  services?: readonly Service[]
  /** Runs while only the database is up. */
  onceDatabaseRuns?: () => Promise<void>
}>

/**
 * Starts what was stopped: the chat server after the database, and last the object store, which neither needs for its start, so that it does not
 * slow theirs. Returns the containers as the baseline of the probes.
 */
export async function startServices(
  run: ChangeRun,
  { recreate, services = Service.options, onceDatabaseRuns }: Starting,
): Promise<Baseline> {
  const { deps, box, signal } = run
  const start = async (service: Service) => {
    if (!services.includes(service)) return
    if (recreate.includes(service)) await deps.engine.up(box.project, [service], signal)
    else await deps.engine.start(box.project, [service])
  }
  // Two runs of compose over one project would disturb each other.
  const isChatAlone = services.includes('synapse') && recreate.includes('synapse') && !recreate.includes('postgres')
  const startDatabase = async () => {
    await start('postgres')
    await waitForDatabase(run)
    await onceDatabaseRuns?.()
  }
  // A container is created in about the time that a database takes for its start.
  await settled([startDatabase(), ...(isChatAlone ? [deps.engine.create(box.project, ['synapse'], signal)] : [])])
  if (isChatAlone) await deps.engine.start(box.project, ['synapse'])
  else await start('synapse')
  await start('minio')
  if (recreate.includes('edge')) await start('edge')
  return baselineFrom(await deps.engine.containers(box.project))
}

/** Nothing is under way any more when this fails. */
async function settled(works: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(works)
  await Promise.all(works)
}

/** A healthy database answers within a second; one that recovers is polled less and less often. */
const [firstPauseMs, maxPauseMs] = [100, 1_000]

/** Waits for crash recovery. Throws BOX_UNHEALTHY when the database exits or does not answer within the time of the probe rule. */
export async function waitForDatabase({ deps, box, signal, payload }: ChangeRun): Promise<void> {
  const until = deps.clock.monotonicMs() + payload.probe.timeoutMs
  const isReady = () => deps.servers.databaseReady(box).catch(() => false)
  for (let pauseMs = firstPauseMs; !(await isReady()); pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    signal.throwIfAborted()
    const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
    if (database?.state !== 'running')
      throw problem('BOX_UNHEALTHY', `the database of ${box.slug} exited at its start (exit code ${database?.exitCode ?? 'unknown'})`)
    if (deps.clock.monotonicMs() >= until) throw problem('BOX_UNHEALTHY', `the database of ${box.slug} accepts no connections`)
    await deps.clock.sleep(pauseMs, signal)
  }
}

/** A container that the engine keeps restarting writes now and then. */
export const isAlive = ({ state }: ContainerState): boolean => state === 'running' || state === 'restarting'

type Stoppable = 'synapse' | 'minio' | 'postgres'

/** Throws UPDATE_FAILED for a service that still runs. */
export async function stopServices({ deps, box }: Pick<ChangeRun, 'deps' | 'box'>, services: readonly Stoppable[]): Promise<void> {
  await deps.engine.stop(box.project, services)
  const containers = await deps.engine.containers(box.project)
  const alive = containers.find((container) => services.some((service) => service === container.service) && isAlive(container))
  if (alive) throw problem('UPDATE_FAILED', `${alive.service} of ${box.slug} did not stop`)
}

/** After this nothing writes to the box, so the next snapshot is complete. */
export async function stopWriters(run: ChangeRun): Promise<void> {
  // Requested before anything stops: a restarted agent has lost the password, and the daemon may be away.
  await run.repository()
  await stopServices(run, ['synapse', 'minio'])
  await clearDump(run.deps, run.context.commandId)
}

export const stopAll = (run: Pick<ChangeRun, 'deps' | 'box'>): Promise<void> => stopServices(run, ['synapse', 'minio', 'postgres'])
