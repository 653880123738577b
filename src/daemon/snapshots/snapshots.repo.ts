import type { Selectable } from 'kysely'
import { SnapshotTaken, type SnapshotTier } from '../../core/boxes/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { SnapshotStatus } from '../../core/snapshots/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { SnapshotTable } from './snapshots.tables.ts'

export type SnapshotRow = Selectable<SnapshotTable>

/** The box of a snapshot; the snapshot outlives it. */
export type SnapshotOwner = Readonly<{ id: string; slug: string; tenantId: string }>

/** The known fields of a new snapshot; the others are null. */
export type NewSnapshot = Readonly<{ snapshotId: string; tier: SnapshotTier; takenAt: string; notBefore?: string | undefined }> &
  Partial<Pick<SnapshotRow, 'command_id' | 'sha256' | 'added_bytes' | 'files' | 'duration_ms' | 'installed'>>

const unknown = { command_id: null, sha256: null, added_bytes: null, files: null, duration_ms: null, installed: null } as const

/**
 * Registers a snapshot, or completes one that a listing registered. Returns false for an invalid id and for a snapshot of another command, so that no agent
 * can change existing records.
 */
export async function recordSnapshot(
  { tx, clock }: Readonly<{ tx: Tx; clock: Clock }>,
  owner: SnapshotOwner,
  snapshot: NewSnapshot,
): Promise<boolean> {
  const { snapshotId, tier, takenAt, notBefore, ...known } = snapshot
  if (!SnapshotTaken.shape.snapshotId.safeParse(snapshotId).success) return false
  const facts = { ...unknown, ...known, tier, taken_at: plausibleTime(clock, takenAt, notBefore) }
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

// The agent's clock may be wrong: a future time would always be the newest, and one before the command would take a retention slot.
function plausibleTime(clock: Clock, reported: string, notBefore = ''): string {
  const at = new Date(reported)
  const now = isoNow(clock)
  if (Number.isNaN(at.getTime()) || at.toISOString() > now) return now
  return at.toISOString() < notBefore ? notBefore : at.toISOString()
}

export async function snapshotById(db: DbOrTx, tenantId: string, snapshotId: string): Promise<SnapshotRow | undefined> {
  return db.selectFrom('snapshots').selectAll().where('tenant_id', '=', tenantId).where('snapshot_id', '=', snapshotId).executeTakeFirst()
}

/** A tenant may have had another box before, whose snapshots are still in its repository. */
type OfBox = Pick<SnapshotOwner, 'id' | 'tenantId'>

const snapshotsOfOneBox = (db: DbOrTx, { id, tenantId }: OfBox, status: SnapshotStatus) =>
  db.selectFrom('snapshots').selectAll().where('tenant_id', '=', tenantId).where('box_id', '=', id).where('status', '=', status)

const presentNewestFirst = (db: DbOrTx, box: OfBox) =>
  snapshotsOfOneBox(db, box, 'present').orderBy('taken_at', 'desc').orderBy('snapshot_id', 'desc')

export const newestPresent = (db: DbOrTx, box: OfBox): Promise<SnapshotRow | undefined> => presentNewestFirst(db, box).executeTakeFirst()

/** The newest present snapshot of a box that a command reported: others may be incomplete, and their checksums are not known. */
export const newestReported = (db: DbOrTx, box: OfBox): Promise<SnapshotRow | undefined> =>
  presentNewestFirst(db, box).where('sha256', 'is not', null).executeTakeFirst()

/** The newest damaged snapshot of a box; those that failed a drill come after those that a check marked. */
export async function newestDamaged(db: DbOrTx, box: OfBox): Promise<SnapshotRow | undefined> {
  const damaged = snapshotsOfOneBox(db, box, 'damaged')
  return damaged.orderBy('damaged_by').orderBy('taken_at', 'desc').orderBy('snapshot_id', 'desc').executeTakeFirst()
}

/**
 * The time of the newest present snapshot of the box of each tenant that a command reported: others may be incomplete. One of the future is of a
 * clock that was wrong, and does not make later ones superfluous. `tenantIds`: only these tenants.
 */
export async function newestPerTenant(db: DbOrTx, now: string, tenantIds?: readonly string[]): Promise<ReadonlyMap<string, string>> {
  let query = db
    .selectFrom('snapshots')
    .innerJoin('boxes', 'boxes.id', 'snapshots.box_id')
    .select(({ fn }) => ['snapshots.tenant_id', fn.max('taken_at').as('newest')])
    .where('boxes.live', '=', 1)
    .where('taken_at', '<=', now)
    .where('snapshots.status', '=', 'present')
    .where('sha256', 'is not', null)
    .groupBy('snapshots.tenant_id')
  if (tenantIds) query = query.where('snapshots.tenant_id', 'in', [...tenantIds])
  return new Map((await query.execute()).map(({ tenant_id, newest }) => [tenant_id, newest]))
}

/** All registered snapshots of these tenants. */
export async function snapshotsOf(db: DbOrTx, tenantIds: readonly string[]): Promise<SnapshotRow[]> {
  if (tenantIds.length === 0) return []
  return db.selectFrom('snapshots').selectAll().where('tenant_id', 'in', tenantIds).execute()
}

/** Changes the status of snapshots of one repository that are still in one of `from`. Returns the changed ids. */
export async function setSnapshotStatus(
  tx: Tx,
  { tenantId, ids, from }: Readonly<{ tenantId: string; ids: readonly string[]; from: readonly SnapshotStatus[] }>,
  to: Pick<SnapshotRow, 'status' | 'damaged_by'>,
): Promise<string[]> {
  const changed: string[] = []
  for (let at = 0; at < ids.length; at += chunkSize) {
    const rows = await tx
      .updateTable('snapshots')
      .set(to)
      .where('tenant_id', '=', tenantId)
      .where('snapshot_id', 'in', ids.slice(at, at + chunkSize))
      .where('status', 'in', from)
      .returning('snapshot_id')
      .execute()
    changed.push(...rows.map(({ snapshot_id }) => snapshot_id))
  }
  return changed
}

/** Whether the snapshot is present in its repository, as far as is known. */
export const isStored = async (db: DbOrTx, { boxId, snapshotId }: Which): Promise<boolean> =>
  (await registeredSnapshots(db, [{ boxId, snapshotId }])).get(`${boxId}/${snapshotId}`)?.status === 'present'

/** A restored snapshot is valid, whatever a check or a listing found before. */
export async function markRestorable(tx: Tx, tenantId: string, snapshotId: string): Promise<void> {
  await setSnapshotStatus(tx, { tenantId, ids: [snapshotId], from: ['damaged', 'missing'] }, { status: 'present', damaged_by: null })
}

/** Below the parameter limit of both dialects. */
const chunkSize = 500

/** Locks a repository until the commit. Lock order: the box, then its repository, before any read that decides about its snapshots. */
export async function lockRepository(tx: Tx, tenantId: string): Promise<void> {
  await tx
    .insertInto('snapshot_repositories')
    .values({ tenant_id: tenantId })
    .onConflict((c) => c.column('tenant_id').doUpdateSet({ tenant_id: tenantId }))
    .execute()
}

/** The recorded id of a tenant's repository, and whether it is lost. */
export const repositoryRow = (db: DbOrTx, tenantId: string) =>
  db
    .selectFrom('snapshot_repositories')
    .select(['repository_id', 'lost_at', 'lost_place'])
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst()
    .then((row) => row ?? { repository_id: null, lost_at: null, lost_place: null })

/** The tenants whose repositories are gone. */
export async function tenantsOfLostStores(db: DbOrTx): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('snapshot_repositories').select('tenant_id').where('lost_at', 'is not', null).execute()
  return new Set(rows.map(({ tenant_id }) => tenant_id))
}

type Which = Readonly<{ boxId: string; snapshotId: string }>
type Registered = Readonly<{ snapshotId: string; sha256: string | null; takenAt: string; status: SnapshotStatus }>

/** The registered snapshots among these, by `boxId/snapshotId`. */
export async function registeredSnapshots(db: DbOrTx, which: readonly Which[]): Promise<ReadonlyMap<string, Registered>> {
  const found = new Map<string, Registered>()
  for (let from = 0; from < which.length; from += chunkSize) {
    const ids = which.slice(from, from + chunkSize).map(({ snapshotId }) => snapshotId)
    const rows = await db
      .selectFrom('snapshots')
      .select(['box_id', 'snapshot_id', 'sha256', 'taken_at', 'status'])
      .where('snapshot_id', 'in', ids)
      .execute()
    for (const { box_id, snapshot_id: snapshotId, sha256, taken_at: takenAt, status } of rows)
      found.set(`${box_id}/${snapshotId}`, { snapshotId, sha256, takenAt, status })
  }
  return found
}
