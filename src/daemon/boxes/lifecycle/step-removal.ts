import {
  type BoxCommandPayload,
  type BoxCommandResult,
  type RemovalEvent,
  type RemovalState,
  removalCommands,
  transitionRemoval,
} from '../../../core/boxes/index.ts'
import { type Actor, type Clock, isoNow } from '../../../core/kit/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { appendEvent, type Tx } from '../../db/index.ts'
import { type Command, type CommandEnding, enqueueCommand } from '../../hosts/index.ts'
import { applyReport } from '../apply-report.ts'
import { releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById, changeBox } from '../boxes.repo.ts'
import { agentGraceMs, type StepDeps } from './deps.ts'
import { endImport } from './imports.repo.ts'
import { type Removal, saveRemoval } from './procedures.repo.ts'
import { boxesActor, retentionEnd } from './step-move.ts'

export const removalOwner = ({ id }: Pick<Removal, 'id'>): string => `removal:${id}`

type Step = Readonly<{
  event: RemovalEvent
  actor?: Actor
  change?: Partial<Pick<Removal, 'snapshotId' | 'error' | 'keepUntil' | 'eraseNow' | 'remarks'>>
}>

/** A removal in the transaction of one of its steps. */
export type RemovalTx = Readonly<{ deps: StepDeps; tx: Tx; box: BoxRecord; removal: Removal }>

/** One transition with its command, event and audit record. Throws INVALID_TRANSITION, CONFLICT. */
export async function stepRemoval(current: RemovalTx, step: Step): Promise<Removal> {
  const { deps, tx, box } = current
  const next = await stepRemovalQuietly(current, step)
  await publishRemoval(tx, deps.clock, { box, removal: next, actor: step.actor ?? boxesActor })
  return next
}

/** A transition without event and audit record, for a state that the next step leaves at once. */
async function stepRemovalQuietly({ deps, tx, box, removal }: RemovalTx, { event, change = {} }: Step): Promise<Removal> {
  const state = transitionRemoval(removal.state, event)
  const entered: Removal = { ...removal, error: null, ...change, state, commandId: null, changedAt: isoNow(deps.clock) }
  const next = await enqueueRemovalCommand({ deps, tx, box, removal: entered })
  await saveRemoval(tx, removal, next)
  await enter({ deps, tx, box }, next)
  return next
}

/** Applies the effects of a state to the box. */
async function enter({ deps, tx, box }: Omit<RemovalTx, 'removal'>, { id, state }: Removal): Promise<void> {
  if (state === 'kept' || state === 'erasing') await changeBox(tx, box, { live: 0, removal: 'removed' })
  if (state === 'kept' || state === 'erasing' || state === 'failed') await releaseHold(tx, { boxId: box.id, holder: removalOwner({ id }) })
  if (state === 'erased') await releaseErasedBox(deps, tx, box)
}

/** Frees slug and ports of an erased box and deletes its secrets and holds; the row stays as history. */
export async function releaseErasedBox({ clock }: Pick<StepDeps, 'clock'>, tx: Tx, box: BoxRecord): Promise<void> {
  await endImport(tx, clock, box.id)
  await tx.deleteFrom('box_secrets').where('box_id', '=', box.id).execute()
  await tx.deleteFrom('box_holds').where('box_id', '=', box.id).execute()
  await changeBox(tx, box, { live: 0, removal: 'erased', first_port: null })
}

type RemovalCommand = (typeof removalCommands)[keyof typeof removalCommands]
const commandOf = (state: RemovalState): RemovalCommand | undefined =>
  (removalCommands as Partial<Record<RemovalState, RemovalCommand>>)[state]

/** Enqueues the command that the removal's state waits for, if any. */
export async function enqueueRemovalCommand({ deps, tx, box, removal }: RemovalTx): Promise<Removal> {
  const command = commandOf(removal.state)
  if (!command) return removal
  const epoch = command.epoch === 'next' ? Math.max(removal.epoch, box.ownershipEpoch) + 1 : box.ownershipEpoch
  const next = { ...removal, epoch: Math.max(removal.epoch, epoch), orders: removal.orders + 1 }
  const id = `${removal.id}.${command.kind.replace('tenant-box.', '')}.${next.orders}`
  const payload = payloadOf(deps, command.kind, { slug: box.slug, boxId: box.id, ownershipEpoch: epoch })
  const deadlineMs = deps.workMs + deps.probe.timeoutMs + agentGraceMs
  await enqueueCommand(tx, deps.clock, { id, hostId: box.hostId, boxId: box.id, kind: command.kind, payload, deadlineMs })
  return { ...next, commandId: id }
}

type Addressed = BoxCommandPayload<'tenant-box.remove'>

function payloadOf(
  { probe, workMs }: StepDeps,
  kind: RemovalCommand['kind'],
  addressed: Addressed,
): BoxCommandPayload<RemovalCommand['kind']> {
  if (kind === 'tenant-box.hand_over') return { ...addressed, deadlineMs: workMs, removal: true }
  return kind === 'tenant-box.take_back' ? { ...addressed, probe } : addressed
}

