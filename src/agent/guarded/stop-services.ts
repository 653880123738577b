import { problem } from '../../core/kit/index.ts'
import { clearDump } from '../backup/index.ts'
import type { ContainerState } from '../ports/index.ts'
import type { GuardedRun } from './guarded-run.ts'

// One that the engine keeps restarting writes now and then.
export const isAlive = ({ state }: ContainerState): boolean => state === 'running' || state === 'restarting'

/** Stops services and looks whether they are: throws UPDATE_FAILED for one that goes on. */
async function stopServices(
  { deps, box }: Pick<GuardedRun, 'deps' | 'box'>,
  services: readonly ('synapse' | 'minio' | 'postgres')[],
): Promise<void> {
  await deps.engine.stop(box.project, services)
  const containers = await deps.engine.containers(box.project)
  const alive = containers.find((container) => services.some((service) => service === container.service) && isAlive(container))
  if (alive) throw problem('UPDATE_FAILED', `${alive.service} of ${box.slug} did not stop`)
}

/** From here on nobody writes, so that what is kept next is all that there is. */
export async function stopWriters(run: GuardedRun): Promise<void> {
  // Asked for while nothing has stopped yet: an agent that was restarted has lost it, and the daemon may be away.
  await run.repository()
  await stopServices(run, ['synapse', 'minio'])
  await clearDump(run.deps, run.context.commandId)
}

export const stopAll = (run: Pick<GuardedRun, 'deps' | 'box'>): Promise<void> => stopServices(run, ['synapse', 'minio', 'postgres'])
