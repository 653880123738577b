import { allocatePorts, type BoxMove, type BoxPorts, boxHeld, type HostId, mayRunUnknown, observedText } from '../../../core/boxes/index.ts'
import { type Actor, actorLabel, elapsedMs, isoNow, newId, problem } from '../../../core/kit/index.ts'
import { isUniqueViolation, type Tx, type WithTx } from '../../db/index.ts'
import { hostByName } from '../../hosts/index.ts'
import { holdBox, holdsOf, noExpiry } from '../box-holds.ts'
import type { BoxRecord } from '../box-record.ts'
import { lockBox, portsTaken } from '../boxes.repo.ts'
import { type Fleet, readFleet } from '../fleet.ts'
import type { ChosenSnapshot, LifecycleDeps } from './deps.ts'
import { cancelMoveCommand } from './end-move.ts'
import { highestEpoch, insertMove, type Move, moveView, openMove } from './procedures.repo.ts'
import { commandHostOf, enqueueMoveCommand, moveOwner, publishMove, stepMove } from './step-move.ts'

type MoveTarget = Readonly<{ to: string; oldHostIsDead?: string | undefined; stoppedOnNewHost?: boolean | undefined }>

type Planned = Readonly<{
  box: BoxRecord
  from: Readonly<{ id: HostId; name: string }>
  to: Readonly<{ id: HostId; name: string }>
  ports: BoxPorts
  dead: boolean
  /** Only when the old host is dead. */
  snapshot: ChosenSnapshot | null
  losesMs: number
  /** The stalled move of a dead old host, which this one replaces. */
  replaces: Move | undefined
}>

/**
 * Plans a move. Throws NOT_FOUND, CONFLICT (same host, not ready, another move), BOX_NOT_MANAGED, BOX_HELD, HOST_OFFLINE,
 * HOST_REVOKED, CONFIG, PORT_TAKEN, VALIDATION (wrong host name).
 */
async function planMove(deps: WithTx<LifecycleDeps>, slug: string, input: MoveTarget): Promise<Planned> {
  const { tx } = deps
  deps.assertSnapshotsConfigured()
  const box = await lockBox(tx, slug)
  const fleet = await readFleet(deps, tx)
  const from = { id: box.hostId, name: fleet.host(box.hostId)?.name ?? box.hostId }
  const target = await hostByName(tx, input.to)
  const dead = input.oldHostIsDead !== undefined
  assertMovable(box, { from: from.name, toId: target.id, to: target.name })
  if (dead) assertHostDead(fleet, box, { name: from.name, typed: input.oldHostIsDead })
  else
    requireOnline(fleet, box.hostId, {
      which: `host ${from.name} of ${slug}`,
      next: `start its agent; if the host is permanently lost, pass --old-host-is-dead ${from.name}`,
    })
  requireOnline(fleet, target.id, { which: `host ${target.name}`, next: 'start its agent, or choose another host' })
  const replaces = await replaced(deps, box, dead)
  if (replaces && !input.stoppedOnNewHost) assertRunsNowhere(fleet, box, replaces)
  const snapshot = dead ? await lastSnapshot(deps, tx, box) : null
  const losesMs = snapshot ? Math.max(0, elapsedMs(snapshot.takenAt, isoNow(deps.clock))) : 0
  const ports = allocatePorts(await portsTaken(tx, target.id), deps.firstPort)
  return { box, from, to: { id: target.id, name: target.name }, ports, dead, snapshot, losesMs, replaces }
}

function assertMovable(
  { slug, live, managed, hostId, removal }: BoxRecord,
  { from, toId, to }: Readonly<{ from: string; toId: string; to: string }>,
): void {
  if (removal) throw problem('CONFLICT', `box ${slug} was removed. fix: \`tenantry boxes remove ${slug} --undo\``)
  if (!live) throw problem('CONFLICT', `box ${slug} is not ready yet. Reason: \`tenantry boxes show ${slug}\``)
  if (!managed) throw problem('BOX_NOT_MANAGED', observedText(slug))
  if (hostId === toId) throw problem('CONFLICT', `box ${slug} is already on ${from}. fix: name another host than ${to}`)
}

function assertHostDead(
  fleet: Fleet,
  { slug, hostId }: BoxRecord,
  { name, typed }: Readonly<{ name: string; typed: string | undefined }>,
): void {
  if (typed !== name)
    throw problem('VALIDATION', `the host of ${slug} is ${name}, not ${typed}`, {
      details: [{ path: 'oldHostIsDead', reason: `must be ${name}` }],
    })
  if (fleet.host(hostId)?.status === 'online')
    throw problem(
      'CONFLICT',
      `host ${name} is online. fix: move ${slug} without --old-host-is-dead; if its disk is lost, stop its agent, and retry when \`tenantry hosts list\` shows it offline`,
    )
}

