import { type Selectable, sql } from 'kysely'
import type { Maintenance, PlannedMaintenance } from '../../core/maintenance/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { MaintenanceNoticeTable } from './maintenance.tables.ts'

export type Notice = Selectable<MaintenanceNoticeTable>

const plannedView = (row: Notice): PlannedMaintenance => ({
  ...{ maintenanceId: row.id, startsAt: row.starts_at, endsBy: row.ends_by },
  ...{ expectedDowntimeMs: Number(row.expected_downtime_ms), isMeasured: row.measured === 1 },
})

export const noticeView = (row: Notice): Maintenance => ({
  ...plannedView(row),
  ...{ status: row.status, isEmergency: row.emergency === 1, announcedAt: row.announced_at, endedAt: row.ended_at },
  downtimeMs: row.downtime_ms === null ? null : Number(row.downtime_ms),
})

const maxShown = 20

/** Planned ones first, by their time; then the newest. */
export async function noticesOfTenant(db: DbOrTx, tenantId: string): Promise<Notice[]> {
  const rows = await db
    .selectFrom('maintenance_notices')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('announced_at', 'desc')
    .orderBy('id')
    .limit(maxShown)
    .execute()
  const planned = rows.filter(({ status }) => status === 'planned')
  return [...planned.toSorted(byTime), ...rows.filter(({ status }) => status !== 'planned')]
}

/** One that was put off comes last. */
const byTime = ({ starts_at: a }: Notice, { starts_at: b }: Notice): number => (a === b ? 0 : a === null ? 1 : b === null || a < b ? -1 : 1)

export async function nextMaintenance(db: DbOrTx, tenantId: string): Promise<PlannedMaintenance | null> {
  const [first] = await noticesOfTenant(db, tenantId)
  return first?.status === 'planned' ? plannedView(first) : null
}

export const noticeById = (db: DbOrTx, id: string): Promise<Notice | undefined> =>
  db.selectFrom('maintenance_notices').selectAll().where('id', '=', id).executeTakeFirst()

/** The status is written out: SQLite would not use the index of planned ones for a parameter. */
export const plannedNotices = (db: DbOrTx): Promise<Notice[]> =>
  db.selectFrom('maintenance_notices').selectAll().where('status', '=', sql.lit('planned')).orderBy('id').execute()

const idsPerQuery = 500

/** Notices of these actions, by action. */
export async function noticesByAction(db: DbOrTx, actionIds: readonly string[]): Promise<ReadonlyMap<string, Notice>> {
  const found = new Map<string, Notice>()
  for (let from = 0; from < actionIds.length; from += idsPerQuery) {
    const some = actionIds.slice(from, from + idsPerQuery)
    const rows = await db.selectFrom('maintenance_notices').selectAll().where('action_id', 'in', some).execute()
    for (const row of rows) found.set(row.action_id, row)
  }
  return found
}

/** False where the box of this rollout was announced before. */
export async function insertNotice(tx: Tx, notice: Notice): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('maintenance_notices')
    .values(notice)
    .onConflict((c) => c.column('action_id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n
}

type Changes = Partial<Pick<Notice, 'status' | 'starts_at' | 'ends_by' | 'downtime_ms' | 'ended_at'>>

/** False where its status changed since it was read. */
export async function changeNotice(tx: Tx, { id, status }: Pick<Notice, 'id' | 'status'>, changes: Changes): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('maintenance_notices')
    .set(changes)
    .where('id', '=', id)
    .where('status', '=', status)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
