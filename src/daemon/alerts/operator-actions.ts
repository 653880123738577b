import { sql } from 'kysely'
import { type AlertDetail, type AlertMessage, type TriedChannel, testMessage } from '../../core/alerts/index.ts'
import { type Actor, actorLabel, isoNow, isProblem, newId, problem, type Random } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Tx } from '../db/index.ts'
import { type AlertRow, lockAlert } from './alerts.repo.ts'
import { type AlertsDeps, type Channel, noChannels } from './channels.ts'
import { deliverTopic, enqueueDelivery, makeAllDeliveries } from './make-deliveries.ts'
import { showAlert } from './read-alerts.ts'

/**
 * Acknowledges an alert; idempotent. A standing alert stays quiet until it was resolved once, any other kind is raised again by its next occurrence.
 * Throws NOT_FOUND, and CONFLICT for a closed alert.
 */
export const acknowledgeAlert = (
  { db, clock, channels }: Pick<AlertsDeps, 'db' | 'clock' | 'channels'>,
  actor: Actor,
  { id }: { id: number },
): Promise<AlertDetail> =>
  db.transaction().execute(async (tx) => {
    const alert = await lockAlert(tx, id)
    if (alert.status === 'closed') throw problem('CONFLICT', `alert ${id} is closed: ${alert.closed_because ?? 'no reason recorded'}`)
    if (alert.status === 'open') {
      await tx
        .updateTable('alerts')
        .set({
          status: 'acknowledged',
          acknowledged_at: isoNow(clock),
          acknowledged_by: actorLabel(actor),
          open_key: alert.standing ? sql`open_key` : null,
        })
        .where('id', '=', id)
        .execute()
      await recordAudit(tx, clock, {
        actor,
        action: 'alert.acknowledged',
        subject: String(id),
        data: { kind: alert.kind, about: alert.subject },
      })
    }
    return showAlert({ db: tx, channels }, { id })
  })

type ResendDeps = Pick<AlertsDeps, 'db' | 'clock' | 'channels'>
type ResendInput = Readonly<{ id: number; which: 'dead' | 'all' }>

/**
 * `dead`: retries failed messages under their ids. `all`: new messages to every configured recipient.
 * Throws NOT_FOUND, CONFLICT when no message is dead, CONFIG when there are no recipients.
 */
export const resendAlert = (deps: ResendDeps, actor: Actor, { id, which }: ResendInput): Promise<AlertDetail> =>
  deps.db.transaction().execute(async (tx) => {
    const alert = await lockAlert(tx, id)
    await (which === 'dead' ? retryDead(deps, tx, alert) : notifyAgain(deps, tx, alert))
    await recordAudit(tx, deps.clock, { actor, action: 'alert.resent', subject: String(id), data: { which, kind: alert.kind } })
    return showAlert({ ...deps, db: tx }, { id })
  })

async function retryDead({ clock }: ResendDeps, tx: Tx, { id }: AlertRow): Promise<void> {
  // A process that dies at each attempt leaves the message pending when its job is abandoned.
  const abandoned = tx
    .selectFrom('jobs')
    .select('key')
    .where('topic', '=', deliverTopic)
    .where('status', '=', 'dead')
    .$castTo<{ key: string }>()
  const retried = await tx
    .updateTable('alert_deliveries')
    .set({ status: 'pending', attempts: 0, digest_id: null })
    .where('alert_id', '=', id)
    .where((eb) =>
      eb.or([
        eb('status', '=', 'dead'),
        eb.and([eb('status', '=', 'pending'), eb.or([eb('id', 'in', abandoned), eb('digest_id', 'in', abandoned)])]),
      ]),
    )
    .returning(['id', 'channel', 'target'])
    .execute()
  if (retried.length === 0) throw problem('CONFLICT', `alert ${id} has no dead message. fix: tenantry alerts resend ${id} --all`)
  // The new jobs do the work of the abandoned ones.
  const keys = retried.map((message) => message.id)
  await tx.deleteFrom('jobs').where('topic', '=', deliverTopic).where('status', '=', 'dead').where('key', 'in', keys).execute()
  for (const message of retried) await enqueueDelivery(tx, clock, message)
}

async function notifyAgain(deps: ResendDeps, tx: Tx, alert: AlertRow): Promise<void> {
  if (deps.channels.length === 0) throw noChannels()
  const sentCount = alert.notified + 1
  await tx
    .updateTable('alerts')
    .set({ notified: sql`notified + 1`, notified_at: isoNow(deps.clock) })
    .where('id', '=', alert.id)
    .execute()
  await makeAllDeliveries(deps, tx, { ...alert, notified: sentCount })
}

type TestDeps = Pick<AlertsDeps, 'db' | 'clock' | 'channels' | 'send'> & Readonly<{ random: Random }>
type TestInput = Readonly<{ channel?: string | undefined; signal?: AbortSignal }>

/**
 * Sends a test message to every recipient, or to those of one channel, and returns each result; failures are not retried.
 * Throws CONFIG without channels, and NOT_FOUND for an unknown one.
 */
export async function testAlerts(deps: TestDeps, actor: Actor, { channel, signal }: TestInput): Promise<{ tried: TriedChannel[] }> {
  const { db, clock } = deps
  if (deps.channels.length === 0) throw noChannels()
  const chosen = deps.channels.filter((one) => channel === undefined || one.name === channel)
  if (chosen.length === 0) throw problem('NOT_FOUND', `channel ${channel} is not configured. fix: tenantry alerts channels`)
  const message = testMessage(actorLabel(actor), isoNow(clock))
  const tried = await Promise.all(chosen.map((one) => tryOne(deps, { to: one, message }, signal)))
  const data = { tried: tried.map(({ channel, target, ok }) => ({ channel, target, ok })) }
  await db.transaction().execute((tx) => recordAudit(tx, clock, { actor, action: 'alerts.tested', data }))
  return { tried }
}

async function tryOne(
  { send, random }: TestDeps,
  { to, message }: Readonly<{ to: Channel; message: AlertMessage }>,
  signal: AbortSignal | undefined,
): Promise<TriedChannel> {
  const { channel, target } = to
  try {
    return { channel, target, ok: true, says: await send(to, { id: newId(random, 'test'), message }, signal) }
  } catch (error) {
    if (!isProblem(error)) throw error
    return { channel, target, ok: false, says: error.message }
  }
}
