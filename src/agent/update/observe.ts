import type { Service, UpdateWorld } from '../../core/boxes/index.ts'
import { remembered, sha256Hex } from '../../core/kit/index.ts'
import { fenceOf, isAlive, readComposeText } from '../guarded/index.ts'
import type { UpdateRun } from './update-run.ts'

/** What is on the host now, as far as the plan depends on it. */
export async function observe(run: UpdateRun): Promise<UpdateWorld> {
  const { box, context, needs, payload } = run
  const [fence, containers, text] = await Promise.all([
    fenceOf(box, context.commandId),
    needs.engine.containers(box.project),
    readComposeText(box),
  ])
  const runs = (service: Service) => containers.some((container) => container.service === service && isAlive(container))
  const quiet = !runs('synapse') && !runs('minio')
  return {
    mode: payload.fence.mode,
    fence,
    quiet,
    stopped: quiet && !runs('postgres'),
    serving: runs('synapse'),
    compose: composeOf(run, text),
    deadlinePassed: run.elapsedMs() > payload.deadlineMs,
  }
}

/** The text is looked at before each step, and is two texts in all. */
const sumOf = remembered(4, sha256Hex)

function composeOf(run: UpdateRun, text: string): UpdateWorld['compose'] {
  const before = run.evidence().prefetch
  const sum = sumOf(text)
  if (!before || sum === before.composeSha256) return 'former'
  return sum === before.targetSha256 ? 'target' : 'other'
}
