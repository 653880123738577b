import { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Baseline, GuardedRun } from './guarded-run.ts'
import { baselineFrom } from './unharmed.ts'

/** A healthy one is there in less than a second; one that recovers is asked less and less often. */
const [firstPauseMs, longestPauseMs] = [100, 1_000]

type Starting = Readonly<{
  /** Only these are brought to what the file says; the others start as they are. */
  recreate: readonly Service[]
  /** All of them when absent. */
  services?: readonly Service[]
  /** Done while only the database runs. */
  onceDatabaseRuns?: () => Promise<void>
}>

/**
 * Starts what was stopped, the database first and the chat server last, so that none dies for want of another.
 * Answers the containers as the baseline of the probes.
 */
export async function startServices(
  run: GuardedRun,
  { recreate, services = Service.options, onceDatabaseRuns }: Starting,
): Promise<Baseline> {
  const { deps, box, signal } = run
  const start = async (service: Service) => {
    if (!services.includes(service)) return
    if (recreate.includes(service)) await deps.engine.up(box.project, [service], signal)
    else await deps.engine.start(box.project, [service])
  }
  await start('postgres')
  await waitForDatabase(run)
  await onceDatabaseRuns?.()
  await start('minio')
  await start('synapse')
  if (recreate.includes('edge')) await start('edge')
  return baselineFrom(await deps.engine.containers(box.project))
}

/** Crash recovery may take long and is waited for; a database that ends is not. */
export async function waitForDatabase({ deps, box, signal, payload }: GuardedRun): Promise<void> {
  const until = deps.clock.monotonicMs() + payload.probe.timeoutMs
  for (
    let pauseMs = firstPauseMs;
    !(await deps.servers.databaseReady(box).catch(() => false));
    pauseMs = Math.min(2 * pauseMs, longestPauseMs)
  ) {
    signal.throwIfAborted()
    const database = (await deps.engine.containers(box.project)).find(({ service }) => service === 'postgres')
    if (database?.state !== 'running')
      throw problem('BOX_UNHEALTHY', `the database of ${box.slug} ended at its start (exit code ${database?.exitCode ?? 'unknown'})`)
    if (deps.clock.monotonicMs() >= until) throw problem('BOX_UNHEALTHY', `the database of ${box.slug} takes no connections`)
    await deps.clock.sleep(pauseMs, signal)
  }
}
