import type { BoxId, HostId } from '../../../core/boxes/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { openMove } from './procedures.repo.ts'

type AnyCommand = Readonly<{ boxId: string; kind: string; payload: unknown }>

/**
 * True if an agent of the host may fetch commands of the box and report their results: the host that has the box; during a move also the new host, or
 * the old host that deletes its copy; never a host that was declared dead. A recovery reads the store alone, on the host that it was given to,
 * until the box moves.
 */
export async function mayAct(db: DbOrTx, { boxId, kind, payload }: AnyCommand, hostId: HostId): Promise<boolean> {
  const box = await db.selectFrom('boxes').select(['host_id', 'ownership_epoch']).where('id', '=', boxId).executeTakeFirst()
  if (!box) return false
  if (kind === 'tenant-box.recover') return (payload as { ownershipEpoch: number }).ownershipEpoch === box.ownership_epoch
  const move = await openMove(db, boxId as BoxId)
  if (move?.state === 'taking_over' && move.toHostId === hostId) return true
  if (move?.state === 'removing' && move.fromHostId === hostId) return true
  return box.host_id === hostId && !(move?.oldHostIsDead && move.state === 'taking_over')
}

/** Boxes that are moving away because this host was declared dead; its reports on them are ignored. */
export async function boxesDeclaredDead(db: DbOrTx, hostId: HostId): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('box_moves')
    .select('box_id')
    .where('from_host_id', '=', hostId)
    .where('old_host_dead', '=', 1)
    .where('state', 'in', ['taking_over', 'stranded'])
    .execute()
  return new Set(rows.map(({ box_id }) => box_id))
}

/** Boxes that a host must stop first: another host has them now, or their record was ended. */
export async function disownedBy(db: DbOrTx, hostId: HostId): Promise<{ slug: string; boxId: BoxId; ownershipEpoch: number }[]> {
  const rows = await db
    .selectFrom('box_moves')
    .innerJoin('boxes', 'boxes.id', 'box_moves.box_id')
    .select(['boxes.id', 'boxes.slug', 'boxes.host_id', 'boxes.ownership_epoch', 'box_moves.epoch'])
    .select(['box_moves.state', 'box_moves.old_host_dead', 'box_moves.from_host_id', 'box_moves.from_copy', 'box_moves.to_copy'])
    .where((where) => where.or([where('from_host_id', '=', hostId), where('to_host_id', '=', hostId)]))
    .where((where) => where.or([where('from_copy', '=', 1), where('to_copy', '=', 1)]))
    .execute()
  const disowned = rows.filter((row) => {
    if (row.from_host_id !== hostId) return row.to_copy === 1 && row.host_id !== hostId && row.state !== 'taking_over'
    const declaredDead = row.old_host_dead === 1 && (row.state === 'taking_over' || row.state === 'stranded')
    return row.from_copy === 1 && (row.host_id !== hostId || declaredDead)
  })
  const boxes = new Map<string, { slug: string; boxId: BoxId; ownershipEpoch: number }>()
  for (const { id, slug, ownership_epoch, epoch } of disowned) {
    const ownershipEpoch = Math.max(ownership_epoch, epoch, boxes.get(id)?.ownershipEpoch ?? 0)
    boxes.set(id, { slug, boxId: id as BoxId, ownershipEpoch })
  }
  for (const { id, slug, ownership_epoch, epoch } of await abandonedOn(db, hostId))
    boxes.set(id, { slug, boxId: id as BoxId, ownershipEpoch: Math.max(ownership_epoch, epoch) + 1 })
  return [...boxes.values()]
}

/** Boxes whose record was ended while this host was gone: one that returns stops them. */
const abandonedOn = (db: DbOrTx, hostId: HostId) =>
  db
    .selectFrom('box_removals')
    .innerJoin('boxes', 'boxes.id', 'box_removals.box_id')
    .select(['boxes.id', 'boxes.slug', 'boxes.ownership_epoch', 'box_removals.epoch'])
    .where('box_removals.host_id', '=', hostId)
    .where('box_removals.state', '=', 'erased')
    .where('box_removals.error', 'is not', null)
    .execute()
