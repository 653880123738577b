import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, sha256Hex } from '../../core/kit/index.ts'
import { enqueueOutbox, type OutboxHandler, type Tx } from '../db/index.ts'
import type { AlertRow } from './alerts.repo.ts'
import type { AlertsDeps } from './deps.ts'
import { fold, isOneOfMany } from './fold-alerts.ts'

/** The outbox topic of one message to one place. */
export const deliverTopic = 'alerts.deliver'

type Deps = Pick<AlertsDeps, 'db' | 'clock' | 'channels' | 'repeatAfterMs'>

/**
 * An alert that was raised, or happened again, becomes one message per channel; nothing comes of it when it was told a while ago or when
 * somebody is on it. One statement decides, so of two replicas only one makes messages; doing it twice makes none.
 */
export const tellHandler =
  (deps: Deps): OutboxHandler =>
  async (payload) => {
    const { alertId } = payload as { alertId: number }
    const { db, clock, repeatAfterMs } = deps
    await db.transaction().execute(async (tx) => {
      const due = await tx
        .updateTable('alerts')
        .set({ told_at: isoNow(clock), told: sql`told + 1` })
        .where('id', '=', alertId)
        .where(({ or, and, eb }) =>
          or([eb('told_at', 'is', null), and([eb('status', '=', 'open'), eb('told_at', '<=', isoIn(clock, -repeatAfterMs))])]),
        )
        .returningAll()
        .executeTakeFirst()
      if (due) await tell(deps, tx, { ...due, id: Number(due.id) })
    })
  }

/** One by one, until so many of a kind come at once that one message speaks for the others. */
const tell = async (deps: Deps, tx: Tx, alert: AlertRow): Promise<void> =>
  (await isOneOfMany(tx, deps.clock, alert)) ? fold(tx, deps.clock, alert) : makeDeliveries(deps, tx, alert)

type Message = Readonly<{ id: string; channel: string; target: string }>

/** Messages to one place wait for each other, and for no other place. */
export const sendLater = (tx: Tx, clock: Clock, { id, channel, target }: Message): Promise<void> =>
  enqueueOutbox(tx, clock, { topic: deliverTopic, payload: { deliveryId: id }, lane: 'mail', queue: `mail:${channel}:${target}`, key: id })

/** A message per channel that is set now, each with work to send it, in the transaction that counted it as told. */
export async function makeDeliveries({ clock, channels }: Pick<Deps, 'clock' | 'channels'>, tx: Tx, alert: AlertRow): Promise<void> {
  for (const { channel, target } of channels) {
    const id = `msg_${sha256Hex([alert.id, alert.first_at, alert.key, alert.told, channel, target].join(' ')).slice(0, 32)}`
    await tx
      .insertInto('alert_deliveries')
      .values({ id, alert_id: alert.id, channel, target, status: 'pending', attempts: 0, created_at: isoNow(clock) })
      .execute()
    await sendLater(tx, clock, { id, channel, target })
  }
}
