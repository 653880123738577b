import { sql } from 'kysely'
import {
  type Alert,
  type AlertDelivery,
  type AlertKind,
  type AlertStatus,
  alertKey,
  type DeadLetter,
  type DeliveryStatus,
} from '../../core/alerts/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { AlertDeliveryTable, AlertTable } from './alerts.tables.ts'

export type AlertRow = Omit<AlertTable, 'id'> & { id: number }

/** Throws NOT_FOUND. */
export async function alertById(db: DbOrTx, id: number): Promise<AlertRow> {
  const row = await db.selectFrom('alerts').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `alert ${id} does not exist. fix: tenantry alerts list`)
  return { ...row, id: Number(row.id) }
}

/** Locks the row until the transaction ends; a no-op update locks in both dialects. */
export async function lockAlert(tx: Tx, id: number): Promise<AlertRow> {
  await tx.updateTable('alerts').set({ notified: sql`notified` }).where('id', '=', id).execute()
  return alertById(tx, id)
}

/** True if an alert with this key was ever raised, closed ones included, within retention. */
export async function wasRaised(db: DbOrTx, key: string): Promise<boolean> {
  return (await db.selectFrom('alerts').select('id').where('key', '=', key).limit(1).executeTakeFirst()) !== undefined
}

/** The same for any alert of a kind about a subject. */
export async function wasRaisedAbout(db: DbOrTx, kind: AlertKind, subject: string): Promise<boolean> {
  const row = await db.selectFrom('alerts').select('id').where('subject', '=', subject).where('kind', '=', kind).limit(1).executeTakeFirst()
  return row !== undefined
}

/** The keys of the alerts of a kind that are not closed, by subject. */
export async function openKeysOf(db: DbOrTx, kind: AlertKind): Promise<readonly Readonly<{ subject: string; key: string }>[]> {
  const rows = await db
    .selectFrom('alerts')
    .select(['open_key', 'subject'])
    .where('kind', '=', kind)
    .where('open_key', 'is not', null)
    .execute()
  return rows.map(({ subject, open_key }) => ({ subject, key: open_key ?? '' }))
}

/** Invoices and subscriptions of a tenant whose payment failed and was not made since, by their alerts. */
export async function openPaymentFailures(db: DbOrTx, slug: string): Promise<string[]> {
  const rows = await db
    .selectFrom('alerts')
    .select('key')
    .where('subject', '=', slug)
    .where('status', 'in', ['open', 'acknowledged'])
    .where('kind', '=', 'payment_failed')
    .execute()
  return rows.map(({ key }) => key.slice(alertKey('payment_failed', '').length))
}

export async function deliveryById(db: DbOrTx, id: string): Promise<AlertDeliveryTable | undefined> {
  return db.selectFrom('alert_deliveries').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function deliveriesOf(db: DbOrTx, alertId: number): Promise<AlertDelivery[]> {
  const rows = await db
    .selectFrom('alert_deliveries')
    .selectAll()
    .where('alert_id', '=', alertId)
    .orderBy('created_at')
    .orderBy('channel')
    .orderBy('target')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    channel: row.channel,
    target: row.target,
    status: row.status,
    attempts: row.attempts,
    lastError: row.last_error,
    createdAt: row.created_at,
    sentAt: row.sent_at,
  }))
}

type Filter = Readonly<{ status?: AlertStatus | undefined; kind?: AlertKind | undefined; subject?: string | undefined }>
type Page = Filter & Readonly<{ limit: number; before?: Readonly<{ lastAt: string; id: number }> | undefined }>

/** Latest occurrence first. */
export async function pageOfAlerts(db: DbOrTx, { status, kind, subject, limit, before }: Page): Promise<AlertRow[]> {
  let query = db.selectFrom('alerts').selectAll().orderBy('last_at', 'desc').orderBy('id', 'desc').limit(limit)
  if (status) query = query.where('status', '=', status)
  if (kind) query = query.where('kind', '=', kind)
  if (subject) query = query.where('subject', '=', subject)
  if (before)
    query = query.where(({ or, and, eb }) =>
      or([eb('last_at', '<', before.lastAt), and([eb('last_at', '=', before.lastAt), eb('id', '<', before.id)])]),
    )
  return (await query.execute()).map((row) => ({ ...row, id: Number(row.id) }))
}

type Counts = Alert['deliveries']

export async function countDeliveries(db: DbOrTx, alertIds: readonly number[]): Promise<(alertId: number) => Counts> {
  const rows = await db
    .selectFrom('alert_deliveries')
    .select(['alert_id', 'status', db.fn.countAll().as('count')])
    .where('alert_id', 'in', alertIds.length > 0 ? alertIds : [0])
    .groupBy(['alert_id', 'status'])
    .execute()
  return (alertId) => {
    const of = (status: DeliveryStatus) => Number(rows.find((row) => Number(row.alert_id) === alertId && row.status === status)?.count ?? 0)
    return { pending: of('pending') + of('held'), sent: of('sent'), dead: of('dead') }
  }
}

/** Jobs of any feature that failed on their last attempt, newest first. */
export async function deadLetters(db: DbOrTx, limit: number): Promise<DeadLetter[]> {
  const rows = await db
    .selectFrom('jobs')
    .select(['id', 'topic', 'attempts', 'last_error', 'created_at'])
    .where('status', '=', 'dead')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    id: Number(row.id),
    topic: row.topic,
    attempts: row.attempts,
    lastError: row.last_error,
    createdAt: row.created_at,
  }))
}
