import { deliveryTime } from '../../core/alerts/index.ts'
import { type Clock, isoNow, isProblem, sha256Hex } from '../../core/kit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { type AlertRow, alertById } from './alerts.repo.ts'
import type { AlertDeliveryTable } from './alerts.tables.ts'
import type { AlertsDeps, Channel, Recipient } from './channels.ts'

/** Job: send one message to one recipient, or one digest. */
export const deliverTopic = 'alerts.deliver'
/** Job: send what one recipient's quiet hours or daily digest held back. */
export const digestTopic = 'alerts.digest'

type Deps = Pick<AlertsDeps, 'clock' | 'channels'>
type Message = Recipient & Readonly<{ id: string }>

/** Messages to one recipient are sent in order; recipients do not wait for each other. */
const enqueue = (tx: Tx, clock: Clock, { id, channel, target, payload }: Message & Readonly<{ payload: object }>): Promise<void> =>
  enqueueJob(tx, clock, { topic: deliverTopic, payload, pool: 'mail', queue: `mail:${channel}:${target}`, key: id })

export const enqueueDelivery = (tx: Tx, clock: Clock, message: Message): Promise<void> =>
  enqueue(tx, clock, { ...message, payload: { deliveryId: message.id } })

const messageId = (...parts: readonly (string | number)[]): string => `msg_${sha256Hex(parts.join(' ')).slice(0, 32)}`

/** Creates one message per channel whose rules take the alert, each with its job, in the caller's transaction. */
export async function makeDeliveries({ clock, channels }: Deps, tx: Tx, alert: AlertRow): Promise<void> {
  const nowMs = clock.now().getTime()
  for (const channel of channels) {
    const dueMs = deliveryTime(channel.rules, alert, nowMs)
    if (dueMs === undefined) continue
    // A held message shows the alert as it is when it is sent, with its count.
    if (dueMs > nowMs && (await hasHeld(tx, alert.id, channel))) continue
    const id = messageId(alert.id, alert.first_at, alert.key, alert.notified, channel.channel, channel.target)
    await insertDelivery(tx, clock, { alert, channel, id, event: 'raised', dueMs })
  }
}

/** Creates one message per channel, without regard to rules: an operator asks for them. They take the place of held ones. */
export async function makeAllDeliveries({ clock, channels }: Deps, tx: Tx, alert: AlertRow): Promise<void> {
  await tx.deleteFrom('alert_deliveries').where('alert_id', '=', alert.id).where('status', '=', 'held').execute()
  for (const channel of channels) {
    const id = messageId(alert.id, alert.first_at, alert.key, alert.notified, channel.channel, channel.target)
    await insertDelivery(tx, clock, { alert, channel, id, event: 'raised', dueMs: clock.now().getTime() })
  }
}

type NewDelivery = Readonly<{ alert: AlertRow; channel: Channel; id: string; event: AlertDeliveryTable['event']; dueMs: number }>

async function insertDelivery(tx: Tx, clock: Clock, { alert, channel: { channel, target }, id, event, dueMs }: NewDelivery): Promise<void> {
  const heldUntil = dueMs > clock.now().getTime() ? new Date(dueMs).toISOString() : null
  const status = heldUntil === null ? 'pending' : 'held'
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('alert_deliveries')
    .values({ id, alert_id: alert.id, channel, target, status, attempts: 0, created_at: isoNow(clock), event, held_until: heldUntil })
    .onConflict((c) => c.column('id').doNothing())
    .executeTakeFirstOrThrow()
  if (Number(numInsertedOrUpdatedRows ?? 0) === 0) return
  if (heldUntil === null) return enqueueDelivery(tx, clock, { id, channel, target })
  const key = `${channel}:${target}:${heldUntil}`
  await enqueueJob(tx, clock, { topic: digestTopic, payload: { channel, target }, key, runAt: heldUntil })
}

async function hasHeld(tx: Tx, alertId: number, { channel, target }: Recipient): Promise<boolean> {
  const held = tx.selectFrom('alert_deliveries').select('id').where('alert_id', '=', alertId).where('status', '=', 'held')
  return (await held.where('channel', '=', channel).where('target', '=', target).executeTakeFirst()) !== undefined
}

/** Creates the messages of a closed alert, to those recipients that were notified of it. A held message will say itself that the alert is closed. */
export const resolveHandler =
  ({ db, clock, channels }: Pick<AlertsDeps, 'db' | 'clock' | 'channels'>): JobHandler =>
  async (payload) => {
    const { alertId } = payload as { alertId: number }
    await db.transaction().execute(async (tx) => {
      const alert = await alertIfThere(tx, alertId)
      if (!alert || alert.closed_at === null) return
      const made = await tx.selectFrom('alert_deliveries').select(['channel', 'target', 'status']).where('alert_id', '=', alertId).execute()
      const nowMs = clock.now().getTime()
      for (const channel of channels) {
        const of = made.filter((one) => one.channel === channel.channel && one.target === channel.target)
        const isNotified = of.some(({ status }) => status === 'sent' || status === 'pending')
        if (!isNotified || of.some(({ status }) => status === 'held')) continue
        const id = messageId(alert.id, alert.first_at, alert.key, 'resolved', channel.channel, channel.target)
        const dueMs = deliveryTime(channel.rules, alert, nowMs) ?? nowMs
        await insertDelivery(tx, clock, { alert, channel, id, event: 'resolved', dueMs })
      }
    })
  }

const alertIfThere = (tx: Tx, id: number): Promise<AlertRow | undefined> =>
  alertById(tx, id).catch((error) => {
    if (isProblem(error, 'NOT_FOUND')) return undefined
    throw error
  })

/** Forms for programs, which take one alert per message. */
const neverDigested: readonly string[] = ['webhook', 'pagerduty']

/** Releases the held messages of a recipient that are due: several as one digest, one as itself. One guarded update decides. */
export const digestHandler =
  ({ db, clock }: Pick<AlertsDeps, 'db' | 'clock'>): JobHandler =>
  async (payload) => {
    const { channel, target } = payload as Recipient
    const digestId = messageId('digest', channel, target, isoNow(clock))
    await db.transaction().execute(async (tx) => {
      const released = await tx
        .updateTable('alert_deliveries')
        .set({ status: 'pending', held_until: null, digest_id: neverDigested.includes(channel) ? null : digestId })
        .where('channel', '=', channel)
        .where('target', '=', target)
        .where('status', '=', 'held')
        .where('held_until', '<=', isoNow(clock))
        .returning('id')
        .execute()
      if (released.length > 1 && !neverDigested.includes(channel))
        return enqueue(tx, clock, { id: digestId, channel, target, payload: { digestId } })
      await tx.updateTable('alert_deliveries').set({ digest_id: null }).where('digest_id', '=', digestId).execute()
      for (const { id } of released) await enqueueDelivery(tx, clock, { id, channel, target })
    })
  }
