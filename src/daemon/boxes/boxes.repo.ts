import { type BoxId, type HostId, Plan, type Severity, type Tier, tierOf } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { type BoxRecord, toBox } from './box-record.ts'
import type { BoxTable } from './boxes.tables.ts'

const boxesWithTenant = (db: DbOrTx) =>
  db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .selectAll('boxes')
    .select(['tenants.name as tenant_name', 'tenants.chat_domain', 'tenants.plan'])

export async function boxById(db: DbOrTx, id: BoxId): Promise<BoxRecord | undefined> {
  const row = await boxesWithTenant(db).where('boxes.id', '=', id).executeTakeFirst()
  return row && toBox(row)
}

/** The box that bears the slug: the live one, or the one that is to become it. */
export async function boxBySlug(db: DbOrTx, slug: string): Promise<BoxRecord | undefined> {
  const row = await boxesWithTenant(db)
    .where('boxes.slug', '=', slug)
    .orderBy('boxes.live', 'desc')
    .orderBy('boxes.created_at', 'desc')
    .executeTakeFirst()
  return row && toBox(row)
}

/** Where the box is now; undefined when there is no such box. */
export async function hostOfBox(db: DbOrTx, id: BoxId): Promise<HostId | undefined> {
  const row = await db.selectFrom('boxes').select('host_id').where('id', '=', id).executeTakeFirst()
  return row?.host_id as HostId | undefined
}

/** Throws NOT_FOUND naming the slug. */
export async function existingBox(db: DbOrTx, slug: string): Promise<BoxRecord> {
  const box = await boxBySlug(db, slug)
  if (!box) throw problem('NOT_FOUND', `there is no box ${slug}: \`tenantry boxes list\` shows all`)
  return box
}

/**
 * Live boxes by slug, all or the named ones: what a rollout or a scan is about.
 * Throws VALIDATION naming every slug that has no live box.
 */
export async function boxesInScope(db: DbOrTx, { slugs }: { slugs?: readonly string[] | undefined } = {}): Promise<BoxRecord[]> {
  let query = boxesWithTenant(db).where('boxes.live', '=', 1).orderBy('boxes.slug')
  if (slugs) query = query.where('boxes.slug', 'in', slugs.length > 0 ? [...slugs] : [''])
  const boxes = (await query.execute()).map(toBox)
  const found = new Set(boxes.map(({ slug }) => slug))
  const unknown = (slugs ?? []).flatMap((slug, at) => (found.has(slug) ? [] : [{ path: `slugs.${at}`, reason: `there is no box ${slug}` }]))
  if (unknown.length > 0)
    throw problem('VALIDATION', `${unknown.map(({ reason }) => reason).join('; ')}: \`tenantry boxes list\` shows all`, {
      details: unknown,
    })
  return boxes
}

/** Which reports still count; those of a silent host or from before `staleBefore` make a box `unknown`. */
type Trust = Readonly<{ staleBefore: string; silentHosts: readonly HostId[] }>

export type BoxFilter = Readonly<{
  tier?: Tier | undefined
  hostId?: HostId | undefined
  severity?: Severity | undefined
  slugPart?: string | undefined
  after?: string | undefined
  limit: number
}>

/** A page of boxes by slug. */
export async function boxesAfter(db: DbOrTx, filter: BoxFilter, trust: Trust): Promise<BoxRecord[]> {
  const { tier, hostId, severity, slugPart, after, limit } = filter
  let query = boxesWithTenant(db).orderBy('boxes.slug').orderBy('boxes.id').limit(limit)
  if (after) query = query.where('boxes.slug', '>', after)
  if (hostId) query = query.where('boxes.host_id', '=', hostId)
  if (tier) query = query.where('tenants.plan', 'in', plansOf(tier))
  if (slugPart) query = query.where('boxes.slug', 'like', `%${slugPart.replace(/[^a-z0-9-]/g, '')}%`)
  if (severity) query = whereSeverity(query, severity, trust)
  return (await query.execute()).map(toBox)
}

const plansOf = (tier: Tier): Plan[] => Plan.options.filter((plan) => tierOf(plan) === tier)

type BoxQuery = ReturnType<typeof boxesWithTenant>

function whereSeverity(query: BoxQuery, severity: Severity, { staleBefore, silentHosts }: Trust): BoxQuery {
  const silent = silentHosts.length > 0 ? [...silentHosts] : ['']
  if (severity !== 'unknown')
    return query
      .where('boxes.drift_severity', '=', severity)
      .where('boxes.reported_at', '>=', staleBefore)
      .where('boxes.host_id', 'not in', silent)
  return query.where((where) =>
    where.or([
      where('boxes.drift_severity', '=', 'unknown'),
      where('boxes.reported_at', 'is', null),
      where('boxes.reported_at', '<', staleBefore),
      where('boxes.host_id', 'in', silent),
    ]),
  )
}

/** First ports of all boxes on a host. */
export async function portsTaken(db: DbOrTx, hostId: HostId): Promise<number[]> {
  const rows = await db.selectFrom('boxes').select('first_port').where('host_id', '=', hostId).where('first_port', 'is not', null).execute()
  return rows.map((row) => row.first_port as number)
}

export async function insertBox(tx: Tx, row: BoxTable): Promise<void> {
  await tx.insertInto('boxes').values(row).execute()
}

/** Changes a box under the ownership that it was read with; throws CONFLICT when that is over. */
export async function changeBox(tx: Tx, box: Pick<BoxRecord, 'id' | 'slug' | 'ownershipEpoch'>, change: Partial<BoxTable>): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('boxes')
    .set(change)
    .where('id', '=', box.id)
    .where('ownership_epoch', '=', box.ownershipEpoch)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw problem('CONFLICT', `the box ${box.slug} was moved meanwhile: look at it again`)
}

/** Stores what a report says, unless a newer one came in or the box was moved meanwhile; false then. */
export async function saveReport(
  tx: Tx,
  box: Pick<BoxRecord, 'id' | 'ownershipEpoch'>,
  reportedAt: string,
  change: Partial<BoxTable>,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('boxes')
    .set({ ...change, reported_at: reportedAt })
    .where('id', '=', box.id)
    .where('ownership_epoch', '=', box.ownershipEpoch)
    .where((where) => where.or([where('reported_at', 'is', null), where('reported_at', '<=', reportedAt)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
