import { evidenceSum } from '../../../core/audit/index.ts'
import { type AttemptStep, attemptSteps, endOfCommand, evidenceOf } from '../../../core/rollouts/index.ts'
import { nativeSha256Hex } from '../../../node/index.ts'
import type { Tx } from '../../db/index.ts'
import { stepsOfCommands } from '../../hosts/index.ts'
import type { StoredAction } from '../actions.repo.ts'
import { type Evidence, keepEvidence } from '../attempts.repo.ts'
import { commandIdOf } from './owned.ts'

/**
 * Writes down how the attempt ended, with the steps that its commands told of, and answers the sum of all that it leaves behind: whoever
 * settles an action puts it as `evidence` into the entry of the audit chain, so that the evidence cannot be changed unseen either. `commandMs`
 * is how long the last command took by its agent's own clock.
 */
export async function closeAttempt(tx: Tx, action: StoredAction, evidence: Evidence, commandMs: number | null): Promise<string> {
  const which = { actionId: action.id, attempt: action.attempt }
  const attempt = await keepEvidence(tx, which, { ...evidence, steps: await stepsOf(tx, action, commandMs) })
  return evidenceSum(evidenceOf(action, attempt), nativeSha256Hex)
}

async function stepsOf(tx: Tx, action: StoredAction, commandMs: number | null): Promise<AttemptStep[]> {
  const earlier = (['observe', 'prefetch'] as const).map((step) => commandIdOf(action, step))
  const ids = [...earlier.filter((id) => id !== action.commandId), ...(action.commandId === null ? [] : [action.commandId])]
  const commands = await stepsOfCommands(tx, ids)
  return attemptSteps(
    commands.map(({ id, steps }) => ({ steps, endedAt: endOfCommand(steps, id === action.commandId ? commandMs : null) })),
  )
}
