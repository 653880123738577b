import type { ExpressionBuilder, Insertable } from 'kysely'
import { type BoxId, type FleetSummary, type HostId, isBoxId, Plan, type Severity, type Tier, tierOf } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { contains, type DbOrTx, forNoKeyUpdate, type Tx } from '../db/index.ts'
import { lockHost } from '../hosts/index.ts'
import { type BoxRecord, toBox } from './box-record.ts'
import type { BoxTable } from './boxes.tables.ts'

const boxesWithTenant = (db: DbOrTx) =>
  db
    .selectFrom('boxes')
    .innerJoin('tenants', 'tenants.id', 'boxes.tenant_id')
    .selectAll('boxes')
    .select(['tenants.name as tenant_name', 'tenants.chat_domain', 'tenants.plan', 'tenants.time_zone', 'tenants.maintenance_window'])

/** Excludes erased boxes, which are history: their slug is free. */
const isPresent = (where: ExpressionBuilder<{ boxes: BoxTable }, 'boxes'>) =>
  where.or([where('boxes.removal', 'is', null), where('boxes.removal', '<>', 'erased')])

export async function boxById(db: DbOrTx, id: BoxId): Promise<BoxRecord | undefined> {
  const row = await boxesWithTenant(db).where('boxes.id', '=', id).executeTakeFirst()
  return row && toBox(row)
}

/** The box with the slug: the live one, or the newest that is not live yet. */
export async function boxBySlug(db: DbOrTx, slug: string): Promise<BoxRecord | undefined> {
  const row = await boxesWithTenant(db)
    .where('boxes.slug', '=', slug)
    .where(isPresent)
    .orderBy('boxes.live', 'desc')
    .orderBy('boxes.created_at', 'desc')
    .executeTakeFirst()
  return row && toBox(row)
}

/** The same for many, in one query. */
export async function boxesBySlugs(db: DbOrTx, slugs: readonly string[]): Promise<ReadonlyMap<string, BoxRecord>> {
  const rows = await boxesWithTenant(db)
    .where('boxes.slug', 'in', [...slugs])
    .where(isPresent)
    .orderBy('boxes.live')
    .orderBy('boxes.created_at')
    .execute()
  return new Map(rows.map((row) => [row.slug, toBox(row)])) // the last of two with one slug wins
}

/** Throws NOT_FOUND naming the slug. */
export async function existingBox(db: DbOrTx, slug: string): Promise<BoxRecord> {
  const box = await boxBySlug(db, slug)
  if (!box) throw problem('NOT_FOUND', `box ${slug} does not exist. fix: \`tenantry boxes list\``)
  return box
}

/**
 * Reads a box and locks its row until the commit, before a decision that takes a hold on it. Lock order: the box, then its hold.
 * Throws NOT_FOUND.
 */
export async function lockBox(tx: Tx, slug: string): Promise<BoxRecord> {
  const { id } = await existingBox(tx, slug)
  await tx.selectFrom('boxes').select('id').where('id', '=', id).modifyEnd(forNoKeyUpdate(tx)).execute()
  return existingBox(tx, slug)
}

/** The same for a slug or an id. */
export async function existingBoxBy(db: DbOrTx, key: string): Promise<BoxRecord> {
  if (!isBoxId(key)) return existingBox(db, key)
  const row = await boxesWithTenant(db).where('boxes.id', '=', key).where(isPresent).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `box ${key} does not exist. fix: \`tenantry boxes list --json\``)
  return toBox(row)
}

/** All live boxes by slug. */
export const boxesInScope = async (db: DbOrTx): Promise<BoxRecord[]> =>
  (await boxesWithTenant(db).where('boxes.live', '=', 1).orderBy('boxes.slug').execute()).map(toBox)

/** The address of a live box for commands. */
export type BoxAddress = Pick<BoxRecord, 'id' | 'slug' | 'hostId' | 'ownershipEpoch'>

/** `boxesInScope` without reports: at ten thousand boxes these are most of the data. */
export async function addressesInScope(db: DbOrTx): Promise<BoxAddress[]> {
  const query = db.selectFrom('boxes').select(['id', 'slug', 'host_id', 'ownership_epoch']).where('live', '=', 1).orderBy('slug')
  return (await query.execute()).map((row) => ({
    id: row.id as BoxId,
    slug: row.slug,
    hostId: row.host_id as HostId,
    ownershipEpoch: row.ownership_epoch,
  }))
}

/** Validity of reports: those of an offline host, from before `staleBefore` or of a box between hosts count as `unknown`. */
type Trust = Readonly<{ staleBefore: string; silentHosts: readonly HostId[]; betweenHosts: readonly BoxId[] }>

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
  let query = boxesWithTenant(db).where(isPresent).orderBy('boxes.slug').orderBy('boxes.id').limit(limit)
  if (after) query = query.where('boxes.slug', '>', after)
  if (hostId) query = query.where('boxes.host_id', '=', hostId)
  if (tier) query = query.where('tenants.plan', 'in', plansOf(tier))
  if (slugPart) query = query.where(contains('boxes.slug', slugPart))
  if (severity) query = whereSeverity(query, severity, trust)
  return (await query.execute()).map(toBox)
}

