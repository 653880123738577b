import {
  type Alert,
  type AlertDetail,
  type AlertKind,
  type AlertStatus,
  type DeadLetter,
  deliveryTime,
  foldedTenant,
  manyAlerts,
} from '../../core/alerts/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { type AlertRow, alertById, countDeliveries, deadLetters, deliveriesOf, pageOfAlerts } from './alerts.repo.ts'
import type { AlertsDeps } from './channels.ts'

type ShowDeps = Pick<AlertsDeps, 'channels'> & Readonly<{ db: DbOrTx }>

/** An alert with its messages. Throws NOT_FOUND. */
export async function showAlert({ db, channels }: ShowDeps, { id }: { id: number }): Promise<AlertDetail> {
  const row = await alertById(db, id)
  const [alert] = await describeAlerts(db, [row])
  const deliveries = await deliveriesOf(db, id)
  const isSent = channels.some(({ rules }) => deliveryTime(rules, row, 0) !== undefined)
  const summaryId = deliveries.length === 0 ? await summaryOf(db, row) : undefined
  return { alert: alert as Alert, deliveries, hasChannels: isSent, ...(summaryId !== undefined && { summaryId }) }
}

/** The folded alert that was raised since an alert without messages. */
async function summaryOf(db: DbOrTx, { id, kind, subject, severity, first_at }: AlertRow): Promise<number | undefined> {
  const { key } = manyAlerts({ kind, severity, tenant: foldedTenant({ kind, subject }) })
  const found = await db
    .selectFrom('alerts')
    .select('id')
    .where('kind', '=', kind)
    .where('key', '=', key)
    .where('last_at', '>=', first_at)
    .where('id', '!=', id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found && Number(found.id)
}

async function describeAlerts(db: DbOrTx, rows: readonly AlertRow[]): Promise<Alert[]> {
  const countsOf = await countDeliveries(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => ({ ...publicAlert(row), deliveries: countsOf(row.id) }))
}

/** Converts a row to its form on the wire. */
export const publicAlert = (row: AlertRow): Omit<Alert, 'deliveries'> => ({
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

type Query = Readonly<{
  limit: number
  cursor?: string | undefined
  status?: AlertStatus | undefined
  kind?: AlertKind | undefined
  subject?: string | undefined
}>

const maxDeadLetters = 50

/** A page of alerts, and the newest dead jobs of any feature. */
export async function listAlerts(
  { db }: { db: Db },
  { cursor, limit, ...filter }: Query,
): Promise<{ alerts: Alert[]; nextCursor: string | null; deadLetters: DeadLetter[] }> {
  const before = cursor === undefined ? undefined : readCursor(cursor)
  const found = await pageOfAlerts(db, { ...filter, limit: limit + 1, before })
  const { page, nextCursor } = pageOf(found, limit, ({ last_at, id }) => `${last_at}_${id}`)
  return {
    alerts: await describeAlerts(db, page),
    nextCursor,
    deadLetters: await deadLetters(db, maxDeadLetters),
  }
}

function readCursor(cursor: string): { lastAt: string; id: number } {
  const [, lastAt, id] = /^([0-9TZ:.-]+)_([0-9]{1,10})$/.exec(cursor) ?? []
  if (lastAt && id) return { lastAt, id: Number(id) }
  throw problem('VALIDATION', 'cursor: must be the nextCursor of the previous page', {
    details: [{ path: 'cursor', reason: 'must be the nextCursor of the previous page' }],
  })
}
