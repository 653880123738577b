import { allocatePorts, type BoxMove, type BoxPorts, boxHeld, type HostId } from '../../../core/boxes/index.ts'
import { type Actor, actorLabel, elapsedMs, isoNow, newId, problem } from '../../../core/kit/index.ts'
import { isUniqueViolation, type Tx } from '../../db/index.ts'
import { hostByName } from '../../hosts/index.ts'
import { holdBox, holdsOf } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { lockBox, portsTaken } from '../boxes.repo.ts'
import { type Fleet, readFleet } from '../fleet.ts'
import { type ChosenSnapshot, type LifecycleDeps, noExpiry } from './deps.ts'
import { cancelMoveCommand } from './end-move.ts'
import { highestEpoch, insertMove, type Move, moveView, openMove } from './moves.repo.ts'
import { commandHostOf, enqueueMoveCommand, moveOwner, publishMove, stepMove } from './step-move.ts'

type MoveWish = Readonly<{ to: string; oldHostIsDead?: string | undefined }>

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
async function planMove(deps: LifecycleDeps, tx: Tx, slug: string, wish: MoveWish): Promise<Planned> {
  deps.assertSnapshotsConfigured()
  const box = await lockBox(tx, slug)
  const fleet = await readFleet(deps, tx)
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
async function replaced({ clock }: LifecycleDeps, tx: Tx, { id, slug }: BoxRecord, dead: boolean): Promise<Move | undefined> {
  const open = await openMove(tx, id)
  const hangs = open && dead && (open.state === 'handing_over' || open.state === 'taking_back' || open.state === 'stranded')
  if (open && !hangs) throw problem('CONFLICT', `the box ${slug} is being moved (${open.state.replace('_', ' ')}): ${nextOf(open, slug)}`)
  const hold = (await holdsOf(tx, clock, [id])).get(id)
  if (hold && !(hangs && hold.holder === moveOwner(open))) throw boxHeld({ slug, ...hold })
  return open
}

const nextOf = ({ state }: Move, slug: string): string =>
  state === 'confirming' ? `\`tenantry boxes move ${slug} --confirm\` ends that move` : `\`tenantry boxes show ${slug}\` tells how far`

async function lastSnapshot({ newestSnapshot }: LifecycleDeps, tx: Tx, box: BoxRecord): Promise<ChosenSnapshot> {
  const { slug } = box
  const snapshot = await newestSnapshot(tx, box)
  if (snapshot) return snapshot
  throw problem('CONFLICT', `there is no snapshot of ${slug} to bring it back from: \`tenantry snapshots list --slug ${slug}\` shows all`)
}

type Wanted = MoveWish & Readonly<{ slug: string; reason: string }>

/** What a move would do, for a person to read; changes nothing. */
export const showMovePlan = ({ db, ...deps }: LifecycleDeps, slug: string, wish: MoveWish) =>
  db.transaction().execute(async (tx) => {
    const { from, to, ports, snapshot, losesMs } = await planMove({ db, ...deps }, tx, slug, wish)
    return { from: from.name, to: to.name, ports, snapshot: snapshot && snapshotView(snapshot), losesMs }
  })

const snapshotView = ({ snapshotId, takenAt, damaged = false, reopens = [] }: ChosenSnapshot) => ({
  ...{ snapshotId, takenAt, damaged },
  reopens: [...reopens],
})

/** Begins a move: the box is held, and the old host asked to stop it; a dead one is not asked. Throws as `planMove` does. */
export async function moveBox(deps: LifecycleDeps, actor: Actor, { slug, reason, ...wish }: Wanted): Promise<BoxMove> {
  const begun = await deps.db
    .transaction()
    .execute((tx) => begin(deps, tx, actor, slug, reason, wish))
    .catch((error) => {
      if (!isUniqueViolation(error)) throw error
      throw problem('CONFLICT', `somebody else moves ${slug} at the same moment: look at it again`)
    })
  deps.bus.queued(commandHostOf(begun.move))
  return begun.view
}

async function begin(deps: LifecycleDeps, tx: Tx, actor: Actor, slug: string, reason: string, wish: MoveWish) {
  const { clock, random } = deps
  const { box, from, to, ports, dead, snapshot, replaces } = await planMove(deps, tx, slug, wish)
  if (replaces) {
    await cancelMoveCommand(deps, tx, replaces, 'any')
    await stepMove(deps, tx, box, replaces, { event: 'abandoned', actor, change: { error: replacedError(from.name) } })
  }
  const at = isoNow(clock)
  const asked: Move = {
    id: newId(random, 'mov'),
    boxId: box.id,
    fromHostId: from.id,
    toHostId: to.id,
    fromPort: box.ports?.public ?? null,
    toPort: ports.public,
    fromCopy: true,
    toCopy: true,
    state: dead ? 'taking_over' : 'handing_over',
    oldHostIsDead: dead,
    epoch: Math.max(box.ownershipEpoch, await highestEpoch(tx, box.id)),
    snapshot,
    reason,
    by: actorLabel(actor),
    orders: 0,
    commandId: null,
    error: null,
    startedAt: at,
    changedAt: at,
    keepUntil: null,
  }
  await holdBox(tx, clock, { boxId: box.id, holder: moveOwner(asked), until: noExpiry })
  const move = await enqueueMoveCommand(deps, tx, box, asked)
  await insertMove(tx, move)
  await publishMove(tx, clock, box, move, actor, snapshot?.reopens)
  return { move, view: moveView(move, (id) => (id === from.id ? from.name : to.name)) }
}

const replacedError = (host: string) => ({
  code: 'HOST_OFFLINE',
  message: `a person said that ${host} is dead; another move goes on from a snapshot`,
})
