import { type AlertKind, alertKey, humanTime, type NewAlert } from '../../core/alerts/index.ts'
import type { Checkpoint } from '../../core/audit/index.ts'
import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import { isOver, type RolloutEvent, type RolloutEventType } from '../../core/rollouts/index.ts'
import { closeAlerts, raiseAlert, wasRaised, wasRaisedAbout } from '../alerts/index.ts'
import { recordAudit, requestCheckpoint } from '../audit/index.ts'
import { appendEvents, type Db, type Tx } from '../db/index.ts'
import { cancelAllPending, countActions, publicAction, replaceAction, type StoredAction } from './actions.repo.ts'
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

const changesGates: ReadonlySet<RolloutEventType> = new Set(['rollout.gates', 'rollout.baking', 'rollout.phase', 'rollout.resumed'])

function eventOf(clock: Clock, rollout: StoredRollout, { type, action, reason = null }: Change) {
  const payload: RolloutEvent = {
    type,
    at: isoNow(clock),
    rolloutId: rollout.id,
    status: rollout.status,
    previousStatus: rollout.previousStatus,
    bakeUntil: rollout.bakeUntil,
    gates: changesGates.has(type) ? rollout.gates : null,
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
  const { running, rollback } = (await countActions(tx, [id]))(id)
  if (running + (rollback?.pending ?? 0) === 0) await requestCheckpoint(tx, clock, { chain: streamOf(id) })
}

/** Alerts about the rollout as a whole that end with each of these moves. Alerts about its boxes stay open. */
const alertsEndedBy = {
  started: ['emergency'],
  resumed: ['rollout_paused'],
  over: ['rollout_paused', 'emergency'],
} as const

export const closeRolloutAlerts = ({ tx, clock, rollout }: RolloutTx, move: keyof typeof alertsEndedBy): Promise<void> => {
  const kinds: readonly AlertKind[] = alertsEndedBy[move]
  const because = move === 'over' ? 'the rollout is finished' : `the rollout was ${move}`
  return closeAlerts(tx, clock, { subject: rollout.id, kinds, because })
}

type SignedDeps = Readonly<{ db: Db; clock: Clock; onDone: boolean }>

/**
 * Reports the end of an aborted rollout once, when its last box has ended; with `onDone` that of every rollout, and each later head again. The
 * message carries the signed head of its audit chain, as a copy outside this machine. The alert closes at once because it needs no action. The
 * same head again, as after a crash, sends nothing.
 */
export async function publishSignedHead({ db, clock, onDone }: SignedDeps, head: Checkpoint): Promise<void> {
  const rolloutId = /^rollout:(.+)$/.exec(head.chain)?.[1]
  if (rolloutId === undefined) return
  await db.transaction().execute(async (tx) => {
    const rollout = await tx.selectFrom('rollouts').select('status').where('id', '=', rolloutId).executeTakeFirst()
    if (!rollout || !isOver(rollout.status)) return
    const { running, rollback } = (await countActions(tx, [rolloutId]))(rolloutId)
    if (running + (rollback?.pending ?? 0) > 0) return
    const key = alertKey('rollout_signed', `${rolloutId}:${head.count}`)
    const isReported = onDone
      ? await wasRaised(tx, key)
      : rollout.status !== 'failed' || (await wasRaisedAbout(tx, 'rollout_signed', rolloutId))
    if (isReported) return
    await raiseAlert(tx, clock, { key, ...signedAlert({ rolloutId, status: rollout.status, head }) })
    await closeAlerts(tx, clock, { subject: rolloutId, kinds: ['rollout_signed'], because: 'no action needed' })
  })
}

type Signed = Readonly<{ rolloutId: string; status: StoredRollout['status']; head: Checkpoint }>

function signedAlert({ rolloutId, status, head: { chain, count, hash, at, keyId, signature } }: Signed): NewAlert {
  const isAborted = status === 'failed'
  return {
    kind: 'rollout_signed',
    subject: rolloutId,
    severity: isAborted ? 'warning' : 'info',
    title: `Rollout ${rolloutId} ${isAborted ? 'was aborted' : `finished (${status.replace('_', ' ')})`}; audit log signed`,
    body:
      `The audit log of the rollout has ${count} entries and was signed at ${humanTime(at)} with key ${keyId}. No action is needed; keep this ` +
      'message. Saved to a file, the line below proves later changes of the log (`tenantry audit verify --checkpoint <file>`).\n' +
      JSON.stringify({ chain, count, hash, at, keyId, signature }),
    command: `tenantry rollouts show ${rolloutId}`,
  }
}
