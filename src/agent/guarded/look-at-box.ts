import type { Service } from '../../core/boxes/index.ts'
import { readComposeText } from './compose-exchange.ts'
import { fenceOf } from './fence.ts'
import type { GuardedRun } from './guarded-run.ts'
import { isAlive } from './stop-services.ts'

/** What every plan depends on: the fence, what runs, and whether the time is over; with the compose file as it is now. */
export async function lookAtBox({ box, context, deps, payload, elapsedMs }: GuardedRun) {
  const [fence, containers, text] = await Promise.all([
    fenceOf(box, context.commandId),
    deps.engine.containers(box.project),
    readComposeText(box),
  ])
  const runs = (service: Service) => containers.some((container) => container.service === service && isAlive(container))
  const serving = runs('synapse')
  const quiet = !serving && !runs('minio')
  const world = { fence, quiet, stopped: quiet && !runs('postgres'), deadlinePassed: elapsedMs() > payload.deadlineMs }
  return { world, serving, text }
}
