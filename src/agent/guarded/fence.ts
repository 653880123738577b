import { isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { fenceSwitch, placeSwitch, readFence, takeSwitchAway } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { GuardedRun } from './guarded-run.ts'

type Fencing = Pick<GuardedRun, 'box' | 'context' | 'payload' | 'elapsedMs' | 'deps'>

/** Whose fence stands. What cannot be read as ours is another's. */
export async function fenceOf(box: LocalBox, commandId: string): Promise<'absent' | 'ours' | 'other'> {
  const fence = await readFence(box.project)
  if (!fence) return 'absent'
  return fence.holder === commandId ? 'ours' : 'other'
}

/** Closes the edge. Throws BOX_HELD when another action has fenced the box. */
export async function raiseFence(run: Fencing): Promise<void> {
  const { box, context } = run
  const raised = await placeSwitch(box.project, saysOf(run))
  if (!raised && (await fenceOf(box, context.commandId)) !== 'ours')
    throw problem('BOX_HELD', `the box ${box.slug} cannot be fenced: see what is in ${fenceSwitch(box.project)}`)
}

/** The edge stays closed all the time, under our name from now on. Only for the fence of a holder that has ended. Throws BOX_HELD. */
export async function takeOverFence(run: Fencing, former: string): Promise<void> {
  const { box } = run
  if ((await readFence(box.project))?.holder !== former) return raiseFence(run)
  await writeFileAtomic(fenceSwitch(box.project), `${JSON.stringify(saysOf(run))}\n`, { mode: 0o644 })
}

const saysOf = ({ context, payload, elapsedMs, deps }: Fencing) => ({
  commandId: context.commandId,
  raisedAt: isoNow(deps.clock),
  deadlineAt: isoIn(deps.clock, payload.deadlineMs - elapsedMs()),
})

/** Opens the edge again; a fence of another action stays. */
export async function liftFence({ box, context }: Pick<Fencing, 'box' | 'context'>): Promise<void> {
  if ((await fenceOf(box, context.commandId)) === 'ours') await takeSwitchAway(box.project)
}
