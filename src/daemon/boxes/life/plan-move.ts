import { allocatePorts, type BoxPorts, boxHeld, type HostId } from '../../../core/boxes/index.ts'
import { elapsedMs, isoNow, problem } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import { hostByName } from '../../hosts/index.ts'
import { holdsOf } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { lockBox, portsTaken } from '../boxes.repo.ts'
import { type Fleet, lookAtFleet } from '../fleet.ts'
import type { ChosenSnapshot, LifeDeps } from './deps.ts'
import { type Move, openMove } from './moves.repo.ts'
import { moveHolder } from './step-move.ts'

export type MoveWish = Readonly<{ to: string; oldHostIsDead?: string | undefined }>

type Planned = Readonly<{
  box: BoxRecord
  from: Readonly<{ id: HostId; name: string }>
  to: Readonly<{ id: HostId; name: string }>
  ports: BoxPorts
  dead: boolean
  /** Only when the old host is dead. */
  snapshot: ChosenSnapshot | null
  losesMs: number
  /** The move that hangs because the old host died, and that this one replaces. */
  replaces: Move | undefined
}>

/**
 * What a move would do. Throws NOT_FOUND, CONFLICT (same host, not ready, another move), BOX_NOT_MANAGED, BOX_HELD, HOST_OFFLINE,
 * HOST_REVOKED, CONFIG, PORT_TAKEN, VALIDATION (the typed name is another).
 */
export async function planMove(deps: LifeDeps, tx: Tx, slug: string, wish: MoveWish): Promise<Planned> {
  deps.requireSnapshots()
  const box = await lockBox(tx, slug)
  const fleet = await lookAtFleet(deps, tx)
  const from = { id: box.hostId, name: fleet.host(box.hostId)?.name ?? box.hostId }
  const target = await hostByName(tx, wish.to)
  const dead = wish.oldHostIsDead !== undefined
  refuseBox(box, from.name, target.id, target.name)
  if (dead) refuseLiving(fleet, box, from.name, wish.oldHostIsDead)
  else
    requireOnline(
      fleet,
      box.hostId,
      `the host ${from.name} of ${slug}`,
      `start its agent, or, if it is gone for good, --old-host-is-dead ${from.name}`,
    )
  requireOnline(fleet, target.id, `the host ${target.name}`, 'start its agent, or choose another host')
  const replaces = await replaced(deps, tx, box, dead)
  const snapshot = dead ? await lastSnapshot(deps, tx, box) : null
  const losesMs = snapshot ? Math.max(0, elapsedMs(snapshot.takenAt, isoNow(deps.clock))) : 0
  const ports = allocatePorts(await portsTaken(tx, target.id), deps.firstPort)
  return { box, from, to: { id: target.id, name: target.name }, ports, dead, snapshot, losesMs, replaces }
}

function refuseBox({ slug, live, managed, hostId, removal }: BoxRecord, from: string, toId: string, to: string): void {
  if (removal) throw problem('CONFLICT', `the box ${slug} was removed: \`tenantry boxes remove ${slug} --undo\` lets it run again`)
  if (!live) throw problem('CONFLICT', `the box ${slug} is not ready yet: \`tenantry boxes show ${slug}\` tells why`)
  if (!managed)
    throw problem('BOX_NOT_MANAGED', `the box ${slug} is only observed: \`tenantry boxes adopt ${slug} --complete\` first, then move it`)
  if (hostId === toId) throw problem('CONFLICT', `the box ${slug} is on ${from} already: name another host than ${to}`)
}

function refuseLiving(fleet: Fleet, { slug, hostId }: BoxRecord, name: string, typed: string | undefined): void {
  if (typed !== name)
    throw problem('VALIDATION', `the host of ${slug} is ${name}: type that name to say that it is dead`, {
      details: [{ path: 'oldHostIsDead', reason: `must be ${name}` }],
    })
  if (fleet.host(hostId)?.status === 'online')
    throw problem(
      'CONFLICT',
      `the host ${name} is online, so nothing has to be lost: move ${slug} without --old-host-is-dead; if its disk is gone, stop its agent, then repeat`,
    )
}

function requireOnline(fleet: Fleet, id: HostId, which: string, next: string): void {
  const status = fleet.host(id)?.status ?? 'gone'
  if (status === 'revoked') throw problem('HOST_REVOKED', `${which} was revoked: ${next}`)
  if (status !== 'online') throw problem('HOST_OFFLINE', `${which} is ${status}: ${next}`)
}

/** Throws CONFLICT, BOX_HELD. */
async function replaced({ clock }: LifeDeps, tx: Tx, { id, slug }: BoxRecord, dead: boolean): Promise<Move | undefined> {
  const open = await openMove(tx, id)
  const hangs = open && dead && (open.state === 'handing_over' || open.state === 'taking_back' || open.state === 'stranded')
  if (open && !hangs) throw problem('CONFLICT', `the box ${slug} is being moved (${open.state.replace('_', ' ')}): ${nextOf(open, slug)}`)
  const hold = (await holdsOf(tx, clock, [id])).get(id)
  if (hold && !(hangs && hold.holder === moveHolder(open))) throw boxHeld({ slug, ...hold })
  return open
}

const nextOf = ({ state }: Move, slug: string): string =>
  state === 'confirming' ? `\`tenantry boxes move ${slug} --confirm\` ends that move` : `\`tenantry boxes show ${slug}\` tells how far`

async function lastSnapshot({ newestSnapshot }: LifeDeps, tx: Tx, box: BoxRecord): Promise<ChosenSnapshot> {
  const { slug } = box
  const snapshot = await newestSnapshot(tx, box)
  if (snapshot) return snapshot
  throw problem('CONFLICT', `there is no snapshot of ${slug} to bring it back from: \`tenantry snapshots list --slug ${slug}\` shows all`)
}
