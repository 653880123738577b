import type { Selectable } from 'kysely'
import { SnapshotTaken, type SnapshotTier } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { SnapshotStatus } from '../../core/snapshots/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { SnapshotTable } from './snapshots.tables.ts'

export type SnapshotRow = Selectable<SnapshotTable>

/** A box as its snapshots know it; they outlive it. */
export type SnapshotOwner = Readonly<{ id: string; slug: string; tenantId: string }>

/** What is known of a snapshot when the registry learns of it; the rest is null. */
export type NewSnapshot = Readonly<{ snapshotId: string; tier: SnapshotTier; takenAt: string; notBefore?: string | undefined }> &
  Partial<Pick<SnapshotRow, 'command_id' | 'sha256' | 'added_bytes' | 'files' | 'duration_ms' | 'installed'>>

const unknown = { command_id: null, sha256: null, added_bytes: null, files: null, duration_ms: null, installed: null } as const

/**
 * Writes a snapshot into the registry; one that a listing brought in before gets what is known of it now. False for what is no id of a snapshot,
 * and for one that another command took: no agent can make the good ones older or other ones than they are by naming them again.
 */
export async function recordSnapshot(tx: Tx, clock: Clock, owner: SnapshotOwner, snapshot: NewSnapshot): Promise<boolean> {
  const { snapshotId, tier, takenAt, notBefore, ...known } = snapshot
  if (!SnapshotTaken.shape.snapshotId.safeParse(snapshotId).success) return false
  const facts = { ...unknown, ...known, tier, taken_at: believable(clock, takenAt, notBefore) }
  const place = { tenant_id: owner.tenantId, snapshot_id: snapshotId }
  const written = await tx
    .insertInto('snapshots')
    .values({ ...place, ...facts, box_id: owner.id, slug: owner.slug, status: 'present', damaged_by: null, recorded_at: isoNow(clock) })
    .onConflict((c) =>
      c
        .columns(['tenant_id', 'snapshot_id'])
        .doUpdateSet(facts)
        .where((where) =>
          where.or([where('snapshots.command_id', 'is', null), where('snapshots.command_id', '=', facts.command_id ?? '')]),
        ),
    )
    .returning('snapshot_id')
    .executeTakeFirst()
  return written !== undefined
}

// The agent's clock may be ahead, and a time to come would be the newest for ever; one that it cannot have been taken at would use up a place
// among the old ones.
function believable(clock: Clock, said: string, notBefore = ''): string {
  const at = new Date(said)
  const now = isoNow(clock)
  if (Number.isNaN(at.getTime()) || at.toISOString() > now) return now
  return at.toISOString() < notBefore ? notBefore : at.toISOString()
}

export async function snapshotById(db: DbOrTx, tenantId: string, snapshotId: string): Promise<SnapshotRow | undefined> {
  return db.selectFrom('snapshots').selectAll().where('tenant_id', '=', tenantId).where('snapshot_id', '=', snapshotId).executeTakeFirst()
}

/** The newest snapshot of a tenant that could be brought back; `complete` = of which the sum is known. */
export async function newestPresent(db: DbOrTx, tenantId: string, which: 'any' | 'complete' = 'any'): Promise<SnapshotRow | undefined> {
  let query = db.selectFrom('snapshots').selectAll().where('tenant_id', '=', tenantId).where('status', '=', 'present')
  if (which === 'complete') query = query.where('sha256', 'is not', null)
  return query.orderBy('taken_at', 'desc').orderBy('snapshot_id', 'desc').executeTakeFirst()
}

/** The newest of a tenant that may be damaged; one that failed a drill itself comes last, after those that a check took with it. */
export async function newestDamaged(db: DbOrTx, tenantId: string): Promise<SnapshotRow | undefined> {
  const damaged = db.selectFrom('snapshots').selectAll().where('tenant_id', '=', tenantId).where('status', '=', 'damaged')
  return damaged.orderBy('damaged_by').orderBy('taken_at', 'desc').orderBy('snapshot_id', 'desc').executeTakeFirst()
}

/** When the newest present snapshot of each tenant was taken. */
export async function newestPerTenant(db: DbOrTx): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('snapshots')
    .select(({ fn }) => ['tenant_id', fn.max('taken_at').as('newest')])
    .where('status', '=', 'present')
    .groupBy('tenant_id')
    .execute()
  return new Map(rows.map(({ tenant_id, newest }) => [tenant_id, newest]))
}

/** All that the registry knows of these tenants' repositories. */
export async function snapshotsOf(db: DbOrTx, tenantIds: readonly string[]): Promise<SnapshotRow[]> {
  if (tenantIds.length === 0) return []
  return db.selectFrom('snapshots').selectAll().where('tenant_id', 'in', tenantIds).execute()
}

/** Moves snapshots of one repository to another status, if they are in one of `from` still; answers which did. */
export async function setSnapshotStatus(
  tx: Tx,
  tenantId: string,
  ids: readonly string[],
  from: readonly SnapshotStatus[],
  to: Pick<SnapshotRow, 'status' | 'damaged_by'>,
): Promise<string[]> {
  const moved: string[] = []
  for (let at = 0; at < ids.length; at += chunkSize) {
    const rows = await tx
      .updateTable('snapshots')
      .set(to)
      .where('tenant_id', '=', tenantId)
      .where('snapshot_id', 'in', ids.slice(at, at + chunkSize))
      .where('status', 'in', from)
      .returning('snapshot_id')
      .execute()
    moved.push(...rows.map(({ snapshot_id }) => snapshot_id))
  }
  return moved
}

/** One that came back is whole, whatever a check or a listing found before. */
export async function markRestorable(tx: Tx, tenantId: string, snapshotId: string): Promise<void> {
  await setSnapshotStatus(tx, tenantId, [snapshotId], ['damaged', 'missing'], { status: 'present', damaged_by: null })
}

/** Far below what either dialect takes in parameters. */
const chunkSize = 500

/**
 * First in a transaction that gives snapshots up or wants one back, or right after the lock of the box that it takes: between looking at a
 * repository and writing nobody else does either.
 */
export async function lockRepository(tx: Tx, tenantId: string): Promise<void> {
  await tx
    .insertInto('snapshot_repositories')
    .values({ tenant_id: tenantId, tended_at: null, pruned_at: null, checked_at: null, data_checked_at: null })
    .onConflict((c) => c.column('tenant_id').doUpdateSet({ tenant_id: tenantId }))
    .execute()
}

type Which = Readonly<{ boxId: string; snapshotId: string }>
type Kept = Readonly<{ snapshotId: string; sha256: string | null; takenAt: string; status: SnapshotStatus }>

/** Far below what either dialect takes in parameters. */
const idsPerQuery = 500

/** What the registry knows of these snapshots, by `boxId/snapshotId`; what it does not know is not in it. */
export async function registeredSnapshots(db: DbOrTx, which: readonly Which[]): Promise<ReadonlyMap<string, Kept>> {
  const kept = new Map<string, Kept>()
  for (let from = 0; from < which.length; from += idsPerQuery) {
    const ids = which.slice(from, from + idsPerQuery).map(({ snapshotId }) => snapshotId)
    const rows = await db
      .selectFrom('snapshots')
      .select(['box_id', 'snapshot_id', 'sha256', 'taken_at', 'status'])
      .where('snapshot_id', 'in', ids)
      .execute()
    for (const { box_id, snapshot_id: snapshotId, sha256, taken_at: takenAt, status } of rows)
      kept.set(`${box_id}/${snapshotId}`, { snapshotId, sha256, takenAt, status })
  }
  return kept
}
