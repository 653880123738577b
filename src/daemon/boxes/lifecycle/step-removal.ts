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
import { type Command, enqueueCommand } from '../../hosts/index.ts'
import { applyReport } from '../apply-report.ts'
import { releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById, changeBox } from '../boxes.repo.ts'
import { agentGraceMs, type StepDeps } from './deps.ts'
import { type Removal, saveRemoval } from './removals.repo.ts'
import { boxesActor, retentionEnd } from './step-move.ts'

export const removalOwner = ({ id }: Pick<Removal, 'id'>): string => `removal:${id}`

type Step = Readonly<{
  event: RemovalEvent
  actor?: Actor
  change?: Partial<Pick<Removal, 'snapshotId' | 'error' | 'keepUntil' | 'eraseNow'>>
}>

/** One transition with all that belongs to it. Throws INVALID_TRANSITION, CONFLICT. */
export async function stepRemoval(deps: StepDeps, tx: Tx, box: BoxRecord, removal: Removal, step: Step): Promise<Removal> {
  const next = await stepRemovalQuietly(deps, tx, box, removal, step)
  await publishRemoval(tx, deps.clock, box, next, step.actor ?? boxesActor)
  return next
}

/** The same without a word of it, for a state that is left at once: the next step tells. */
async function stepRemovalQuietly(deps: StepDeps, tx: Tx, box: BoxRecord, removal: Removal, step: Step): Promise<Removal> {
  const { event, change = {} } = step
  const state = transitionRemoval(removal.state, event)
  const entered: Removal = { ...removal, error: null, ...change, state, commandId: null, changedAt: isoNow(deps.clock) }
  const next = await enqueueRemovalCommand(deps, tx, box, entered)
  await saveRemoval(tx, removal, next)
  await enter(tx, box, next)
  return next
}

/** What a state means for the box itself. */
async function enter(tx: Tx, box: BoxRecord, { id, state }: Removal): Promise<void> {
  if (state === 'kept' || state === 'erasing') await changeBox(tx, box, { live: 0, removal: 'removed' })
  if (state === 'kept' || state === 'erasing' || state === 'failed') await releaseHold(tx, { boxId: box.id, holder: removalOwner({ id }) })
  if (state === 'erased') await deleteBoxSecrets(tx, box)
}

/** The row stays as history; slug and ports are free, and what opened the box is gone. */
export async function deleteBoxSecrets(tx: Tx, box: BoxRecord): Promise<void> {
  await tx.deleteFrom('box_secrets').where('box_id', '=', box.id).execute()
  await tx.deleteFrom('box_holds').where('box_id', '=', box.id).execute()
  await changeBox(tx, box, { live: 0, removal: 'erased', first_port: null })
}

type Order = (typeof removalCommands)[keyof typeof removalCommands]
const orderOf = (state: RemovalState): Order | undefined => (removalCommands as Partial<Record<RemovalState, Order>>)[state]

/** The command that the state waits for, if it waits for one. */
export async function enqueueRemovalCommand(deps: StepDeps, tx: Tx, box: BoxRecord, removal: Removal): Promise<Removal> {
  const order = orderOf(removal.state)
  if (!order) return removal
  const epoch = order.epoch === 'next' ? Math.max(removal.epoch, box.ownershipEpoch) + 1 : box.ownershipEpoch
  const ordered = { ...removal, epoch: Math.max(removal.epoch, epoch), orders: removal.orders + 1 }
  const id = `${removal.id}.${order.kind.replace('tenant-box.', '')}.${ordered.orders}`
  const payload = payloadOf(deps, box, order, epoch)
  const deadlineMs = deps.workMs + deps.probe.timeoutMs + agentGraceMs
  await enqueueCommand(tx, deps.clock, { id, hostId: box.hostId, boxId: box.id, kind: order.kind, payload: payload as never, deadlineMs })
  return { ...ordered, commandId: id }
}

