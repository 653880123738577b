import type { RestoreResult, UpdateResult } from '../../../core/boxes/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command, CommandListener } from '../../hosts/index.ts'
import { actionBySlug, type StoredAction } from '../actions.repo.ts'
import { attemptsOf } from '../attempts.repo.ts'
import { lockRollout } from '../rollouts.repo.ts'
import { replacedEvidence } from './close-attempt.ts'
import { finishUpdate, outcomeOf } from './finish-update.ts'
import { finishRollback, rollbackOutcome } from './rollback/finish-rollback.ts'
import type { LockedAction } from './under-lease.ts'

/**
 * An agent that reported a failure, or whose command was counted as failed while its host was away, may report the result of the same command
 * later. The action then shows it, with its alerts, also where the rollout has finished. A result of an earlier attempt changes nothing: the
 * preflight of the next one has read the box.
 */
export const lateResults = ({ clock }: Readonly<{ clock: Clock }>): CommandListener => ({
  resultHandlers: {
    'tenant-box.update': (tx, command, result) => correctFailed({ clock, tx }, command, result),
    'tenant-box.restore': (tx, command, result) => correctFailed({ clock, tx }, command, result),
  },
})

async function correctFailed(
  { clock, tx }: Readonly<{ clock: Clock; tx: Tx }>,
  { id }: Command,
  result: UpdateResult | RestoreResult,
): Promise<void> {
  const ended = await tx
    .selectFrom('rollout_actions')
    .select(['rollout_id', 'slug'])
    .where('id', '=', id.split('.').slice(0, 2).join('.'))
    .where('command_id', '=', id)
    .where('status', 'in', ['failed', 'succeeded'])
    .executeTakeFirst()
  if (!ended) return
  const rollout = await lockRollout(tx, ended.rollout_id)
  const action = await actionBySlug(tx, rollout.id, ended.slug)
  if (action.commandId !== id) return
  const step = { tx, clock, rollout, action }
  if (countsAsFailedRollback(action)) await correctRollback(step, result)
  else if (action.status === 'failed' && action.rollback === null) await correctUpdate(step, result as UpdateResult)
}

/** A rollback that was resumed is still pending until its next attempt begins. */
const countsAsFailedRollback = ({ status, rollback }: StoredAction): boolean =>
  (status === 'succeeded' || status === 'failed') && (rollback?.status === 'failed' || rollback?.status === 'pending')

async function correctUpdate(step: LockedAction, result: UpdateResult): Promise<void> {
  const outcome = { ...outcomeOf(step, result), replaces: await replacedEvidence(step) }
  // A box that was updated after all was not left out.
  await finishUpdate(step, { ...outcome, shows: { ...outcome.shows, ...(outcome.status === 'succeeded' ? { waived: false } : {}) } })
}

async function correctRollback(step: LockedAction, result: UpdateResult | RestoreResult): Promise<void> {
  const { tx, action } = step
  const attempt = (await attemptsOf(tx, action.id)).find((one) => one.attempt === action.attempt)
  if (!attempt || attempt.kind === 'update') return
  const outcome = await rollbackOutcome(step, result)
  if (outcome.verdict.status === 'succeeded') return
  const replaces = await replacedEvidence(step)
  await finishRollback({ ...step, action: { ...action, startedAt: attempt.startedAt } }, { ...outcome, replaces })
}
