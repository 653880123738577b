import { isoNow } from '../../../core/kit/index.ts'
import { type EngineCommand, isInFlight, phaseOf, planRollbackSteps, planSteps } from '../../../core/rollouts/index.ts'
import { holdsBySlug } from '../../boxes/index.ts'
import { type DbOrTx, onOneConnection } from '../../db/index.ts'
import { type CommandState, statesOfCommands } from '../../hosts/index.ts'
import type { RolloutsDeps } from '../deps.ts'
import { streamOf } from '../tell.ts'
import { actionsInSight } from './actions-in-sight.repo.ts'
import { closedWindows, noWindows } from './closed-windows.repo.ts'
import { withHostNames } from './host-names.repo.ts'
import type { Owned } from './owned.ts'
import { type RolloutInSight, rolloutInSight } from './rollout-in-sight.repo.ts'
import { type Seen, takeSteps } from './take-steps.ts'
import { unanswerable } from './unanswerable.repo.ts'
import { undosInSight } from './undo/undos-in-sight.repo.ts'

/** Whether something was done after which there may be more to do at once, and which commands are waited for. */
export type Round = Readonly<{ goesOn: boolean; waitingFor: readonly WaitedFor[] }>

/** A command as it was when it was looked at last. */
export type WaitedFor = Pick<CommandState, 'id' | 'revision'>

/** Looks, decides, does. Every step checks in its transaction that what was decided still holds, so a round may be broken off anywhere. */
export async function round(owned: Owned, signal: AbortSignal): Promise<Round> {
  const { known, ...seen } = await onOneConnection(owned.deps.db, (db) => look(db, owned))
  const { goesOn, sent } = await takeSteps(owned, seen, signal)
  return { goesOn, waitingFor: [...known, ...sent] }
}

type Looked = Seen & Readonly<{ known: readonly CommandState[] }>

async function look(db: DbOrTx, { deps, rolloutId }: Owned): Promise<Looked> {
  const { clock, settings } = deps
  const rollout = await rolloutInSight(db, rolloutId) // before its actions: one that is resumed here has them reset
  const holds = await holdsBySlug(db, clock, streamOf(rolloutId))
  const isUndone = rollout.status === 'rolled_back'
  const { phase, windows } = isUndone ? { phase: undefined, windows: noWindows } : await windowsOf(db, deps, rollout)
  const actions = isUndone
    ? await undosInSight(db, { rolloutId: rollout.id, holds, limits: settings })
    : await actionsInSight(db, { rolloutId: rollout.id, phase, holds, windows, limits: settings })
  const flying = actions.filter(({ status }) => isInFlight(status))
  const ids = flying.flatMap(({ commandId }) => (commandId === null ? [] : [commandId]))
  const known = await statesOfCommands(db, ids)
  const silent = await unanswerable(db, known)
  const commands = new Map(known.map((command) => [command.id, silent.has(command.id) ? neverAnswers(command) : seen(command)]))
  const named = await withHostNames(db, actions, commands)
  const steps = isUndone ? planRollbackSteps(named, commands, settings) : planSteps(rollout, named, commands, settings)
  return { steps, known, isFull: flying.length >= settings.parallel, holds, windows, commands }
}

async function windowsOf(db: DbOrTx, { clock, windows }: RolloutsDeps, rollout: RolloutInSight) {
  const phase = phaseOf(rollout)
  return { phase, windows: await closedWindows(db, { rollout, phase, windows, now: isoNow(clock) }) }
}

function seen({ id, status, leaseToken, result, error, progress, heardAt, finishedAt }: CommandState): EngineCommand {
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

const neverAnswers = (command: CommandState): EngineCommand => ({ ...seen(command), status: 'failed', error: unheard })

const unheard = {
  code: 'HOST_OFFLINE',
  message:
    'its agent never said how it ended, and the box is on another host by now, or was given up: it is looked at anew when it is tried again',
}
