import type { AlertKind } from '../../core/alerts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { appendEvent, type Tx } from '../db/index.ts'

type Over = Readonly<{
  /** What the alerts are about; of any kind unless `kinds` says which. */
  subject: string
  kinds?: readonly AlertKind[]
  /** What the daemon saw: "the rollout was resumed". */
  because: string
}>

/** What they warned of is over, and the daemon knows: nobody need close them. Messages that wait are sent all the same and say so. */
export async function closeAlerts(tx: Tx, clock: Clock, { subject, kinds, because }: Over): Promise<void> {
  let update = tx
    .updateTable('alerts')
    .set({ status: 'closed', open_key: null, closed_at: isoNow(clock), closed_because: because })
    .where('subject', '=', subject)
    .where('status', 'in', ['open', 'acknowledged'])
  if (kinds) update = update.where('kind', 'in', kinds)
  const closed = (await update.returning('id').execute()).map(({ id }) => Number(id))
  if (closed.length === 0) return
  const payload = { alertIds: closed, subject, because }
  await appendEvent(tx, clock, { stream: 'admin', source: 'alerts', eventType: 'alert.closed', payload })
}
