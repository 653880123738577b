import type { Alert, AlertDetail } from '../../core/alerts/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { type AlertRow, alertById, countDeliveries, deliveriesOf } from './alerts.repo.ts'

/** An alert with every message of it. Throws NOT_FOUND. */
export async function showAlert({ db }: { db: DbOrTx }, { id }: { id: number }): Promise<AlertDetail> {
  const [alert] = await describeAlerts(db, [await alertById(db, id)])
  return { alert: alert as Alert, deliveries: await deliveriesOf(db, id) }
}

export async function describeAlerts(db: DbOrTx, rows: readonly AlertRow[]): Promise<Alert[]> {
  const countsOf = await countDeliveries(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({ ...plain(row), deliveries: countsOf(row.id) }))
}

/** Without what only the daemon needs. */
export const plain = (row: AlertRow): Omit<Alert, 'deliveries'> => ({
  id: row.id,
  kind: row.kind,
  key: row.key,
  subject: row.subject,
  severity: row.severity,
  status: row.status,
  title: row.title,
  body: row.body,
  command: row.command,
  count: row.count,
  firstAt: row.first_at,
  lastAt: row.last_at,
  acknowledgedAt: row.acknowledged_at,
  acknowledgedBy: row.acknowledged_by,
  closedAt: row.closed_at,
  closedBecause: row.closed_because,
})
