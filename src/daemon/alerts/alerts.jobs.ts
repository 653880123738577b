import { sql } from 'kysely'
import { type AlertMessage, digestMessage, foldedTenant, foldLimit, isNeverFolded, manyAlerts } from '../../core/alerts/index.ts'
import { type Clock, isoIn, isoNow, isProblem, problem } from '../../core/kit/index.ts'
import { type Db, enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { type AlertRow, alertById, deliveryById } from './alerts.repo.ts'
import type { AlertDeliveryTable } from './alerts.tables.ts'
import type { AlertsDeps, Recipient } from './channels.ts'
import { deliverTopic, digestHandler, digestTopic, makeDeliveries, resolveHandler } from './make-deliveries.ts'
import { notifyTopic, raiseAlert, resolveTopic } from './raise-alert.ts'
import { publicAlert } from './read-alerts.ts'

type NotifyDeps = Pick<AlertsDeps, 'db' | 'clock' | 'channels' | 'repeatAfterMs'>

/**
 * Creates one message per channel for an alert that was raised or repeated; none while `repeatAfterMs` runs or after an acknowledgement.
 * One guarded update decides, so two replicas never create messages twice.
 */
const notifyHandler =
  (deps: NotifyDeps): JobHandler =>
  async (payload) => {
    const { alertId } = payload as { alertId: number }
    const { db, clock, repeatAfterMs } = deps
    await db.transaction().execute(async (tx) => {
      const due = await tx
        .updateTable('alerts')
        .set({ notified_at: isoNow(clock), notified: sql`notified + 1` })
        .where('id', '=', alertId)
        .where(({ or, and, eb }) =>
          or([eb('notified_at', 'is', null), and([eb('status', '=', 'open'), eb('notified_at', '<=', isoIn(clock, -repeatAfterMs))])]),
        )
        .returningAll()
        .executeTakeFirst()
      if (due) await notify(deps, tx, { ...due, id: Number(due.id) })
    })
  }

/** Sends each alert by itself until the fold limit of its kind is reached. */
const notify = async (deps: NotifyDeps, tx: Tx, alert: AlertRow): Promise<void> =>
  (await isBeyondFoldLimit(tx, deps.clock, alert)) ? enqueueFold(tx, deps.clock, alert) : makeDeliveries(deps, tx, alert)

/** Job: count an alert in the folded message of its kind, or of its tenant and kind. */
const foldTopic = 'alerts.fold'

/** A thousand boxes that fail at once must not delay every other message. Concurrent replicas may exceed the limit by one each. */
async function isBeyondFoldLimit(tx: Tx, clock: Clock, { id, kind, key, subject }: AlertRow): Promise<boolean> {
  if (isNeverFolded({ kind, key })) return false
  const tenant = foldedTenant({ kind, subject })
  let query = tx
    .selectFrom('alerts')
    .select(tx.fn.countAll().as('count'))
    .where('kind', '=', kind)
    .where('notified_at', '>', isoIn(clock, -foldLimit.withinMs))
    .where('id', '!=', id)
  if (tenant !== undefined) query = query.where(({ eb, or }) => or([eb('subject', '=', tenant), eb('subject', 'like', `${tenant}/%`)]))
  const { count } = await query.executeTakeFirstOrThrow()
  return Number(count) >= foldLimit.count
}

/** A job of its own, because locking a second alert in this transaction could deadlock. */
const enqueueFold = (tx: Tx, clock: Clock, { kind, severity, subject }: AlertRow): Promise<void> =>
  enqueueJob(tx, clock, { topic: foldTopic, payload: { kind, severity, tenant: foldedTenant({ kind, subject }) } })

const foldHandler =
  ({ db, clock }: Pick<AlertsDeps, 'db' | 'clock'>): JobHandler =>
  async (payload) => {
    const alert = manyAlerts(payload as Parameters<typeof manyAlerts>[0])
    await db.transaction().execute(async (tx) => void (await raiseAlert(tx, clock, alert)))
  }

type DeliverDeps = Pick<AlertsDeps, 'db' | 'clock' | 'channels' | 'send'>
type Outgoing = Readonly<{ id: string; to: Recipient; message: AlertMessage; deliveries: readonly Delivery[] }>
type Delivery = Readonly<{ id: string; event: AlertDeliveryTable['event'] }>

/**
 * Sends one message, or one digest, and records the outcome. After a crash in between it is sent again under the same id. After the last failed
 * attempt the message is `dead` and its job completes: the operator resends the message, not the job.
 */
export const deliverHandler =
  (deps: DeliverDeps): JobHandler =>
  async (payload, { last, signal }) => {
    const { deliveryId, digestId } = payload as { deliveryId?: string; digestId?: string }
    const outgoing = deliveryId === undefined ? await digestOf(deps, digestId ?? '') : await singleOf(deps, deliveryId)
    if (!outgoing) return
    try {
      await send(deps, outgoing, signal)
    } catch (error) {
      const isFinal = last && !signal?.aborted
      await recordOutcome(deps, outgoing, { status: isFinal ? 'dead' : 'pending', last_error: reasonOf(error) })
      if (!isFinal) throw problem('UNAVAILABLE', reasonOf(error))
      return
    }
    await recordOutcome(deps, outgoing, { status: 'sent', sent_at: isoNow(deps.clock), last_error: null })
  }

/** Undefined for a message that needs none any more. */
async function singleOf({ db }: DeliverDeps, deliveryId: string): Promise<Outgoing | undefined> {
  const row = await deliveryById(db, deliveryId)
  if (row?.status !== 'pending') return undefined
  const message = publicAlert(await alertById(db, Number(row.alert_id)))
  if (await isSuperseded(db, row, message)) {
    await db.deleteFrom('alert_deliveries').where('id', '=', row.id).where('status', '=', 'pending').execute()
    return undefined
  }
  return { id: row.id, to: row, message, deliveries: [{ id: row.id, event: eventOf(message) }] }
}

const eventOf = ({ closedAt }: Pick<AlertMessage, 'closedAt'>): AlertDeliveryTable['event'] => (closedAt === null ? 'raised' : 'resolved')

/** True if the recipient already has a message that says that the alert is closed: a message that waited until then said so itself. */
async function isSuperseded(db: Db, row: AlertDeliveryTable, message: AlertMessage): Promise<boolean> {
  if (message.closedAt === null) return false
  let said = db
    .selectFrom('alert_deliveries')
    .select('id')
    .where('alert_id', '=', row.alert_id)
    .where('channel', '=', row.channel)
    .where('target', '=', row.target)
    .where('status', '=', 'sent')
    .where('event', '=', 'resolved')
    .where('id', '!=', row.id)
  if (row.event === 'raised') said = said.where('created_at', '>', row.created_at)
  return (await said.limit(1).executeTakeFirst()) !== undefined
}

async function digestOf({ db, clock }: DeliverDeps, digestId: string): Promise<Outgoing | undefined> {
  const rows = await db
    .selectFrom('alert_deliveries')
    .selectAll()
    .where('digest_id', '=', digestId)
    .where('status', '=', 'pending')
    .orderBy('alert_id')
    .execute()
  const [first] = rows
  if (!first) return undefined
  const alerts = new Map<number, AlertMessage>()
  for (const { alert_id } of rows) alerts.set(Number(alert_id), publicAlert(await alertById(db, Number(alert_id))))
  const deliveries = rows.map(({ id, alert_id }) => ({ id, event: eventOf(alerts.get(Number(alert_id)) ?? { closedAt: null }) }))
  return { id: digestId, to: first, message: digestMessage([...alerts.values()], isoNow(clock)), deliveries }
}

async function send({ channels, send }: DeliverDeps, { id, to, message }: Outgoing, signal: AbortSignal | undefined): Promise<void> {
  const channel = channels.find((one) => one.channel === to.channel && one.target === to.target)
  if (!channel) throw problem('UNAVAILABLE', `${to.target} is no longer configured as a recipient`)
  await send(channel, { id, message }, signal)
}

/** Unexpected errors are reduced to their name: their text may contain internals. */
const reasonOf = (error: unknown): string => (isProblem(error) ? error.message : `internal error (${(error as Error).name})`)

type Outcome = Pick<Partial<AlertDeliveryTable>, 'status' | 'last_error' | 'sent_at'>

async function recordOutcome({ db }: DeliverDeps, { deliveries }: Outgoing, outcome: Outcome): Promise<void> {
  await db.transaction().execute(async (tx) => {
    for (const { id, event } of deliveries)
      await tx
        .updateTable('alert_deliveries')
        .set({ ...outcome, ...(outcome.status === 'sent' && { event }), attempts: sql`attempts + 1` })
        .where('id', '=', id)
        .where('status', '=', 'pending')
        .execute()
  })
}

/** The job handlers of this feature, by topic. */
export const alertJobs = (deps: AlertsDeps): Readonly<Record<string, JobHandler>> => ({
  [notifyTopic]: notifyHandler(deps),
  [resolveTopic]: resolveHandler(deps),
  [foldTopic]: foldHandler(deps),
  [digestTopic]: digestHandler(deps),
  [deliverTopic]: deliverHandler(deps),
})
