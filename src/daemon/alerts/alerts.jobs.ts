import { sql } from 'kysely'
import { foldedTenant, foldLimit, isNeverFolded, manyAlerts } from '../../core/alerts/index.ts'
import { type Clock, isoIn, isoNow, isProblem, problem, sha256Hex } from '../../core/kit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { type AlertRow, alertById, deliveryById } from './alerts.repo.ts'
import type { AlertDeliveryTable } from './alerts.tables.ts'
import type { AlertsDeps } from './channels.ts'
import { notifyTopic, raiseAlert } from './raise-alert.ts'
import { publicAlert } from './read-alerts.ts'

/** Job: send one message to one recipient. */
export const deliverTopic = 'alerts.deliver'

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

type Message = Readonly<{ id: string; channel: string; target: string }>

/** Messages to one recipient are sent in order; recipients do not wait for each other. */
export const enqueueDelivery = (tx: Tx, clock: Clock, { id, channel, target }: Message): Promise<void> =>
  enqueueJob(tx, clock, { topic: deliverTopic, payload: { deliveryId: id }, pool: 'mail', queue: `mail:${channel}:${target}`, key: id })

/** Creates one message per configured channel, each with its job, in the caller's transaction. */
export async function makeDeliveries({ clock, channels }: Pick<NotifyDeps, 'clock' | 'channels'>, tx: Tx, alert: AlertRow): Promise<void> {
  for (const { channel, target } of channels) {
    const id = `msg_${sha256Hex([alert.id, alert.first_at, alert.key, alert.notified, channel, target].join(' ')).slice(0, 32)}`
    await tx
      .insertInto('alert_deliveries')
      .values({ id, alert_id: alert.id, channel, target, status: 'pending', attempts: 0, created_at: isoNow(clock) })
      .execute()
    await enqueueDelivery(tx, clock, { id, channel, target })
  }
}

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

/**
 * Sends one message and records the outcome. After a crash in between it is sent again under the same id. After the last failed attempt
 * the message is `dead` and its job completes: the operator resends the message, not the job.
 */
export const deliverHandler =
  (deps: DeliverDeps): JobHandler =>
  async (payload, { last, signal }) => {
    const { deliveryId } = payload as { deliveryId: string }
    const delivery = await deliveryById(deps.db, deliveryId)
    if (delivery?.status !== 'pending') return
    try {
      await send(deps, delivery, signal)
    } catch (error) {
      const isFinal = last && !signal?.aborted
      await recordOutcome(deps, deliveryId, { status: isFinal ? 'dead' : 'pending', last_error: reasonOf(error) })
      if (!isFinal) throw problem('UNAVAILABLE', reasonOf(error))
      return
    }
    await recordOutcome(deps, deliveryId, { status: 'sent', sent_at: isoNow(deps.clock), last_error: null })
  }

async function send({ db, channels, send }: DeliverDeps, delivery: AlertDeliveryTable, signal: AbortSignal | undefined): Promise<void> {
  const channel = channels.find((one) => one.channel === delivery.channel && one.target === delivery.target)
  if (!channel) throw problem('UNAVAILABLE', `${delivery.target} is no longer configured as a recipient`)
  await send(channel, { id: delivery.id, message: publicAlert(await alertById(db, Number(delivery.alert_id))) }, signal)
}

/** Unexpected errors are reduced to their name: their text may contain internals. */
const reasonOf = (error: unknown): string => (isProblem(error) ? error.message : `internal error (${(error as Error).name})`)

async function recordOutcome({ db }: DeliverDeps, id: string, set: Partial<AlertDeliveryTable>): Promise<void> {
  await db
    .updateTable('alert_deliveries')
    .set({ ...set, attempts: sql`attempts + 1` })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .execute()
}

/** The job handlers of this feature, by topic. */
export const alertJobs = (deps: AlertsDeps): Readonly<Record<string, JobHandler>> => ({
  [notifyTopic]: notifyHandler(deps),
  [foldTopic]: foldHandler(deps),
  [deliverTopic]: deliverHandler(deps),
})
