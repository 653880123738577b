import type { UpdateResult } from '../../../core/boxes/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import type { Command, CommandListener } from '../../hosts/index.ts'
import { actionBySlug } from '../actions.repo.ts'
import { lockRollout } from '../rollouts.repo.ts'
import { finishUpdate, outcomeOf } from './finish-update.ts'

/**
 * An agent that reported a failure, or whose update was counted as failed while its host was away, may report the result of the same update
 * later. The action then shows it, with its alerts, also where the rollout has finished. A result of an earlier attempt changes nothing: the
 * preflight of the next one has read the box.
 */
export const lateResults = ({ clock }: Readonly<{ clock: Clock }>): CommandListener => ({
  resultHandlers: { 'tenant-box.update': (tx, command, result) => correctFailed(clock, tx, command, result) },
})

async function correctFailed(clock: Clock, tx: Tx, { id }: Command, result: UpdateResult): Promise<void> {
  const failed = await tx
    .selectFrom('rollout_actions')
    .select(['rollout_id', 'slug'])
    .where('id', '=', id.split('.').slice(0, 2).join('.'))
    .where('command_id', '=', id)
    .where('status', '=', 'failed')
    .executeTakeFirst()
  if (!failed) return
  const rollout = await lockRollout(tx, failed.rollout_id)
  const action = await actionBySlug(tx, rollout.id, failed.slug)
  if (action.status !== 'failed' || action.commandId !== id || action.undo !== null) return
  const step = { tx, clock, rollout, action }
  const outcome = outcomeOf(step, result)
  // A box that was updated after all was not left out.
  await finishUpdate(step, { ...outcome, shows: { ...outcome.shows, ...(outcome.status === 'succeeded' ? { waived: false } : {}) } })
}