type RemovalChange = Readonly<{ box: BoxRecord; removal: Removal; actor: Actor }>

/** Publishes the event of a removal's new state, and audits it. */
export async function publishRemoval(tx: Tx, clock: Clock, { box, removal, actor }: RemovalChange): Promise<void> {
  const { id: removalId, state, keepUntil, snapshotId, remarks, reason, error } = removal
  const payload = { boxId: box.id, slug: box.slug, tenantId: box.tenantId, removalId, state, ...(error ? { error } : {}) }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.removal', payload })
  const data = { removalId, hostId: box.hostId, snapshotId, remarks, keepUntil, reason, ...(error ? { error } : {}) }
  await recordAudit(tx, clock, { actor, action: `box.removal.${state}`, subject: box.slug, data })
}

/** Records the error of a command whose outcome is unknown; the removal keeps its state. */
async function recordRemovalError({ deps: { clock }, tx, box, removal }: RemovalTx, error: Removal['error']) {
  const changed = { ...removal, error, changedAt: isoNow(clock) }
  await saveRemoval(tx, removal, changed)
  await publishRemoval(tx, clock, { box, removal: changed, actor: boxesActor })
}

type HandedOver = Pick<BoxCommandResult<'tenant-box.hand_over'>, 'snapshot' | 'noSnapshot'> & Readonly<{ isUnrecorded?: boolean }>

/**
 * The box is stopped and removed now. Without a last snapshot its data are the only copy of their time: they never expire, and are erased only by
 * a person who knows that. `isUnrecorded`: its host has no record of the box, so that no later try finds more.
 */
export async function finishRemovalHandOver(step: RemovalTx, { snapshot, noSnapshot, isUnrecorded = false }: HandedOver) {
  const { deps, tx, box, removal } = step
  const keepUntil = snapshot ? retentionEnd(deps) : null
  const remarks = snapshot ? [] : [`No last snapshot was taken: ${noSnapshot ?? 'unknown reason'}`]
  const eraseNow = removal.eraseNow && (snapshot !== null || isUnrecorded)
  const stopped = { event: 'handed_over', change: { snapshotId: snapshot?.snapshotId ?? null, keepUntil, remarks, eraseNow } } as const
  if (!eraseNow) return stepRemoval(step, stopped)
  const kept = await stepRemovalQuietly(step, stopped)
  return stepRemoval({ ...step, box: await reread(tx, box), removal: kept }, { event: 'erase_asked', change: { keepUntil } })
}

const reread = async (tx: Tx, box: BoxRecord): Promise<BoxRecord> => (await boxById(tx, box.id)) ?? box

/** The box runs again. */
export async function finishRemovalTakeBack(step: RemovalTx, { report, probe, error = null }: BoxCommandResult<'tenant-box.take_back'>) {
  const { deps, tx, box, removal } = step
  await changeBox(tx, box, { live: 1, removal: null, ownership_epoch: removal.epoch, reported_at: null })
  const live = await reread(tx, box)
  await applyReport({ tx, clock: deps.clock, box: live }, report, probe)
  await stepRemoval({ ...step, box: live }, { event: 'taken_back', change: { error } })
}

const maxRemarks = 50

/** `removed`: what the agent removed and left; undefined where it has nothing. */
export function finishErase(step: RemovalTx, { removed }: BoxCommandResult<'tenant-box.remove'> = { removed: [] }) {
  const left = removed.filter((one) => one.startsWith('left: ') || one.startsWith('nothing else in '))
  return stepRemoval(step, {
    event: 'erased',
    change: { keepUntil: null, remarks: [...step.removal.remarks, ...left].slice(0, maxRemarks) },
  })
}

type Failure = Readonly<{ command: Command; ending: CommandEnding }>

/** Handles a command without a result. A host that does not have the box has nothing to erase; an unknown outcome is waited for, unless its agent lost it. */
export async function failRemovalCommand(step: RemovalTx, { command, ending: { reported, lost } }: Failure) {
  const { deps, removal } = step
  const error = command.error ?? { code: 'COMMAND_EXPIRED', message: 'the command ended without a result' }
  if (!reported && !lost && command.leaseToken > 0) return recordRemovalError(step, error)
  if (reported && removal.state === 'erasing' && error.code === 'NOT_FOUND') return finishErase(step)
  // The agent lost its record: files and containers are found by their folder.
  if (reported && removal.state === 'handing_over' && removal.eraseNow && error.code === 'NOT_FOUND')
    return finishRemovalHandOver(step, { snapshot: null, noSnapshot: error.message, isUnrecorded: true })
  const keepUntil = removal.state === 'handing_over' ? null : (removal.keepUntil ?? retentionEnd(deps))
  return stepRemoval(step, { event: 'refused', change: { error, keepUntil, eraseNow: false } })
}