function payloadOf({ probe, workMs }: StepDeps, box: BoxRecord, { kind }: Order, ownershipEpoch: number): BoxCommandPayload<Order['kind']> {
  const addressed = { slug: box.slug, boxId: box.id, ownershipEpoch }
  if (kind === 'tenant-box.hand_over') return { ...addressed, deadlineMs: workMs }
  return kind === 'tenant-box.take_back' ? { ...addressed, probe } : addressed
}

export async function publishRemoval(tx: Tx, clock: Clock, box: BoxRecord, removal: Removal, actor: Actor): Promise<void> {
  const { id: removalId, state, keepUntil, snapshotId, reason, error } = removal
  const payload = { boxId: box.id, slug: box.slug, tenantId: box.tenantId, removalId, state, ...(error ? { error } : {}) }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.removal', payload })
  const data = { removalId, hostId: box.hostId, snapshotId, keepUntil, reason, ...(error ? { error } : {}) }
  await recordAudit(tx, clock, { actor, action: `box.removal.${state}`, subject: box.slug, data })
}

/** What goes wrong without an end is shown and written down; the removal stays where it is. */
async function recordRemovalError({ clock }: StepDeps, tx: Tx, box: BoxRecord, removal: Removal, error: Removal['error']) {
  const noted = { ...removal, error, changedAt: isoNow(clock) }
  await saveRemoval(tx, removal, noted)
  await publishRemoval(tx, clock, box, noted, boxesActor)
}

/** It stands still, and its last snapshot is taken: from now on it is removed. */
export async function finishRemovalHandOver(
  deps: StepDeps,
  tx: Tx,
  box: BoxRecord,
  removal: Removal,
  { snapshot: { snapshotId } }: BoxCommandResult<'tenant-box.hand_over'>,
) {
  const keepUntil = retentionEnd(deps)
  const stopped = { event: 'handed_over', change: { snapshotId, keepUntil } } as const
  if (!removal.eraseNow) return stepRemoval(deps, tx, box, removal, stopped)
  const kept = await stepRemovalQuietly(deps, tx, box, removal, stopped)
  return stepRemoval(deps, tx, await again(tx, box), kept, { event: 'erase_asked', change: { keepUntil } })
}

const again = async (tx: Tx, box: BoxRecord): Promise<BoxRecord> => (await boxById(tx, box.id)) ?? box

/** It runs as before it was removed. */
export async function finishRemovalTakeBack(
  deps: StepDeps,
  tx: Tx,
  box: BoxRecord,
  removal: Removal,
  { report, probe, error = null }: BoxCommandResult<'tenant-box.take_back'>,
) {
  await changeBox(tx, box, { live: 1, removal: null, ownership_epoch: removal.epoch, reported_at: null })
  const live = await again(tx, box)
  await applyReport(deps, tx, live, report, probe)
  await stepRemoval(deps, tx, live, removal, { event: 'taken_back', change: { error } })
}

export const finishErase = (deps: StepDeps, tx: Tx, box: BoxRecord, removal: Removal) =>
  stepRemoval(deps, tx, box, removal, { event: 'erased', change: { keepUntil: null } })

/** A host that knows no such box has nothing to erase. What only the host knows is waited for. */
export async function failRemovalCommand(deps: StepDeps, tx: Tx, box: BoxRecord, removal: Removal, command: Command, told: boolean) {
  const error = command.error ?? { code: 'COMMAND_EXPIRED', message: 'the command ended without a result' }
  if (!told && command.leaseToken > 0) return recordRemovalError(deps, tx, box, removal, error)
  if (told && removal.state === 'erasing' && error.code === 'NOT_FOUND') return finishErase(deps, tx, box, removal)
  const keepUntil = removal.state === 'handing_over' ? null : (removal.keepUntil ?? retentionEnd(deps))
  return stepRemoval(deps, tx, box, removal, { event: 'refused', change: { error, keepUntil, eraseNow: false } })
}
