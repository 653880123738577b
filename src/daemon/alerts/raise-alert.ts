import { sql } from 'kysely'
import { alertKey, alertKinds, type NewAlert } from '../../core/alerts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { appendEvent, enqueueJob, type Tx } from '../db/index.ts'

/** Job: create the messages of an alert. */
export const notifyTopic = 'alerts.tell'
/** Job: create the messages of an alert that was closed. */
export const resolveTopic = 'alerts.resolve'

/**
 * Raises an alert in the transaction of its cause. While an alert with the same key is open, its count is incremented instead.
 * Returns the alert's id. Call it before `recordAudit`: stream counters are locked before audit chain heads.
 */
export async function raiseAlert(tx: Tx, clock: Clock, alert: NewAlert): Promise<number> {
  const at = isoNow(clock)
  const { kind, subject, title, body, command, standing = false } = alert
  const { key = alertKey(kind, subject), severity = alertKinds[kind].severity } = alert
  const text = { severity, title, body, command }
  const { id, count } = await tx
    .insertInto('alerts')
    .values({
      ...text,
      kind,
      key,
      open_key: key,
      subject,
      status: 'open',
      standing: standing ? 1 : 0,
      count: 1,
      first_at: at,
      last_at: at,
      notified: 0,
    })
    .onConflict((c) => c.column('open_key').doUpdateSet({ ...text, last_at: at, count: sql`alerts.count + 1` }))
    .returning(['id', 'count'])
    .executeTakeFirstOrThrow()
  await enqueueJob(tx, clock, { topic: notifyTopic, payload: { alertId: Number(id) }, key: String(id) })
  const payload = { alertId: Number(id), kind, subject, severity, title, count }
  await appendEvent(tx, clock, { stream: 'admin', source: 'alerts', eventType: 'alert.raised', payload })
  return Number(id)
}
