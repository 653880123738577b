import { type EngineAction, type EngineCommand, phaseOf, planSteps } from '../../../core/rollouts/index.ts'
import { readAhead } from '../actions-ahead.repo.ts'
import { lockRollout } from '../rollouts.repo.ts'
import { actionsInSight } from './actions-in-sight.repo.ts'
import { beginAction } from './begin-action.ts'
import { readBoxesAhead } from './box-asked.repo.ts'
import type { ClosedWindows } from './closed-windows.repo.ts'
import type { Sent, Within } from './owned.ts'

/** Who waits for others and for what, as it was looked at before the transaction: whoever begins looks again at its own. */
export type Waits = Readonly<{
  holds: ReadonlyMap<string, NonNullable<EngineAction['held']>>
  windows: ClosedWindows
  commands: ReadonlyMap<string, EngineCommand>
}>

/** Where many wait for their window, whose turn it is takes long to find: then it is not looked for while everybody else waits for the lock. */
const mostWaiting = 50

/** `isDone`: nothing else can be done now that places are free. */
export type Begun = Readonly<{ sent: readonly Sent[]; isDone: boolean }>

/**
 * Boxes whose turn has come because others have ended in this transaction: the end of the ones and the beginning of the others are one commit, and
 * how it stands by now is decided by what the transaction itself sees. All else that may follow is left to the next look.
 */
export async function beginFreed(within: Within, waits: Waits): Promise<Begun> {
  const { tx, deps, rolloutId } = within
  const rollout = await lockRollout(tx, rolloutId)
  const phase = phaseOf(rollout)
  const { holds, windows, commands } = waits
  if (!phase || windows.waits.size + windows.untold.size > mostWaiting) return { sent: [], isDone: false }
  const actions = await actionsInSight(tx, { rolloutId, phase, holds, windows, limits: deps.settings })
  const steps = planSteps(rollout, actions, commands, deps.settings)
  const slugs = steps.flatMap((step) => (step.do === 'begin' ? [step.slug] : []))
  await readAhead(tx, rolloutId, slugs)
  await readBoxesAhead(tx, slugs)
  const sent: Sent[] = []
  for (const slug of slugs) sent.push(await beginAction(within, slug))
  return { sent, isDone: sent.length === steps.length && sent.every((one) => one !== undefined) }
}
