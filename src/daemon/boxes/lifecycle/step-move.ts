import { alertOf } from '../../../core/alerts/index.ts'
import {
  type BoxCommandPayload,
  type BoxCommandResult,
  eventOfFailure,
  type HostId,
  type MoveEvent,
  moveCommandOf,
  moveHoldsBox,
  type ProbeResult,
  portsFrom,
  type ReintroducedVulnerability,
  transitionMove,
  type VersionsReport,
} from '../../../core/boxes/index.ts'
import { type Actor, type Clock, isoIn, isoNow, problem, type SystemActor } from '../../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { appendEvent, type Tx } from '../../db/index.ts'
import { type Command, enqueueCommand, hostById } from '../../hosts/index.ts'
import { applyReport } from '../apply-report.ts'
import { releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById, changeBox } from '../boxes.repo.ts'
import type { BoxTable } from '../boxes.tables.ts'
import { agentGraceMs, type StepDeps } from './deps.ts'
import { forgetCopies, type Move, saveMove } from './moves.repo.ts'

/** What happens because an agent answered is nobody's act. */
export const boxesActor: SystemActor = { kind: 'system', name: 'boxes' }

export const moveOwner = ({ id }: Pick<Move, 'id'>): string => `move:${id}`

type Change = Partial<Pick<Move, 'snapshot' | 'fromCopy' | 'toCopy' | 'error' | 'keepUntil'>>
type Step = Readonly<{ event: MoveEvent; actor?: Actor; change?: Change }>

/** One transition, with the command that it calls for, its event and its entry in the log: all of it or nothing. Throws INVALID_TRANSITION, CONFLICT. */
export async function stepMove(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, step: Step): Promise<Move> {
  const { event, actor = boxesActor, change = {} } = step
  const state = transitionMove(move.state, event)
  const entered: Move = { ...move, error: null, ...change, state, commandId: null, changedAt: isoNow(deps.clock) }
  const next = await enqueueMoveCommand(deps, tx, box, entered)
  await saveMove(tx, move, next)
  if (moveHoldsBox(move.state) && !moveHoldsBox(state)) await releaseHold(tx, { boxId: box.id, holder: moveOwner(move) })
  await wake(deps, tx, box, next)
  await publishMove(tx, deps.clock, box, next, actor)
  return next
}

const runs: readonly Move['state'][] = ['confirming', 'given_back', 'done']

/** A box that neither host runs is for a person to hear of at once: nothing goes on by itself. */
async function wake({ clock }: StepDeps, tx: Tx, { slug }: BoxRecord, { state, fromHostId, toHostId, error }: Move): Promise<void> {
  if (runs.includes(state)) await closeAlerts(tx, clock, { subject: slug, kinds: ['move_stranded'], because: 'a host runs the box again' })
  if (state !== 'stranded') return
  const [from, to] = [await hostById(tx, fromHostId), await hostById(tx, toHostId)]
  await raiseAlert(tx, clock, alertOf.move_stranded({ slug, from: from.name, to: to.name, error }))
}

/** The command that the state of the move waits for, if it waits for one. */
export async function enqueueMoveCommand(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move): Promise<Move> {
  const order = moveCommandOf(move.state)
  if (!order) return move
  const epoch = order.epoch === 'next' ? Math.max(move.epoch, box.ownershipEpoch) + 1 : box.ownershipEpoch
  const ordered = { ...move, epoch: Math.max(move.epoch, epoch), orders: move.orders + 1 }
  const id = `${move.id}.${order.kind.replace('tenant-box.', '')}.${ordered.orders}`
  const hostId = order.host === 'from' ? move.fromHostId : move.toHostId
  const payload = payloadOf(deps, box, { ...ordered, epoch })
  const deadlineMs = deps.workMs + deps.probe.timeoutMs + agentGraceMs
  await enqueueCommand(tx, deps.clock, { id, hostId, boxId: box.id, kind: order.kind, payload: payload as never, deadlineMs })
  return { ...ordered, commandId: id }
}

type Payload = BoxCommandPayload<'tenant-box.hand_over' | 'tenant-box.take_over' | 'tenant-box.take_back' | 'tenant-box.remove'>

function payloadOf({ probe, workMs: deadlineMs }: StepDeps, box: BoxRecord, move: Move): Payload {
  const addressed = { slug: box.slug, boxId: box.id, ownershipEpoch: move.epoch }
  if (move.state === 'handing_over') return { ...addressed, deadlineMs }
  if (move.state === 'taking_back') return { ...addressed, probe }
  if (move.state !== 'taking_over') return addressed
  if (!move.snapshot) throw problem('INTERNAL', `the move ${move.id} has no snapshot to take over from`)
  const { snapshotId, snapshotSha256 } = move.snapshot
  const { chatDomain, publicUrl } = box
  return { ...addressed, snapshotId, snapshotSha256, chatDomain, publicUrl, ports: portsFrom(move.toPort), probe, deadlineMs }
}

