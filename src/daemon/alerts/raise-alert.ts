import { sql } from 'kysely'
import type { NewAlert } from '../../core/alerts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { appendEvent, enqueueOutbox, type Tx } from '../db/index.ts'

/** The outbox topic on which an alert that was raised becomes messages. */
export const tellTopic = 'alerts.tell'

/**
 * Raises an alert in the transaction of what happened: neither exists without the other. While one of the same key is open it is only
 * counted. Whom it is sent to is decided by whichever replica works off the outbox. Answers the alert's number.
 * Call it before `recordAudit`: the counters of streams are locked before the heads of chains.
 */
export async function raiseAlert(tx: Tx, clock: Clock, { standing = false, ...alert }: NewAlert): Promise<number> {
  const at = isoNow(clock)
  const { kind, key, subject, severity, title, body, command } = alert
  const told = { severity, title, body, command }
  const { id, count } = await tx
    .insertInto('alerts')
    .values({
      ...told,
      kind,
      key,
      open_key: key,
      subject,
      status: 'open',
      standing: standing ? 1 : 0,
      count: 1,
      first_at: at,
      last_at: at,
      told: 0,
    })
    .onConflict((c) => c.column('open_key').doUpdateSet({ ...told, last_at: at, count: sql`alerts.count + 1` }))
    .returning(['id', 'count'])
    .executeTakeFirstOrThrow()
  await enqueueOutbox(tx, clock, { topic: tellTopic, payload: { alertId: Number(id) }, key: String(id) })
  const payload = { alertId: Number(id), kind, subject, severity, title, count }
  await appendEvent(tx, clock, { stream: 'admin', source: 'alerts', eventType: 'alert.raised', payload })
  return Number(id)
}
