import type { BoxMove } from '../../../core/boxes/index.ts'
import { type Actor, actorLabel, isoNow, newId, problem } from '../../../core/kit/index.ts'
import { isUniqueViolation, type Tx } from '../../db/index.ts'
import { holdBox } from '../box-holds.ts'
import { callOff } from './call-off.ts'
import { type ChosenSnapshot, forever, type LifeDeps } from './deps.ts'
import { highestEpoch, insertMove, type Move, moveView } from './moves.repo.ts'
import { type MoveWish, planMove } from './plan-move.ts'
import { giveOrder, hostOfOrder, moveHolder, stepMove, tellMove } from './step-move.ts'

type Wanted = MoveWish & Readonly<{ slug: string; reason: string }>

/** What a move would do, for a person to read; changes nothing. */
export const showMovePlan = ({ db, ...deps }: LifeDeps, slug: string, wish: MoveWish) =>
  db.transaction().execute(async (tx) => {
    const { from, to, ports, snapshot, losesMs } = await planMove({ db, ...deps }, tx, slug, wish)
    return { from: from.name, to: to.name, ports, snapshot: snapshot && snapshotView(snapshot), losesMs }
  })

const snapshotView = ({ snapshotId, takenAt, damaged = false, reopens = [] }: ChosenSnapshot) => ({
  ...{ snapshotId, takenAt, damaged },
  reopens: [...reopens],
})

/** Begins a move: the box is held, and the old host asked to stop it; a dead one is not asked. Throws as `planMove` does. */
export async function moveBox(deps: LifeDeps, actor: Actor, { slug, reason, ...wish }: Wanted): Promise<BoxMove> {
  const begun = await deps.db
    .transaction()
    .execute((tx) => begin(deps, tx, actor, slug, reason, wish))
    .catch((error) => {
      if (!isUniqueViolation(error)) throw error
      throw problem('CONFLICT', `somebody else moves ${slug} at the same moment: look at it again`)
    })
  deps.bus.queued(hostOfOrder(begun.move))
  return begun.view
}

async function begin(deps: LifeDeps, tx: Tx, actor: Actor, slug: string, reason: string, wish: MoveWish) {
  const { clock, random } = deps
  const { box, from, to, ports, dead, snapshot, replaces } = await planMove(deps, tx, slug, wish)
  if (replaces) {
    await callOff(deps, tx, replaces, 'any')
    await stepMove(deps, tx, box, replaces, { event: 'abandoned', actor, change: { error: replaced(from.name) } })
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
  await holdBox(tx, clock, { boxId: box.id, holder: moveHolder(asked), until: forever })
  const move = await giveOrder(deps, tx, box, asked)
  await insertMove(tx, move)
  await tellMove(tx, clock, box, move, actor, snapshot?.reopens)
  return { move, view: moveView(move, (id) => (id === from.id ? from.name : to.name)) }
}

const replaced = (host: string) => ({
  code: 'HOST_OFFLINE',
  message: `a person said that ${host} is dead; another move goes on from a snapshot`,
})