export async function publishMove(
  tx: Tx,
  clock: Clock,
  box: BoxRecord,
  move: Move,
  actor: Actor,
  reopens: readonly ReintroducedVulnerability[] = [],
): Promise<void> {
  const { id: moveId, state, fromHostId, toHostId, epoch, error } = move
  const payload = { boxId: box.id, slug: box.slug, moveId, state, fromHostId, toHostId }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.move', payload })
  const data = { moveId, fromHostId, toHostId, epoch, ...(error ? { error } : {}), ...(reopens.length > 0 ? { reopens } : {}) }
  await recordAudit(tx, clock, { actor, action: `box.move.${state}`, subject: box.slug, data })
}

/** What goes wrong without an end is shown and written down; the move stays where it is. */
async function recordMoveError({ clock }: StepDeps, tx: Tx, box: BoxRecord, move: Move, error: Move['error']): Promise<void> {
  const noted = { ...move, error, changedAt: isoNow(clock) }
  await saveMove(tx, move, noted)
  await publishMove(tx, clock, box, noted, boxesActor)
}

export const retentionEnd = ({ clock, keepRemovedMs }: StepDeps): string => isoIn(clock, keepRemovedMs)

/** The host of a move by what it does in it. */
export const commandHostOf = (move: Move): HostId => (moveCommandOf(move.state)?.host === 'to' ? move.toHostId : move.fromHostId)

/** The old host has stopped it; the new one may have it. */
export async function finishHandOver(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, result: BoxCommandResult<'tenant-box.hand_over'>) {
  const { snapshotId, snapshotSha256, takenAt } = result.snapshot
  const snapshot = { snapshotId, snapshotSha256, takenAt }
  await stepMove(deps, tx, box, move, { event: 'handed_over', change: { snapshot, toCopy: true } })
}

/** Only here does the registry say that the box is on another host. */
export async function finishTakeOver(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, result: BoxCommandResult<'tenant-box.take_over'>) {
  if (result.outcome !== 'restored') {
    const error = result.error ?? { code: 'RESTORE_FAILED', message: 'the new host could not bring the box up' }
    // A failed one leaves nothing behind; one that could not be cleared away rests there, fenced and stopped.
    return turnBack(deps, tx, box, move, { error, toCopy: result.outcome === 'restore_failed' })
  }
  await forgetCopies(tx, box.id, move.toHostId)
  const { platform } = portsFrom(move.toPort)
  await changeBox(tx, box, {
    host_id: move.toHostId,
    ownership_epoch: move.epoch,
    first_port: move.toPort,
    internal_url: `http://127.0.0.1:${platform}`,
    folder: null,
    project: null,
    ...unheard,
  })
  await believe(deps, tx, box, result.report, result.probes.at(-1))
  // It is the new host's, whatever else is said: an error tells that it could not be opened there.
  const { error } = result
  return stepMove(deps, tx, box, move, { event: 'taken_over', change: { toCopy: false, error, keepUntil: retentionEnd(deps) } })
}

/** Its old host runs it again, under an ownership above all that was given out for the move. */
export async function finishTakeBack(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, result: BoxCommandResult<'tenant-box.take_back'>) {
  await changeBox(tx, box, { ownership_epoch: move.epoch, ...unheard })
  await believe(deps, tx, box, result.report, result.probe)
  await stepMove(deps, tx, box, move, { event: 'taken_back', change: { fromCopy: false, error: bothErrors(move.error, result.error) } })
}

/** Why it was given back, and that it could not be opened then: the latter wants a person now. */
const bothErrors = (before: Move['error'], now: Move['error'] | undefined): Move['error'] =>
  before && now ? { code: now.code, message: `${now.message}; it was given back because: ${before.message}` } : (now ?? before)

/** What was reported before says nothing under the new ownership. */
const unheard = {
  reported_at: null,
  last_report: null,
  last_probe: null,
  fenced: 0,
  fence_holder: null,
  fence_since: null,
  fence_overdue_at: null,
} satisfies Partial<BoxTable>

async function believe(deps: StepDeps, tx: Tx, { id }: BoxRecord, report: VersionsReport | null, probe: ProbeResult | undefined) {
  const box = await boxById(tx, id)
  if (box && report) await applyReport(deps, tx, box, report, probe)
}

/** A command of the move ended without a result: it goes the way that is left, or waits for what only the host knows. */
export async function failMoveCommand(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, command: Command, told: boolean) {
  const error = command.error ?? { code: 'COMMAND_EXPIRED', message: 'the command ended without a result' }
  const event = eventOfFailure(move.state, { told, taken: command.leaseToken > 0, oldHostIsDead: move.oldHostIsDead })
  if (!event) return recordMoveError(deps, tx, box, move, error)
  if (move.state === 'taking_over') return turnBack(deps, tx, box, move, { error, toCopy: false })
  const change = move.state === 'handing_over' ? { error, fromCopy: false, toCopy: false } : { error }
  return stepMove(deps, tx, box, move, { event, change })
}

const turnBack = (deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, change: { error: Move['error']; toCopy: boolean }) =>
  stepMove(deps, tx, box, move, { event: move.oldHostIsDead ? 'lost' : 'refused', change })
