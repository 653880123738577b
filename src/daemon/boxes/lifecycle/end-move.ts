import type { BoxMove, HostId, MoveEvent } from '../../../core/boxes/index.ts'
import { isFinal } from '../../../core/hosts/index.ts'
import { type Actor, problem } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import { abandonCommand, commandsByIds } from '../../hosts/index.ts'
import type { BoxRecord } from '../box-record.ts'
import { existingBox } from '../boxes.repo.ts'
import { type Fleet, readFleet } from '../fleet.ts'
import type { LifecycleDeps } from './deps.ts'
import { type Move, moveView, openMove } from './moves.repo.ts'
import { commandHostOf, stepMove } from './step-move.ts'

type Looked = Readonly<{ box: BoxRecord; move: Move; fleet: Fleet; nameOf: (id: HostId) => string }>

/** A person has looked at the box on its new host: the copy that the old one keeps goes. Throws NOT_FOUND, INVALID_TRANSITION, HOST_OFFLINE. */
export const confirmMove = (deps: LifecycleDeps, actor: Actor, slug: string): Promise<BoxMove> =>
  act(deps, slug, async (tx, looked) => stepMove(deps, tx, looked.box, looked.move, { event: confirmEventOf(looked), actor }))

/** A dead host cannot be asked; if it ever comes back it is told that the box is not its own. Throws HOST_OFFLINE. */
export function confirmEventOf({ move, fleet, nameOf }: Omit<Looked, 'box'>): MoveEvent {
  const status = fleet.host(move.fromHostId)?.status
  if (status === 'online') return 'confirmed'
  if (move.oldHostIsDead || status === undefined || status === 'revoked') return 'let_go'
  throw problem(
    'HOST_OFFLINE',
    `the old host ${nameOf(move.fromHostId)} is ${status}: start its agent, then confirm, so that its copy goes too`,
  )
}

type BackWish = Readonly<{ slug: string; newHostIsDead?: string | undefined }>

/**
 * Ends a move that hangs, so that the old host runs the box again. Only while it is certain that the new host does not: the take-over was
 * never fetched, or a person says by name that the host is dead. Throws NOT_FOUND, CONFLICT, INVALID_TRANSITION, HOST_OFFLINE, VALIDATION.
 */
export const giveBackBox = (deps: LifecycleDeps, actor: Actor, { slug, newHostIsDead }: BackWish): Promise<BoxMove> =>
  act(deps, slug, async (tx, looked) => {
    const { box, move, fleet, nameOf } = looked
    if (move.state === 'handing_over') {
      if (await cancelMoveCommand(deps, tx, move, 'untaken'))
        return stepMove(deps, tx, box, move, { event: 'refused', actor, change: nothingHappened })
      throw problem('CONFLICT', `${nameOf(move.fromHostId)} has the hand-over of ${slug} in hand and says how it ends: wait for it`)
    }
    if (move.state !== 'taking_over' && move.state !== 'stranded') return stepMove(deps, tx, box, move, { event: 'back_asked', actor }) // throws INVALID_TRANSITION
    if (fleet.host(move.fromHostId)?.status !== 'online')
      throw problem('HOST_OFFLINE', `the old host ${nameOf(move.fromHostId)} of ${slug} is not online: start its agent first`)
    if (move.state === 'taking_over') await endTakeOver(deps, tx, looked, slug, newHostIsDead)
    return stepMove(deps, tx, box, move, { event: 'back_asked', actor, change: { error: move.error } })
  })

const nothingHappened = { fromCopy: false, toCopy: false } as const

async function endTakeOver(
  deps: LifecycleDeps,
  tx: Tx,
  { move, fleet, nameOf }: Looked,
  slug: string,
  typed: string | undefined,
): Promise<void> {
  const name = nameOf(move.toHostId)
  if (typed === undefined) {
    if (await cancelMoveCommand(deps, tx, move, 'untaken')) return
    throw problem(
      'CONFLICT',
      `${name} has the take-over of ${slug} in hand and says how it ends: wait for it, or say that it is dead (--new-host-is-dead)`,
    )
  }
  if (typed !== name)
    throw problem('VALIDATION', `the new host of ${slug} is ${name}: type that name to say that it is dead`, {
      details: [{ path: 'newHostIsDead', reason: `must be ${name}` }],
    })
  if (fleet.host(move.toHostId)?.status === 'online')
    throw problem(
      'CONFLICT',
      `the host ${name} is online and says how the take-over ends: wait for it; if its disk is gone, stop its agent, then repeat`,
    )
  await cancelMoveCommand(deps, tx, move, 'any')
}

async function act(deps: LifecycleDeps, slug: string, verb: (tx: Tx, looked: Looked) => Promise<Move>): Promise<BoxMove> {
  const { move, view } = await deps.db.transaction().execute(async (tx) => {
    const box = await existingBox(tx, slug)
    const open = await openMove(tx, box.id)
    if (!open) throw problem('INVALID_TRANSITION', `no move of ${slug} is under way: \`tenantry boxes show ${slug}\` tells of the last one`)
    const fleet = await readFleet(deps, tx)
    const nameOf = (id: HostId) => fleet.host(id)?.name ?? id
    const move = await verb(tx, { box, move: open, fleet, nameOf })
    return { move, view: moveView(move, nameOf) }
  })
  deps.bus.queued(commandHostOf(move))
  return view
}

/** Nobody is to begin the command any more. False when an agent may have begun it and that matters. */
export async function cancelMoveCommand(
  { clock }: Pick<LifecycleDeps, 'clock'>,
  tx: Tx,
  { commandId }: Move,
  which: 'untaken' | 'any',
): Promise<boolean> {
  const [command] = await commandsByIds(tx, commandId === null ? [] : [commandId])
  if (!command) return true
  if (which === 'untaken' && command.leaseToken > 0) return false
  if (isFinal(command.status)) return true
  const error = { code: 'CANCELLED', message: 'the move was called off' }
  return abandonCommand(tx, clock, { id: command.id, leaseToken: command.leaseToken, error })
}
