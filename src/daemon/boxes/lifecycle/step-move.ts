import { reasonText } from '../../../core/alerts/index.ts'
import {
  type BoxCommandPayload,
  type BoxCommandResult,
  eventOfFailure,
  type HostId,
  type MoveEvent,
  mayRunUnknown,
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
import { type Command, type CommandEnding, enqueueCommand, hostById } from '../../hosts/index.ts'
import { applyReport } from '../apply-report.ts'
import { releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { boxById, changeBox } from '../boxes.repo.ts'
import type { BoxTable } from '../boxes.tables.ts'
import { agentGraceMs, type StepDeps } from './deps.ts'
import { endImport } from './imports.repo.ts'
import { forgetCopies, type Move, saveMove } from './procedures.repo.ts'

/** The actor of steps that an agent's result causes. */
export const boxesActor: SystemActor = { kind: 'system', name: 'boxes' }

export const moveOwner = ({ id }: Pick<Move, 'id'>): string => `move:${id}`

type Change = Partial<Pick<Move, 'snapshot' | 'fromCopy' | 'toCopy' | 'error' | 'keepUntil'>>
/** `statement`: what the actor stated about a host, for the audit log. */
type Step = Readonly<{ event: MoveEvent; actor?: Actor; change?: Change; statement?: object }>

/** A move in the transaction of one of its steps. */
export type MoveTx = Readonly<{ deps: StepDeps; tx: Tx; box: BoxRecord; move: Move }>

/** One transition with its command, event and audit record, in one transaction. Throws INVALID_TRANSITION, CONFLICT. */
export async function stepMove(
  { deps, tx, box, move }: MoveTx,
  { event, actor = boxesActor, change = {}, statement }: Step,
): Promise<Move> {
  const state = transitionMove(move.state, event)
  const entered: Move = { ...move, error: null, ...change, state, commandId: null, changedAt: isoNow(deps.clock) }
  const next = await enqueueMoveCommand({ deps, tx, box, move: entered })
  await saveMove(tx, move, next)
  if (moveHoldsBox(move.state) && !moveHoldsBox(state)) await releaseHold(tx, { boxId: box.id, holder: moveOwner(move) })
  if (state === 'done') await endImport(tx, deps.clock, box.id)
  await updateAlerts({ deps, tx, box, move: next })
  await publishMove(tx, deps.clock, { box, move: next, actor, statement })
  return next
}

const runningStates: readonly Move['state'][] = ['confirming', 'given_back', 'done']

/** Raises an alert for a stranded box, because no further step is automatic. */
async function updateAlerts({ deps: { clock }, tx, box: { slug }, move }: MoveTx): Promise<void> {
  const { state, fromHostId, toHostId, error } = move
  if (runningStates.includes(state))
    await closeAlerts(tx, clock, { subject: slug, kinds: ['move_stranded'], because: 'a host runs the box again' })
  if (state !== 'stranded') return
  const [from, to] = [await hostById(tx, fromHostId), await hostById(tx, toHostId)]
  const mayRun = move.toCopy && mayRunUnknown(move)
  await raiseAlert(tx, clock, {
    kind: 'move_stranded',
    subject: slug,
    title: `${slug} is DOWN: its move failed halfway`,
    body:
      (mayRun
        ? `The move from ${from.name} to ${to.name} failed, and ${to.name} may still run the box. ${reasonText(error)}\n` +
          `Before you move it back, stop its containers on ${to.name} (docker ps, docker stop): two hosts must never serve one box.\n`
        : `The move from ${from.name} to ${to.name} failed, and neither host runs the box. ${reasonText(error)}\n`) +
      'Users cannot reach it. Its data is on the old host, if that host still runs, and in its snapshots.',
    command: `tenantry boxes show ${slug}`,
  })
}

/** Enqueues the command that the move's state waits for, if any. */
export async function enqueueMoveCommand({ deps, tx, box, move }: MoveTx): Promise<Move> {
  const command = moveCommandOf(move.state)
  if (!command) return move
  const epoch = command.epoch === 'next' ? Math.max(move.epoch, box.ownershipEpoch) + 1 : box.ownershipEpoch
  const next = { ...move, epoch: Math.max(move.epoch, epoch), orders: move.orders + 1 }
  const id = `${move.id}.${command.kind.replace('tenant-box.', '')}.${next.orders}`
  const hostId = command.host === 'from' ? move.fromHostId : move.toHostId
  const payload = payloadOf(deps, box, { ...next, epoch })
  const deadlineMs = deps.workMs + deps.probe.timeoutMs + agentGraceMs
  await enqueueCommand(tx, deps.clock, { id, hostId, boxId: box.id, kind: command.kind, payload, deadlineMs })
  return { ...next, commandId: id }
}

type Payload = BoxCommandPayload<'tenant-box.hand_over' | 'tenant-box.take_over' | 'tenant-box.take_back' | 'tenant-box.remove'>

function payloadOf({ probe, workMs: deadlineMs }: StepDeps, box: BoxRecord, move: Move): Payload {
  const addressed = { slug: box.slug, boxId: box.id, ownershipEpoch: move.epoch }
  if (move.state === 'handing_over') return { ...addressed, deadlineMs }
  if (move.state === 'taking_back') return { ...addressed, probe }
  if (move.state !== 'taking_over') return addressed
  if (!move.snapshot) throw problem('INTERNAL', `move ${move.id} has no snapshot to take over from`)
  const { snapshotId, snapshotSha256 } = move.snapshot
  const { chatDomain, publicUrl } = box
  return { ...addressed, snapshotId, snapshotSha256, chatDomain, publicUrl, ports: portsFrom(move.toPort), probe, deadlineMs }
}

type MoveChange = Readonly<{
  box: BoxRecord
  move: Move
  actor: Actor
  reopens?: readonly ReintroducedVulnerability[] | undefined
  statement?: object | undefined
}>

/** Publishes the event of a move's new state, and audits it. */
export async function publishMove(tx: Tx, clock: Clock, { box, move, actor, reopens = [], statement }: MoveChange): Promise<void> {
  const { id: moveId, state, fromHostId, toHostId, epoch, error } = move
  const payload = { boxId: box.id, slug: box.slug, moveId, state, fromHostId, toHostId }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.move', payload })
  const data = {
    moveId,
    fromHostId,
    toHostId,
    epoch,
    ...(error ? { error } : {}),
    ...(reopens.length > 0 ? { reopens } : {}),
    ...statement,
  }
  await recordAudit(tx, clock, { actor, action: `box.move.${state}`, subject: box.slug, data })
}

/** Records the error of a command whose outcome is unknown; the move keeps its state. */
async function recordMoveError({ deps: { clock }, tx, box, move }: MoveTx, error: Move['error']): Promise<void> {
  const changed = { ...move, error, changedAt: isoNow(clock) }
  await saveMove(tx, move, changed)
  await publishMove(tx, clock, { box, move: changed, actor: boxesActor })
}

export const retentionEnd = ({ clock, keepRemovedMs }: StepDeps): string => isoIn(clock, keepRemovedMs)

/** The host that runs the move's pending command. */
export const commandHostOf = (move: Move): HostId => (moveCommandOf(move.state)?.host === 'to' ? move.toHostId : move.fromHostId)

/** The old host has stopped the box; the new host may take it over. */
export async function finishHandOver(step: MoveTx, result: BoxCommandResult<'tenant-box.hand_over'>) {
  if (!result.snapshot) throw problem('INTERNAL', `the hand-over of ${step.box.slug} has no snapshot`)
  const { snapshotId, snapshotSha256, takenAt } = result.snapshot
  const snapshot = { snapshotId, snapshotSha256, takenAt }
  await stepMove(step, { event: 'handed_over', change: { snapshot, toCopy: true } })
}

/** The only place that assigns the box to another host. */
export async function finishTakeOver(step: MoveTx, result: BoxCommandResult<'tenant-box.take_over'>) {
  const { deps, tx, box, move } = step
  if (result.outcome !== 'restored') {
    const error = result.error ?? { code: 'RESTORE_FAILED', message: 'the new host could not start the box' }
    // `failed` leaves nothing behind; `restore_failed` leaves a fenced and stopped copy.
    return revertMove(step, { error, toCopy: result.outcome === 'restore_failed' })
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
    ...noReport,
  })
  await storeReport(step, result.report, result.probes.at(-1))
  // An error means that the new host could not lift the fence; the box is on it nevertheless.
  const { error } = result
  return stepMove(step, { event: 'taken_over', change: { toCopy: false, error, keepUntil: retentionEnd(deps) } })
}

/** The old host runs the box again, with an epoch above all that were given out for the move. */
export async function finishTakeBack(step: MoveTx, result: BoxCommandResult<'tenant-box.take_back'>) {
  const { tx, box, move } = step
  await changeBox(tx, box, { ownership_epoch: move.epoch, ...noReport })
  await storeReport(step, result.report, result.probe)
  await stepMove(step, { event: 'taken_back', change: { fromCopy: false, error: joinErrors(move.error, result.error) } })
}

/** Why the move was reverted, and why the box could not be opened then. */
const joinErrors = (before: Move['error'], now: Move['error'] | undefined): Move['error'] =>
  before && now ? { code: now.code, message: `${now.message}; the move was reverted because: ${before.message}` } : (now ?? before)

/** Clears the reports of the former ownership. */
const noReport = {
  reported_at: null,
  last_report: null,
  last_probe: null,
  fenced: 0,
  fence_holder: null,
  fence_since: null,
  fence_overdue_at: null,
} satisfies Partial<BoxTable>

/** The box has changed since the step began, so it is read again. */
async function storeReport({ deps: { clock }, tx, box: { id } }: MoveTx, report: VersionsReport | null, probe: ProbeResult | undefined) {
  const box = await boxById(tx, id)
  if (box && report) await applyReport({ tx, clock, box }, report, probe)
}

type Failure = Readonly<{ command: Command; ending: CommandEnding }>

/** Handles a command without a result: a transition, or waiting while only the host knows the outcome. */
export async function failMoveCommand(step: MoveTx, { command, ending: { reported, lost: isLost = false } }: Failure) {
  const { move } = step
  const error = command.error ?? { code: 'COMMAND_EXPIRED', message: 'the command ended without a result' }
  const event = eventOfFailure(move.state, { reported, leased: command.leaseToken > 0, oldHostIsDead: move.oldHostIsDead, isLost })
  if (!event) return recordMoveError(step, error)
  if (move.state === 'taking_over' && isLost) return stepMove(step, { event, change: { error, toCopy: true } })
  if (move.state === 'taking_over') return revertMove(step, { error, toCopy: false })
  const change = move.state === 'handing_over' ? { error, fromCopy: false, toCopy: false } : { error }
  return stepMove(step, { event, change })
}

const revertMove = (step: MoveTx, change: { error: Move['error']; toCopy: boolean }) =>
  stepMove(step, { event: step.move.oldHostIsDead ? 'lost' : 'refused', change })
