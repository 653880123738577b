import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import type { RolloutEvent, RolloutEventType } from '../../core/rollouts/index.ts'
import { type DatedAct, recordAudit, recordAudits } from '../audit/index.ts'
import { appendEvents, type Tx } from '../db/index.ts'
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
  const event = { source: 'rollouts', eventType: type, payload, createdAt: payload.at }
  const kept = gathered.get(tx)
  if (kept?.rolloutId === rollout.id) kept.events.push(event)
  else await appendEvents(tx, streamOf(rollout.id), [event])
}

type Done = Readonly<{ actor: Actor; action: string; data?: Readonly<Record<string, unknown>> }>

/** Writes it into the rollout's own audit chain, and what a person did into that of the admins too. Last in its transaction. */
export async function recordRolloutAudit(
  tx: Tx,
  clock: Clock,
  { id }: Pick<StoredRollout, 'id'>,
  { actor, action, data = {} }: Done,
): Promise<void> {
  const act = { actor, action, subject: id, data, at: isoNow(clock) }
  const kept = gathered.get(tx)
  if (kept?.rolloutId === id) kept.acts.push(act)
  else await recordAudits(tx, streamOf(id), [act])
  if (actor.kind !== 'system') await recordAudit(tx, clock, { actor, action, subject: id, data: { ...data, by: actorLabel(actor) } })
}

type Events = Parameters<typeof appendEvents>[2]
type Gathered = Readonly<{ rolloutId: string; events: Events[number][]; acts: DatedAct[] }>

const gathered = new WeakMap<Tx, Gathered>()

/**
 * What is told and written down of that rollout meanwhile is appended at its end, together and in its order: counting up and moving a chain's
 * head once for all of it. Nobody else can append between, for whoever does has locked the rollout.
 */
export async function toldAtEnd<Done>(tx: Tx, rolloutId: string, work: () => Promise<Done>): Promise<Done> {
  const kept: Gathered = { rolloutId, events: [], acts: [] }
  gathered.set(tx, kept)
  const done = await work()
  gathered.delete(tx)
  if (kept.events.length > 0) await appendEvents(tx, streamOf(rolloutId), kept.events)
  if (kept.acts.length > 0) await recordAudits(tx, streamOf(rolloutId), kept.acts)
  return done
}
