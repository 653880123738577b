import { type BoxMove, type HostId, type MoveEvent, mayRunUnknown } from '../../../core/boxes/index.ts'
import { isFinal } from '../../../core/hosts/index.ts'
import { type Actor, problem } from '../../../core/kit/index.ts'
import type { Tx, WithTx } from '../../db/index.ts'
import { abandonCommand, commandsByIds } from '../../hosts/index.ts'
import type { BoxRecord } from '../box-record.ts'
import { existingBox } from '../boxes.repo.ts'
import { type Fleet, readFleet } from '../fleet.ts'
import type { LifecycleDeps } from './deps.ts'
import { type Move, moveView, openMove } from './procedures.repo.ts'
import { commandHostOf, stepMove } from './step-move.ts'

type OpenMove = Readonly<{ box: BoxRecord; move: Move; fleet: Fleet; nameOf: (id: HostId) => string }>

/** Confirms a move: the copy on the old host is deleted. Throws NOT_FOUND, INVALID_TRANSITION, HOST_OFFLINE. */
export const confirmMove = (deps: LifecycleDeps, actor: Actor, slug: string): Promise<BoxMove> =>
  act(deps, slug, async (tx, current) => stepMove({ deps, tx, ...current }, { event: confirmEventOf(current), actor }))

/** A dead or revoked host is skipped; if it returns, it learns that it no longer has the box. Throws HOST_OFFLINE. */
export function confirmEventOf({ move, fleet, nameOf }: Omit<OpenMove, 'box'>): MoveEvent {
  const status = fleet.host(move.fromHostId)?.status
  if (status === 'online') return 'confirmed'
  if (move.oldHostIsDead || status === undefined || status === 'revoked') return 'let_go'
  throw problem(
    'HOST_OFFLINE',
    `old host ${nameOf(move.fromHostId)} is ${status}, so its copy cannot be deleted. fix: start its agent, then confirm`,
  )
}

/** A person states it about the new host. */
type Statement = Readonly<{ newHostIsDead?: string | undefined; stoppedOnNewHost?: boolean | undefined }>
type GiveBackInput = Statement & Readonly<{ slug: string }>

/**
 * Reverts a stalled move: the old host runs the box again. Only when the new host certainly does not run it: its agent never fetched the take-over, or a
 * person stated that the host is dead or that its containers are stopped. Throws NOT_FOUND, CONFLICT, INVALID_TRANSITION, HOST_OFFLINE, VALIDATION.
 */
export const giveBackBox = (deps: LifecycleDeps, actor: Actor, { slug, ...statement }: GiveBackInput): Promise<BoxMove> =>
  act(deps, slug, async (tx, current) => {
    const { box, move, fleet, nameOf } = current
    if (move.state === 'handing_over') {
      if (await cancelMoveCommand({ ...deps, tx }, move, 'unleased'))
        return stepMove({ deps, tx, box, move }, { event: 'refused', actor, change: noCopies })
      throw problem('CONFLICT', `${nameOf(move.fromHostId)} runs the hand-over of ${slug}. fix: wait until it finishes`)
    }
    if (move.state !== 'taking_over' && move.state !== 'stranded') return stepMove({ deps, tx, box, move }, { event: 'back_asked', actor }) // throws INVALID_TRANSITION
    if (fleet.host(move.fromHostId)?.status !== 'online')
      throw problem('HOST_OFFLINE', `old host ${nameOf(move.fromHostId)} of ${slug} is offline. fix: start its agent, then retry`)
    if (move.state === 'taking_over') await endTakeOver({ ...deps, tx }, current, statement)
    else if (move.toCopy && mayRunUnknown(move)) assertStopped(current, statement)
    return stepMove({ deps, tx, box, move }, { event: 'back_asked', actor, change: { error: move.error }, statement })
  })

const noCopies = { fromCopy: false, toCopy: false } as const

async function endTakeOver(deps: WithTx<LifecycleDeps>, current: OpenMove, { newHostIsDead }: Statement): Promise<void> {
  const { box, move, nameOf } = current
  const { slug } = box
  const name = nameOf(move.toHostId)
  if (newHostIsDead === undefined) {
    if (await cancelMoveCommand(deps, move, 'unleased')) return
    throw problem(
      'CONFLICT',
      `${name} runs the take-over of ${slug}. fix: wait until it finishes, or, if the host is permanently lost, pass --new-host-is-dead ${name}`,
    )
  }
  assertNewHostDead(
    current,
    newHostIsDead,
    `finishes the take-over. fix: wait; if its disk is lost, stop its agent, and retry when \`tenantry hosts list\` shows it offline`,
  )
  await cancelMoveCommand(deps, move, 'any')
}

/** The new agent stops the containers only where it finds the folder of the box, so a person must state it. Throws CONFLICT, VALIDATION. */
function assertStopped(current: OpenMove, { newHostIsDead, stoppedOnNewHost = false }: Statement): void {
  if (stoppedOnNewHost) return
  const { slug } = current.box
  const name = current.nameOf(current.move.toHostId)
  const stop = `stop the containers of ${slug} there (\`docker ps\`, \`docker stop\`), then \`tenantry boxes move ${slug} --back --stopped-on-new-host\``
  if (newHostIsDead === undefined)
    throw problem(
      'CONFLICT',
      `host ${name} may still run ${slug}: an agent lost its state folder during the move. fix: ${stop}; if the host is permanently lost, pass --new-host-is-dead ${name}`,
    )
  assertNewHostDead(current, newHostIsDead, `may run ${slug}. fix: ${stop}`)
}

/** Throws VALIDATION for another name, CONFLICT for a host that is online. */
function assertNewHostDead({ box: { slug }, move, fleet, nameOf }: OpenMove, typed: string, whileOnline: string): void {
  const name = nameOf(move.toHostId)
  if (typed !== name)
    throw problem('VALIDATION', `the new host of ${slug} is ${name}, not ${typed}`, {
      details: [{ path: 'newHostIsDead', reason: `must be ${name}` }],
    })
  if (fleet.host(move.toHostId)?.status === 'online') throw problem('CONFLICT', `host ${name} is online and ${whileOnline}`)
}

async function act(deps: LifecycleDeps, slug: string, run: (tx: Tx, current: OpenMove) => Promise<Move>): Promise<BoxMove> {
  const { move, view } = await deps.db.transaction().execute(async (tx) => {
    const box = await existingBox(tx, slug)
    const open = await openMove(tx, box.id)
    if (!open) throw problem('INVALID_TRANSITION', `${slug} has no open move. Last move: \`tenantry boxes show ${slug}\``)
    const fleet = await readFleet(deps, tx)
    const nameOf = (id: HostId) => fleet.host(id)?.name ?? id
    const move = await run(tx, { box, move: open, fleet, nameOf })
    return { move, view: moveView(move, nameOf) }
  })
  deps.bus.queued(commandHostOf(move))
  return view
}

/** Cancels the pending command of a move. Returns false when an agent leased it and `which` is `unleased`. */
export async function cancelMoveCommand(
  { clock, tx }: WithTx<Pick<LifecycleDeps, 'clock'>>,
  { commandId }: Move,
  which: 'unleased' | 'any',
): Promise<boolean> {
  const [command] = await commandsByIds(tx, commandId === null ? [] : [commandId])
  if (!command) return true
  if (which === 'unleased' && command.leaseToken > 0) return false
  if (isFinal(command.status)) return true
  const error = { code: 'CANCELLED', message: 'the move was cancelled' }
  return abandonCommand(tx, clock, { id: command.id, leaseToken: command.leaseToken, error })
}
