import type { Selectable } from 'kysely'
import type { BoxSnapshots } from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { archiveView } from './recover-box.ts'
import { newestReported, type SnapshotOwner } from './snapshots.repo.ts'
import type { SnapshotDrillTable } from './snapshots.tables.ts'

type Drill = Selectable<SnapshotDrillTable>

/** A successful drill, restore or move of a snapshot, and its duration. */
export type Proof = Readonly<{ tenantId: string; snapshotId: string; at: string; durationMs: number | null }>

/** All proofs of these tenants' snapshots, newest first. */
async function proofsOf(db: DbOrTx, tenantIds: readonly string[]): Promise<Proof[]> {
  const among = tenantIds.length > 0 ? tenantIds : ['']
  const drills = db.selectFrom('snapshot_drills').selectAll().where('ok', '=', 1).where('tenant_id', 'in', among)
  const restores = db.selectFrom('box_restores').selectAll().where('status', '=', 'restored').where('tenant_id', 'in', among)
  const proofs = [
    ...(await drills.execute()).map((row) => ({ ...row, at: row.at, ms: row.restore_ms ?? row.duration_ms })),
    ...(await restores.execute()).map((row) => ({ ...row, at: row.ended_at ?? row.asked_at, ms: row.duration_ms })),
  ].map(({ tenant_id, snapshot_id, at, ms }) => ({
    tenantId: tenant_id,
    snapshotId: snapshot_id,
    at,
    durationMs: ms === null ? null : Number(ms),
  }))
  return proofs.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
}

/** The last proof of each of these tenants' snapshots. */
export async function newestProofs(db: DbOrTx, tenantIds: readonly string[]): Promise<ProofOf> {
  const newest = new Map((await proofsOf(db, tenantIds)).reverse().map((proof) => [`${proof.tenantId}/${proof.snapshotId}`, proof]))
  return (tenantId, snapshotId) => newest.get(`${tenantId}/${snapshotId}`)
}

export type ProofOf = (tenantId: string, snapshotId: string) => Proof | undefined

/** The time of the last proof of each tenant. One of the future is of a clock that was wrong, and does not count. */
export async function lastProofs(db: DbOrTx, now: string): Promise<ReadonlyMap<string, string>> {
  const drills = await db
    .selectFrom('snapshot_drills')
    .select(({ fn }) => ['tenant_id', fn.max('at').as('at')])
    .where('ok', '=', 1)
    .where('at', '<=', now)
    .groupBy('tenant_id')
    .execute()
  const restores = await db
    .selectFrom('box_restores')
    .select(({ fn }) => ['tenant_id', fn.max(fn.coalesce('ended_at', 'asked_at')).as('at')])
    .where('status', '=', 'restored')
    .where((eb) => eb(eb.fn.coalesce('ended_at', 'asked_at'), '<=', now))
    .groupBy('tenant_id')
    .execute()
  const last = new Map(drills.map(({ tenant_id, at }) => [tenant_id, at]))
  for (const { tenant_id, at } of restores) if (at > (last.get(tenant_id) ?? '')) last.set(tenant_id, at)
  return last
}

/** The last drill of each of these snapshots, failed ones included. */
export async function lastDrills(
  db: DbOrTx,
  snapshotIds: readonly string[],
): Promise<(tenantId: string, snapshotId: string) => Drill | undefined> {
  if (snapshotIds.length === 0) return () => undefined
  const rows = await db.selectFrom('snapshot_drills').selectAll().where('snapshot_id', 'in', snapshotIds).orderBy('at').execute()
  const last = new Map(rows.map((row) => [`${row.tenant_id}/${row.snapshot_id}`, row]))
  return (tenantId, snapshotId) => last.get(`${tenantId}/${snapshotId}`)
}

/** The time of the last drill of each tenant, failed ones included. */
export async function lastTried(db: DbOrTx, now: string): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('snapshot_drills')
    .select(({ fn }) => ['tenant_id', fn.max('at').as('at')])
    .where('at', '<=', now)
    .groupBy('tenant_id')
    .execute()
  return new Map(rows.map(({ tenant_id, at }) => [tenant_id, at]))
}

/** The newest snapshot and the last proof of a box. */
export async function snapshotsOfBox(db: DbOrTx, box: Pick<SnapshotOwner, 'id' | 'tenantId'>): Promise<BoxSnapshots> {
  const newest = await newestReported(db, box)
  const [proof] = await proofsOf(db, [box.tenantId])
  return {
    lastSnapshot: newest ? { snapshotId: newest.snapshot_id, tier: newest.tier, takenAt: newest.taken_at } : null,
    archive: await archiveView(db, box.id),
    lastProvenRestore: proof ? { at: proof.at, durationMs: proof.durationMs, snapshotId: proof.snapshotId } : null,
  }
}
