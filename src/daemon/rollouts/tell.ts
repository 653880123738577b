import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import type { RolloutEvent, RolloutEventType } from '../../core/rollouts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { appendEvent, type Tx } from '../db/index.ts'
import { publicAction, type StoredAction } from './actions.repo.ts'
import type { StoredRollout } from './rollouts.repo.ts'

/** The stream of events and the audit chain of a rollout bear the same name. */
export const streamOf = (rolloutId: string): string => `rollout:${rolloutId}`

export const engineActor: Actor = { kind: 'system', name: 'rollouts' }

type Told = Readonly<{ type: RolloutEventType; action?: StoredAction; reason?: string | null }>

/** Appends to the rollout's stream what has just changed, as it is now. */
export async function tell(tx: Tx, clock: Clock, rollout: StoredRollout, { type, action, reason = null }: Told): Promise<void> {
  const payload: RolloutEvent = {
    type,
    at: isoNow(clock),
    rolloutId: rollout.id,
    status: rollout.status,
    previousStatus: rollout.previousStatus,
    reason,
    action: action ? publicAction(action) : null,
    progress: action?.progress ?? null,
  }
  await appendEvent(tx, clock, { stream: streamOf(rollout.id), source: 'rollouts', eventType: type, payload })
}

type Done = Readonly<{ actor: Actor; action: string; data?: Readonly<Record<string, unknown>> }>

/** Writes it into the rollout's own audit chain, and what a person did into that of the admins too. Last in its transaction. */
export async function writeDown(
  tx: Tx,
  clock: Clock,
  { id }: Pick<StoredRollout, 'id'>,
  { actor, action, data = {} }: Done,
): Promise<void> {
  await recordAudit(tx, clock, { chain: streamOf(id), actor, action, subject: id, data })
  if (actor.kind !== 'system') await recordAudit(tx, clock, { actor, action, subject: id, data: { ...data, by: actorLabel(actor) } })
}