function requireOnline(fleet: Fleet, id: HostId, { which, next }: Readonly<{ which: string; next: string }>): void {
  const status = fleet.host(id)?.status ?? 'gone'
  if (status === 'revoked') throw problem('HOST_REVOKED', `${which} was revoked. fix: ${next}`)
  if (status !== 'online') throw problem('HOST_OFFLINE', `${which} is ${status}. fix: ${next}`)
}

/** Throws CONFLICT, BOX_HELD. */
async function replaced({ clock, tx }: WithTx<LifecycleDeps>, { id, slug }: BoxRecord, dead: boolean): Promise<Move | undefined> {
  const open = await openMove(tx, id)
  const isStalled = open && dead && (open.state === 'handing_over' || open.state === 'taking_back' || open.state === 'stranded')
  if (open && !isStalled) throw problem('CONFLICT', `box ${slug} has an open move (${open.state.replace('_', ' ')}). ${nextOf(open, slug)}`)
  const hold = (await holdsOf(tx, clock, [id])).get(id)
  if (hold && !(isStalled && hold.holder === moveOwner(open))) throw boxHeld({ slug, ...hold })
  return open
}

/** The host that the replaced move went to may still run the box: a third host must not begin beside it. Throws CONFLICT. */
function assertRunsNowhere(fleet: Fleet, { slug }: BoxRecord, move: Move): void {
  if (!move.toCopy || !mayRunUnknown(move)) return
  const name = fleet.host(move.toHostId)?.name ?? move.toHostId
  throw problem(
    'CONFLICT',
    `host ${name} may still run ${slug}: an agent lost its state folder during the move. fix: stop the containers of ${slug} there (\`docker ps\`, \`docker stop\`), or make sure that the host is off for good, then repeat the command with --stopped-on-new-host`,
  )
}

const nextOf = ({ state }: Move, slug: string): string =>
  state === 'confirming' ? `fix: \`tenantry boxes move ${slug} --confirm\`` : `Progress: \`tenantry boxes show ${slug}\``

async function lastSnapshot({ newestSnapshot }: LifecycleDeps, tx: Tx, box: BoxRecord): Promise<ChosenSnapshot> {
  const { slug } = box
  const snapshot = await newestSnapshot(tx, box)
  if (snapshot) return snapshot
  throw problem('CONFLICT', `${slug} has no restorable snapshot. All snapshots: \`tenantry snapshots list --slug ${slug}\``)
}

type Input = MoveTarget & Readonly<{ slug: string; reason: string }>

/** Previews a move. */
export const showMovePlan = ({ db, ...deps }: LifecycleDeps, slug: string, input: MoveTarget) =>
  db.transaction().execute(async (tx) => {
    const { from, to, ports, snapshot, losesMs } = await planMove({ db, ...deps, tx }, slug, input)
    return { from: from.name, to: to.name, ports, snapshot: snapshot && snapshotView(snapshot), losesMs }
  })

const snapshotView = ({ snapshotId, takenAt, damaged = false, reopens = [] }: ChosenSnapshot) => ({
  ...{ snapshotId, takenAt, damaged },
  reopens: [...reopens],
})

/** Begins a move: takes a hold on the box and commands a live old host to stop it. Throws what `planMove` throws. */
export async function moveBox(deps: LifecycleDeps, actor: Actor, input: Input): Promise<BoxMove> {
  const { slug } = input
  const begun = await deps.db
    .transaction()
    .execute((tx) => begin({ ...deps, tx }, actor, input))
    .catch((error) => {
      if (!isUniqueViolation(error)) throw error
      throw problem('CONFLICT', `another move of ${slug} began at the same time. Progress: \`tenantry boxes show ${slug}\``)
    })
  deps.bus.queued(commandHostOf(begun.move))
  return begun.view
}

async function begin(deps: WithTx<LifecycleDeps>, actor: Actor, { slug, reason, ...target }: Input) {
  const { tx } = deps
  const { clock, random } = deps
  const { box, from, to, ports, dead, snapshot, replaces } = await planMove(deps, slug, target)
  if (replaces) {
    await cancelMoveCommand({ ...deps, tx }, replaces, 'any')
    await stepMove({ deps, tx, box, move: replaces }, { event: 'abandoned', actor, change: { error: replacedError(from.name) } })
  }
  const at = isoNow(clock)
  const move: Move = {
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
  await holdBox(tx, clock, { boxId: box.id, holder: moveOwner(move), until: noExpiry })
  const begun = await enqueueMoveCommand({ deps, tx, box, move })
  await insertMove(tx, begun)
  await publishMove(tx, clock, { box, move: begun, actor, reopens: snapshot?.reopens })
  return { move: begun, view: moveView(begun, (id) => (id === from.id ? from.name : to.name)) }
}

const replacedError = (host: string) => ({
  code: 'HOST_OFFLINE',
  message: `${host} was declared dead; another move continues from a snapshot`,
})
