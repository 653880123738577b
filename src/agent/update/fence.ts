import type { UpdateWorld } from '../../core/boxes/index.ts'
import { isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { fenceSwitch, placeSwitch, readFence, takeSwitchAway } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { UpdateRun } from './update-run.ts'

/** Whose fence stands. What cannot be read as ours is another's. */
export async function fenceOf(box: LocalBox, commandId: string): Promise<UpdateWorld['fence']> {
  const fence = await readFence(box.project)
  if (!fence) return 'absent'
  return fence.holder === commandId ? 'ours' : 'other'
}

/** Closes the edge. Throws BOX_HELD when another action has fenced the box. */
export async function raiseFence({ box, context, payload, elapsedMs, needs }: UpdateRun): Promise<void> {
  const deadlineAt = isoIn(needs.clock, payload.deadlineMs - elapsedMs())
  const raised = await placeSwitch(box.project, { commandId: context.commandId, raisedAt: isoNow(needs.clock), deadlineAt })
  if (!raised && (await fenceOf(box, context.commandId)) !== 'ours')
    throw problem('BOX_HELD', `the box ${box.slug} cannot be fenced: see what is in ${fenceSwitch(box.project)}`)
}

/** Opens the edge again; a fence of another action stays. */
export async function liftFence({ box, context }: UpdateRun): Promise<void> {
  if ((await fenceOf(box, context.commandId)) === 'ours') await takeSwitchAway(box.project)
}
