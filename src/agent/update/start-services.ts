import type { VersionedService } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Baseline } from './evidence.ts'
import type { UpdateRun } from './update-run.ts'

const databasePollMs = 1_000

type Starting = Readonly<{ recreate: readonly VersionedService[]; migrate?: boolean }>

/**
 * Starts what was stopped, the database first and the chat server last, so that none dies for want of another. Only the named services
 * are recreated, the others start as they are. Answers the containers as the baseline of the probes.
 */
export async function startServices(run: UpdateRun, { recreate, migrate = false }: Starting): Promise<Baseline> {
  const { needs, box, signal, payload } = run
  const start = (service: VersionedService) =>
    recreate.includes(service) ? needs.engine.up(box.project, [service], signal) : needs.engine.start(box.project, [service])
  await start('postgres')
  await waitForDatabase(run)
  if (migrate && payload.targets.migrationsHead !== box.migrationsHead) await needs.migrate?.(box, payload.targets.migrationsHead, signal)
  await start('minio')
  await start('synapse')
  return baselineOf(run)
}

async function baselineOf({ needs, box }: UpdateRun): Promise<Baseline> {
  const containers = await needs.engine.containers(box.project)
  return Object.fromEntries(containers.map(({ service, id, restartCount }) => [service, { id, restartCount }]))
}

/** Crash recovery may take long and is waited for; a database that ends is not. */
export async function waitForDatabase({ needs, box, signal, payload }: UpdateRun): Promise<void> {
  const until = needs.clock.monotonicMs() + payload.probe.timeoutMs
  while (!(await needs.inside.databaseReady(box).catch(() => false))) {
    signal.throwIfAborted()
    const database = (await needs.engine.containers(box.project)).find(({ service }) => service === 'postgres')
    if (database?.state !== 'running')
      throw problem('BOX_UNHEALTHY', `the database of ${box.slug} ended at its start (exit code ${database?.exitCode ?? 'unknown'})`)
    if (needs.clock.monotonicMs() >= until) throw problem('BOX_UNHEALTHY', `the database of ${box.slug} takes no connections`)
    await needs.clock.sleep(databasePollMs, signal)
  }
}
