import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import type { RolloutEvent, RolloutEventType } from '../../core/rollouts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { appendEvents, type Tx } from '../db/index.ts'
import { publicAction, replaceAction, type StoredAction } from './actions.repo.ts'
import type { StoredRollout } from './rollouts.repo.ts'

/** A transaction that has locked the rollout: no other transaction changes it or appends to its stream before the commit. */
export type RolloutTx = Readonly<{ tx: Tx; clock: Clock; rollout: StoredRollout }>

/** The event stream and the audit chain of a rollout have the same name. */
export const streamOf = (rolloutId: string): string => `rollout:${rolloutId}`

export const engineActor: Actor = { kind: 'system', name: 'rollouts' }

type Change = Readonly<{ type: RolloutEventType; action?: StoredAction; reason?: string | null }>

/** Appends an event to the stream of the rollout, with its state as given. */
export async function publishEvent({ tx, clock, rollout }: RolloutTx, change: Change): Promise<void> {
  await appendEvents(tx, streamOf(rollout.id), [eventOf(clock, rollout, change)])
}

/** Appends one event for each changed action, in their order, in one statement. */
export async function publishActions({ tx, clock, rollout }: RolloutTx, actions: readonly StoredAction[]): Promise<void> {
  if (actions.length === 0) return
  const events = actions.map((action) => eventOf(clock, rollout, { type: 'rollout.action', action }))
  await appendEvents(tx, streamOf(rollout.id), events)
}

/** Stores a changed action and publishes it. Throws CONFLICT when its status or attempt changed since it was read. */
export async function updateAction(step: RolloutTx, before: StoredAction, after: StoredAction): Promise<void> {
  await replaceAction(step.tx, before, after)
  await publishEvent(step, { type: 'rollout.action', action: after })
}

function eventOf(clock: Clock, rollout: StoredRollout, { type, action, reason = null }: Change) {
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
  return { source: 'rollouts', eventType: type, payload, createdAt: payload.at }
}

type AuditEntry = Readonly<{ actor: Actor; action: string; data?: Readonly<Record<string, unknown>> }>

/** Records an entry in the rollout's own audit chain, and a person's act in the chain of the admins too. Call it last in the transaction. */
export async function recordRolloutAudit(
  { tx, clock, rollout: { id } }: RolloutTx,
  { actor, action, data = {} }: AuditEntry,
): Promise<void> {
  await recordAudit(tx, clock, { chain: streamOf(id), actor, action, subject: id, data })
  if (actor.kind !== 'system') await recordAudit(tx, clock, { actor, action, subject: id, data: { ...data, by: actorLabel(actor) } })
}
