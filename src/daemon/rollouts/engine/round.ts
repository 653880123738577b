import { isoNow, isProblem } from '../../../core/kit/index.ts'
import { decide, decideUndo, type EngineCommand, isInFlight, phaseOf, type Step } from '../../../core/rollouts/index.ts'
import { type BoxHold, holdsBySlug } from '../../boxes/index.ts'
import { type Command, commandsByIds } from '../../hosts/index.ts'
import { rolloutById, type StoredRollout } from '../rollouts.repo.ts'
import { streamOf } from '../tell.ts'
import { actionsInSight } from './actions-in-sight.repo.ts'
import { beginAction } from './begin-action.ts'
import { closedWindows } from './closed-windows.repo.ts'
import { advancePhase, pausePhase } from './drive-phase.ts'
import { examineAction } from './examine-action.ts'
import { failAction, judgeAction } from './judge-action.ts'
import type { Owned } from './owned.ts'
import { pinDigests } from './pin-digests.ts'
import { unanswerable } from './unanswerable.repo.ts'
import { beginUndo } from './undo/begin-undo.ts'
import { examineUndo } from './undo/examine-undo.ts'
import { failUndo, judgeUndo } from './undo/judge-undo.ts'
import { orderUndo } from './undo/order-undo.ts'
import { showUndoWait } from './undo/show-undo-wait.ts'
import { undosInSight } from './undo/undos-in-sight.repo.ts'
import { noteOverdue, showProgress, showWait } from './watch-action.ts'

/** Whether something was done after which there may be more to do at once, and which commands are waited for. */
export type Round = Readonly<{ goesOn: boolean; waitingFor: readonly Command[] }>

/** Looks, decides, does. Every step checks in its own transaction that what was decided still holds, so a round may be broken off anywhere. */
export async function round(owned: Owned, signal: AbortSignal): Promise<Round> {
  const { db, settings } = owned.needs
  const rollout = await rolloutById(db, owned.rolloutId) // before its actions: one that is resumed here has them reset
  const holds = await holdsOfOthers(owned)
  const isUndone = rollout.status === 'rolled_back'
  const actions = isUndone
    ? await undosInSight(db, { rolloutId: rollout.id, holds, limits: settings })
    : await actionsInSight(db, { ...(await windowsOf(owned, rollout)), rolloutId: rollout.id, holds, limits: settings })
  const ids = actions.flatMap(({ status, commandId }) => (isInFlight(status) && commandId !== null ? [commandId] : []))
  const waitingFor = await commandsByIds(db, ids)
  const silent = await unanswerable(db, waitingFor)
  const commands = new Map(waitingFor.map((command) => [command.id, silent.has(command.id) ? neverAnswers(command) : seen(command)]))
  const steps = isUndone ? decideUndo(actions, commands, settings) : decide(rollout, actions, commands, settings)
  let goesOn = false
  for (const step of steps) if (!signal.aborted && (await attempt(owned, step)) && !isTelling(step)) goesOn = true
  return { goesOn, waitingFor }
}

/** What only tells how things stand leads to nothing new. */
const isTelling = (step: Step): boolean => step.do === 'show' || step.do === 'wait'

async function windowsOf({ needs: { db, clock, windows } }: Owned, rollout: StoredRollout) {
  const phase = phaseOf(rollout)
  return { phase, windows: await closedWindows(db, { rollout, phase, windows, now: isoNow(clock) }) }
}

async function holdsOfOthers({ needs: { db, clock }, rolloutId }: Owned): Promise<ReadonlyMap<string, BoxHold>> {
  const holds = await holdsBySlug(db, clock)
  return new Map([...holds].filter(([, { holder }]) => holder !== streamOf(rolloutId)))
}

function seen({ id, status, leaseToken, result, error, progress, heardAt, finishedAt }: Command): EngineCommand {
  // An error that came after the daemon had given up is an answer like any other.
  const cameLate = status === 'expired' && heardAt !== null && finishedAt !== null && heardAt > finishedAt
  return {
    id,
    status: cameLate && result === null ? 'failed' : status,
    taken: leaseToken > 0,
    result,
    error,
    progress,
  }
}

const neverAnswers = (command: Command): EngineCommand => ({ ...seen(command), status: 'failed', error: unheard })

const unheard = {
  code: 'HOST_OFFLINE',
  message:
    'its agent never said how it ended, and the box is on another host by now, or was given up: it is looked at anew when it is tried again',
}

/** False when the step could not be taken; one box's trouble keeps no other from its turn. Throws LEASE_LOST. */
async function attempt(owned: Owned, step: Step): Promise<boolean> {
  try {
    await execute(owned, step)
    return true
  } catch (error) {
    if (isProblem(error, 'LEASE_LOST')) throw error
    owned.needs.log.error({ rolloutId: owned.rolloutId, step: step.do, err: error }, 'a step of a rollout failed and will be tried again')
    return false
  }
}

function execute(owned: Owned, step: Step): Promise<void> {
  switch (step.do) {
    case 'begin':
      return beginAction(owned, step.slug)
    case 'wait':
      return showWait(owned, step.slug, step)
    case 'examine':
      return examineAction(owned, step.slug, step.commandId, step.result as never)
    case 'pin':
      return pinDigests(owned, step.slug, step.commandId, step.result as never)
    case 'judge':
      return judgeAction(owned, step.slug, step.commandId, step.result as never)
    case 'show':
      return showProgress(owned, step.slug, step.commandId, step.status, step.progress)
    case 'begin-undo':
      return beginUndo(owned, step.slug)
    case 'wait-undo':
      return showUndoWait(owned, step.slug, step.why)
    case 'examine-undo':
      return examineUndo(owned, step.slug, step.commandId, step.result as never)
    case 'order-undo':
      return orderUndo(owned, step.slug, step.commandId, step.result as never)
    case 'judge-undo':
      return judgeUndo(owned, step.slug, step.commandId, step.result as never)
    case 'fail-undo':
      return failUndo(owned, step.slug, step.commandId, step.error)
    case 'fail':
      return failAction(owned, step.slug, step.commandId, step.error)
    case 'overdue':
      return noteOverdue(owned, step.slug, step.commandId)
    case 'pause':
      return pausePhase(owned, step.reason)
    case 'advance':
      return advancePhase(owned, step.from)
  }
}