/** Boxes that are not removed, by drift as lists show it. */
export async function countBoxesBy(db: DbOrTx, trust: Trust): Promise<FleetSummary> {
  const there = boxesWithTenant(db).where('boxes.removal', 'is', null)
  const count = async (query: BoxQuery) => {
    const row = await query
      .clearSelect()
      .select(({ fn }) => fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    return Number((row as { count: number | string | bigint }).count)
  }
  const [none, minor, major] = [
    await count(whereSeverity(there, 'none', trust)),
    await count(whereSeverity(there, 'minor', trust)),
    await count(whereSeverity(there, 'major', trust)),
  ]
  const boxes = await count(there)
  const drift = { none, minor, major, unknown: boxes - none - minor - major }
  return { boxes, drift, health: await countHealth(db, trust), fenced: await count(there.where('boxes.fence_since', 'is not', null)) }
}

/** Live boxes by health, as lists show it. */
async function countHealth(db: DbOrTx, { staleBefore, silentHosts, betweenHosts }: Trust): Promise<FleetSummary['health']> {
  const known = await db
    .selectFrom('boxes')
    .select(({ fn }) => ['health', fn.countAll().as('count'), fn.count('maintenance_since').as('closed')])
    .where('live', '=', 1)
    .where('health', 'is not', null)
    .where('reported_at', '>=', staleBefore)
    .where('host_id', 'not in', silentHosts.length > 0 ? [...silentHosts] : [''])
    .where('id', 'not in', betweenHosts.length > 0 ? [...betweenHosts] : [''])
    .groupBy('health')
    .execute()
  const { live } = await db
    .selectFrom('boxes')
    .select(({ fn }) => fn.countAll().as('live'))
    .where('live', '=', 1)
    .executeTakeFirstOrThrow()
  const health = { running: 0, degraded: 0, down: 0, maintenance: 0, unknown: Number(live) }
  for (const { health: state, count, closed } of known) {
    if (state === null) continue
    // Maintenance begins before the next report.
    const isOpen = state === 'maintenance' ? 0 : Number(closed)
    health[state] += Number(count) - isOpen
    health.maintenance += isOpen
    health.unknown -= Number(count)
  }
  return health
}

const plansOf = (tier: Tier): Plan[] => Plan.options.filter((plan) => tierOf(plan) === tier)

type BoxQuery = ReturnType<typeof boxesWithTenant>

function whereSeverity(query: BoxQuery, severity: Severity, { staleBefore, silentHosts, betweenHosts }: Trust): BoxQuery {
  const silent = silentHosts.length > 0 ? [...silentHosts] : ['']
  const stopped = betweenHosts.length > 0 ? [...betweenHosts] : ['']
  if (severity !== 'unknown')
    return query
      .where('boxes.drift_severity', '=', severity)
      .where('boxes.reported_at', '>=', staleBefore)
      .where('boxes.host_id', 'not in', silent)
      .where('boxes.removal', 'is', null)
      .where('boxes.id', 'not in', stopped)
  return query.where((where) =>
    where.or([
      where('boxes.drift_severity', '=', 'unknown'),
      where('boxes.reported_at', 'is', null),
      where('boxes.reported_at', '<', staleBefore),
      where('boxes.host_id', 'in', silent),
      where('boxes.removal', 'is not', null),
      where('boxes.id', 'in', stopped),
    ]),
  )
}

/** Live boxes that were fenced at their last report. */
export const fencedBoxes = async (db: DbOrTx): Promise<BoxRecord[]> =>
  (await boxesWithTenant(db).where('boxes.live', '=', 1).where('boxes.fence_since', 'is not', null).orderBy('boxes.slug').execute()).map(
    toBox,
  )

/**
 * First ports of all boxes on a host, including boxes that move there and copies they left. Locks the host until the commit, so that two boxes
 * never get the same ports.
 */
export async function portsTaken(tx: Tx, hostId: HostId): Promise<number[]> {
  await lockHost(tx, hostId)
  const rows = await tx
    .selectFrom('boxes')
    .select('first_port')
    .where('host_id', '=', hostId)
    .where('first_port', 'is not', null)
    .unionAll((q) =>
      q.selectFrom('box_moves').select('to_first_port as first_port').where('to_host_id', '=', hostId).where('to_copy', '=', 1),
    )
    .unionAll((q) =>
      q.selectFrom('box_moves').select('from_first_port as first_port').where('from_host_id', '=', hostId).where('from_copy', '=', 1),
    )
    .execute()
  return rows.flatMap(({ first_port }) => (first_port === null ? [] : [first_port]))
}

export async function insertBox(tx: Tx, row: Insertable<BoxTable>): Promise<void> {
  await tx.insertInto('boxes').values(row).execute()
}

/** Updates a box of the ownership epoch that was read. Throws CONFLICT when it has changed. */
export async function changeBox(tx: Tx, box: Pick<BoxRecord, 'id' | 'slug' | 'ownershipEpoch'>, change: Partial<BoxTable>): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('boxes')
    .set(change)
    .where('id', '=', box.id)
    .where('ownership_epoch', '=', box.ownershipEpoch)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw problem('CONFLICT', `box ${box.slug} was moved meanwhile. fix: check it, then retry`)
}

/** Marks a box live. Returns false when it was removed or moved meanwhile. */
export async function makeLive(tx: Tx, box: Pick<BoxRecord, 'id' | 'ownershipEpoch'>): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('boxes')
    .set({ live: 1 })
    .where('id', '=', box.id)
    .where('ownership_epoch', '=', box.ownershipEpoch)
    .where('removal', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Stores a report. Returns false when a newer one exists or the box was moved meanwhile. */
export async function saveReport(
  tx: Tx,
  box: Pick<BoxRecord, 'id' | 'ownershipEpoch'>,
  { reportedAt, change }: Readonly<{ reportedAt: string; change: Partial<BoxTable> }>,
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
