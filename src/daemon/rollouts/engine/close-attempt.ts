import { evidenceSum } from '../../../core/audit/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { type AttemptStep, attemptSteps, endOfCommand, evidenceOf, isOver } from '../../../core/rollouts/index.ts'
import { nativeSha256Hex } from '../../../node/index.ts'
import { stepsOfCommands } from '../../hosts/index.ts'
import { type StoredAction, untried } from '../actions.repo.ts'
import { attemptsOf, type Evidence, storeEvidence } from '../attempts.repo.ts'
import { checkpointWhenFinished, engineActor, recordRolloutAudit, updateAction } from '../publish.ts'

import { type ActionTx, commandIdOf, type LockedAction, releaseBox } from './under-lease.ts'

/**
 * Stores how the attempt ended, with the steps that its commands reported. Answers the checksum of its evidence, which goes into the audit
 * chain so that the evidence cannot be changed unnoticed. `commandMs`: how long the last command ran by its agent's clock.
 */
export async function closeAttempt(step: LockedAction, evidence: Evidence, commandMs: number | null): Promise<string> {
  const { tx, action } = step
  const steps = await stepsOf(step, commandMs)
  const attempt = await storeEvidence(tx, { actionId: action.id, attempt: action.attempt }, { ...evidence, steps })
  return evidenceSum(evidenceOf(action, attempt), nativeSha256Hex)
}

/** The checksum of the evidence that the ended attempt has now; a later result replaces it. */
export async function replacedEvidence({ tx, action }: LockedAction): Promise<string | undefined> {
  const attempt = (await attemptsOf(tx, action.id)).find((one) => one.attempt === action.attempt)
  return attempt && evidenceSum(evidenceOf(action, attempt), nativeSha256Hex)
}

async function stepsOf({ tx, action }: LockedAction, commandMs: number | null): Promise<AttemptStep[]> {
  const earlier = (['observe', 'prefetch'] as const).map((step) => commandIdOf(action, step))
  const ids = [...earlier.filter((id) => id !== action.commandId), ...(action.commandId === null ? [] : [action.commandId])]
  const commands = await stepsOfCommands(tx, ids)
  return attemptSteps(
    commands.map(({ id, steps }) => ({ steps, endedAt: endOfCommand(steps, id === action.commandId ? commandMs : null) })),
  )
}

/**
 * The prefetch took so long that the window closes too soon for the update: the box is released untouched and waits for its next window,
 * with the images on its host. Cancelled where the rollout is finished by now.
 */
export async function postponeUpdate(step: ActionTx): Promise<undefined> {
  const { clock, rollout, action } = step
  // The rollout may have been rolled back with its boxes meanwhile: this box was not updated and needs no rollback.
  const postponed: StoredAction = { ...action, ...untried, rollback: null, status: isOver(rollout.status) ? 'cancelled' : 'pending' }
  const error = {
    code: 'WINDOW_CLOSES',
    message: 'the images were pulled too late: the maintenance window closes before the update could end',
  }
  const evidence = await closeAttempt(step, { status: 'cancelled', error, finishedAt: isoNow(clock) }, null)
  await releaseBox(step)
  await updateAction(step, action, postponed)
  await checkpointWhenFinished(step)
  const data = { slug: action.tenantSlug, attempt: action.attempt, error, evidence }
  await recordRolloutAudit(step, { actor: engineActor, action: 'rollout.action.postponed', data })
}
