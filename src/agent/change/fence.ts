import { isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { createFenceFile, fenceFile, readFence, removeFenceFile } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import type { ChangeRun } from './run.types.ts'

type Fencing = Pick<ChangeRun, 'box' | 'context' | 'payload' | 'elapsedMs' | 'deps'>

/** Returns the owner of the fence. A fence file that cannot be read as ours belongs to another. */
export async function fenceOf(box: LocalBox, commandId: string): Promise<'absent' | 'ours' | 'other'> {
  const fence = await readFence(box.project)
  if (!fence) return 'absent'
  return fence.holder === commandId ? 'ours' : 'other'
}

/** Closes the edge. Throws BOX_HELD when another action has fenced the box. */
export async function raiseFence(run: Fencing): Promise<void> {
  const { box, context } = run
  const raised = await createFenceFile(box.project, fenceText(run))
  if (!raised && (await fenceOf(box, context.commandId)) !== 'ours')
    throw problem('BOX_HELD', `the box ${box.slug} cannot be fenced. fix: read ${fenceFile(box.project)} and end the action that it names`)
}

/** Puts the fence of an ended command under our name; the edge stays closed all the time. Throws BOX_HELD. */
export async function acquireFence(run: Fencing, former: string): Promise<void> {
  const { box } = run
  if ((await readFence(box.project))?.holder !== former) return raiseFence(run)
  await writeFileAtomic(fenceFile(box.project), `${JSON.stringify(fenceText(run))}\n`, { mode: 0o644 })
}

const fenceText = ({ context, payload, elapsedMs, deps }: Fencing) => ({
  commandId: context.commandId,
  raisedAt: isoNow(deps.clock),
  deadlineAt: isoIn(deps.clock, payload.deadlineMs - elapsedMs()),
})

/** Opens the edge again; a fence of another action stays. */
export async function liftFence({ box, context }: Pick<Fencing, 'box' | 'context'>): Promise<void> {
  if ((await fenceOf(box, context.commandId)) === 'ours') await removeFenceFile(box.project)
}
