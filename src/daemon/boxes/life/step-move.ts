import { alertOf } from '../../../core/alerts/index.ts'
import {
  type BoxCommandPayload,
  type HostId,
  type MoveEvent,
  moveHolds,
  moveOn,
  orderOf,
  portsFrom,
  type ReopenedHole,
} from '../../../core/boxes/index.ts'
import { type Actor, type Clock, isoIn, isoNow, problem, type SystemActor } from '../../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { appendEvent, type Tx } from '../../db/index.ts'
import { enqueueCommand, hostById } from '../../hosts/index.ts'
import { releaseHold } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { patienceMs, type StepDeps } from './deps.ts'
import { type Move, saveMove } from './moves.repo.ts'

/** What happens because an agent answered is nobody's act. */
export const lifeActor: SystemActor = { kind: 'system', name: 'boxes' }

export const moveHolder = ({ id }: Pick<Move, 'id'>): string => `move:${id}`

type Change = Partial<Pick<Move, 'snapshot' | 'fromCopy' | 'toCopy' | 'error' | 'keepUntil'>>
type Step = Readonly<{ event: MoveEvent; actor?: Actor; change?: Change }>

/** One transition, with the command that it calls for, its event and its entry in the log: all of it or nothing. Throws INVALID_TRANSITION, CONFLICT. */
export async function stepMove(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move, step: Step): Promise<Move> {
  const { event, actor = lifeActor, change = {} } = step
  const state = moveOn(move.state, event)
  const entered: Move = { ...move, error: null, ...change, state, commandId: null, changedAt: isoNow(deps.clock) }
  const next = await giveOrder(deps, tx, box, entered)
  await saveMove(tx, move, next)
  if (moveHolds(move.state) && !moveHolds(state)) await releaseHold(tx, { boxId: box.id, holder: moveHolder(move) })
  await wake(deps, tx, box, next)
  await tellMove(tx, deps.clock, box, next, actor)
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
export async function giveOrder(deps: StepDeps, tx: Tx, box: BoxRecord, move: Move): Promise<Move> {
  const order = orderOf(move.state)
  if (!order) return move
  const epoch = order.epoch === 'next' ? Math.max(move.epoch, box.ownershipEpoch) + 1 : box.ownershipEpoch
  const ordered = { ...move, epoch: Math.max(move.epoch, epoch), orders: move.orders + 1 }
  const id = `${move.id}.${order.kind.replace('tenant-box.', '')}.${ordered.orders}`
  const hostId = order.host === 'from' ? move.fromHostId : move.toHostId
  const payload = payloadOf(deps, box, { ...ordered, epoch })
  const deadlineMs = deps.workMs + deps.probe.timeoutMs + patienceMs
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

export async function tellMove(
  tx: Tx,
  clock: Clock,
  box: BoxRecord,
  move: Move,
  actor: Actor,
  reopens: readonly ReopenedHole[] = [],
): Promise<void> {
  const { id: moveId, state, fromHostId, toHostId, epoch, error } = move
  const payload = { boxId: box.id, slug: box.slug, moveId, state, fromHostId, toHostId }
  await appendEvent(tx, clock, { stream: 'admin', source: 'boxes', eventType: 'box.move', payload })
  const data = { moveId, fromHostId, toHostId, epoch, ...(error ? { error } : {}), ...(reopens.length > 0 ? { reopens } : {}) }
  await recordAudit(tx, clock, { actor, action: `box.move.${state}`, subject: box.slug, data })
}

/** What goes wrong without an end is shown and written down; the move stays where it is. */
export async function recordMoveTrouble({ clock }: StepDeps, tx: Tx, box: BoxRecord, move: Move, error: Move['error']): Promise<void> {
  const noted = { ...move, error, changedAt: isoNow(clock) }
  await saveMove(tx, move, noted)
  await tellMove(tx, clock, box, noted, lifeActor)
}

export const keptUntil = ({ clock, keepRemovedMs }: StepDeps): string => isoIn(clock, keepRemovedMs)

/** The host of a move by what it does in it. */
export const hostOfOrder = (move: Move): HostId => (orderOf(move.state)?.host === 'to' ? move.toHostId : move.fromHostId)
