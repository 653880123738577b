import { isoNow } from '../../../core/kit/index.ts'
import { type Bake, type EngineAction, type EngineCommand, isInFlight, isOver, limitsOf, phaseOf } from '../../../core/rollouts/index.ts'
import { holdsBySlug } from '../../boxes/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { type CommandState, isAnswered, statesOfCommands } from '../../hosts/index.ts'
import { unfinishedAmong } from '../open-rollouts.repo.ts'
import { streamOf } from '../publish.ts'
import { rolloutById, type StoredRollout } from '../rollouts.repo.ts'
import { readBake } from './bake.repo.ts'
import { actionsToRollBack, actionsToUpdate, closedWindows } from './engine-actions.repo.ts'

import type { LeasedRollout } from './under-lease.ts'

/** The state from which the next steps are planned. Reading it locks nothing: each step checks its own part again. */
export type Observation = Readonly<{
  rollout: StoredRollout
  bake: Bake | undefined
  actions: readonly EngineAction[]
  commands: ReadonlyMap<string, EngineCommand>
  awaited: readonly AwaitedCommand[]
}>

/** A command in flight, with the revision that was read. */
export type AwaitedCommand = Pick<CommandState, 'id' | 'revision'>

/** Reads the rollout, its relevant actions and the commands in flight. */
export async function observeRollout({ deps, rolloutId }: LeasedRollout): Promise<Observation> {
  const { db, clock } = deps
  const stored = await rolloutById(db, rolloutId) // before its actions: a resume in between has reset them
  const rollout = { ...stored, queuedBehind: [...(await unfinishedAmong(db, stored.queuedBehind))] }
  const holds = await holdsBySlug(db, clock, streamOf(rolloutId))
  const actions = isOver(rollout.status)
    ? await actionsToRollBack(db, { rolloutId, holds, limits: limitsOf(deps.settings, rollout) })
    : await actionsInPhase(deps, rollout, holds)
  const inFlight = actions.filter(({ status }) => isInFlight(status))
  const awaited = await statesOfCommands(
    db,
    inFlight.flatMap(({ commandId }) => commandId ?? []),
  )
  const unanswerable = await unanswerableCommands(db, awaited)
  const commands = awaited.map((command) => (unanswerable.has(command.id) ? failedUnanswered(command) : engineCommand(command)))
  const bake = await readBake(deps, rollout, actions)
  return { rollout, bake, actions, commands: new Map(commands.map((command) => [command.id, command])), awaited }
}

type Holds = Parameters<typeof actionsToUpdate>[1]['holds']

async function actionsInPhase({ db, clock, windows, settings }: LeasedRollout['deps'], rollout: StoredRollout, holds: Holds) {
  const phase = phaseOf(rollout)
  const closed = await closedWindows(db, { rollout, phase, windows, now: isoNow(clock) })
  return actionsToUpdate(db, { rolloutId: rollout.id, phase, holds, windows: closed, limits: limitsOf(settings, rollout) })
}

function engineCommand(command: CommandState): EngineCommand {
  const { id, status, leaseToken, result, error, progress } = command
  // An agent's error that arrived after the command expired is its answer.
  const failedLate = status === 'expired' && isAnswered(command) && result === null
  return { id, status: failedLate ? 'failed' : status, taken: leaseToken > 0, result, error, progress }
}

/**
 * Expired commands that an agent took and will never answer: an operator has since moved the box to another host, or erased it. Waiting
 * for them would keep the rollout from its end.
 */
async function unanswerableCommands(db: DbOrTx, commands: readonly CommandState[]): Promise<ReadonlySet<string>> {
  const silent = commands.filter(({ status, leaseToken, result }) => status === 'expired' && leaseToken > 0 && result === null)
  if (silent.length === 0) return new Set()
  const boxIds = silent.map(({ boxId }) => boxId)
  const boxes = await db.selectFrom('boxes').select(['id', 'host_id', 'removal']).where('id', 'in', boxIds).execute()
  const hostOf = new Map(boxes.map(({ id, host_id, removal }) => [id, removal === 'erased' ? null : host_id]))
  return new Set(silent.filter(({ boxId, hostId }) => hostOf.get(boxId) !== hostId).map(({ id }) => id))
}

const failedUnanswered = (command: CommandState): EngineCommand => ({ ...engineCommand(command), status: 'failed', error: unanswered })

const unanswered = {
  code: 'HOST_OFFLINE',
  message: 'its agent never reported the outcome, and the box has since moved to another host or was erased; a retry reads the box again',
}
