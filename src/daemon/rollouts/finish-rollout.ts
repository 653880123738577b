import { type AlertKind, alertOf } from '../../core/alerts/index.ts'
import type { Checkpoint } from '../../core/audit/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { isOver } from '../../core/rollouts/index.ts'
import { closeAlerts, raiseAlert, wasRaised } from '../alerts/index.ts'
import { requestCheckpoint } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { cancelAllPending, countActions } from './actions.repo.ts'
import { publishActions, type RolloutTx, streamOf } from './publish.ts'

/**
 * Cancels every box that has not begun and publishes each. Call it before the rollout's own last event: followers of the stream
 * leave at that one. Answers the slugs.
 */
export async function cancelPending(step: RolloutTx): Promise<string[]> {
  const cancelled = await cancelAllPending(step.tx, step.rollout.id)
  await publishActions(step, cancelled)
  return cancelled.map(({ tenantSlug }) => tenantSlug)
}

/** Signs the audit chain once the rollout is finished and its last action has ended. */
export async function checkpointWhenFinished({ tx, clock, rollout: { id, status } }: RolloutTx): Promise<void> {
  if (!isOver(status)) return
  const { running, undo: rollback } = (await countActions(tx, [id]))(id)
  if (running + (rollback?.pending ?? 0) === 0) await requestCheckpoint(tx, clock, { chain: streamOf(id) })
}

/** Alerts about the rollout as a whole that end with each of these moves. Alerts about its boxes stay open. */
const alertsEndedBy = {
  started: ['emergency_created'],
  resumed: ['rollout_paused'],
  over: ['rollout_paused', 'emergency_created', 'emergency_started'],
} as const

export const closeRolloutAlerts = ({ tx, clock, rollout }: RolloutTx, move: keyof typeof alertsEndedBy): Promise<void> => {
  const kinds: readonly AlertKind[] = alertsEndedBy[move]
  const because = move === 'over' ? 'the rollout is finished' : `the rollout was ${move}`
  return closeAlerts(tx, clock, { subject: rollout.id, kinds, because })
}

/**
 * Sends the signed head of a finished rollout's audit chain to the alert recipients, as a copy outside this machine. The alert closes
 * at once because it needs no action. The same head again, as after a crash, sends nothing.
 */
export async function publishSignedHead({ db, clock }: Readonly<{ db: Db; clock: Clock }>, head: Checkpoint): Promise<void> {
  const rolloutId = /^rollout:(.+)$/.exec(head.chain)?.[1]
  if (rolloutId === undefined) return
  await db.transaction().execute(async (tx) => {
    const rollout = await tx.selectFrom('rollouts').select('status').where('id', '=', rolloutId).executeTakeFirst()
    if (!rollout || !isOver(rollout.status)) return
    const alert = alertOf.rollout_signed({ rolloutId, status: rollout.status, head })
    if (await wasRaised(tx, alert.key)) return
    await raiseAlert(tx, clock, alert)
    await closeAlerts(tx, clock, { subject: rolloutId, kinds: ['rollout_signed'], because: 'no action needed' })
  })
}
