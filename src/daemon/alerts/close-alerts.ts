import type { AlertKind } from '../../core/alerts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { appendEvent, prepared, preparedFor, type Tx } from '../db/index.ts'

type Over = Readonly<{
  /** What the alerts are about; of any kind unless `kinds` says which. */
  subject: string
  kinds?: readonly AlertKind[]
  /** What the daemon saw: "the rollout was resumed". */
  because: string
}>

/** What they warned of is over, and the daemon knows: nobody need close them. Messages that wait are sent all the same and say so. */
export async function closeAlerts(tx: Tx, clock: Clock, { subject, kinds, because }: Over): Promise<void> {
  const { rows } = await close(kinds?.join() ?? 'all')(tx, { subject, at: isoNow(clock), because })
  const closed = rows.map(({ id }) => Number(id))
  if (closed.length === 0) return
  const payload = { alertIds: closed, subject, because }
  await appendEvent(tx, clock, { stream: 'admin', source: 'alerts', eventType: 'alert.closed', payload })
}

type Closing = Readonly<{ subject: string; at: string; because: string }>

/** By the kinds: every update of a box that went well asks for the same few. */
const close = preparedFor((kinds: string) =>
  prepared<Closing, { id: number }>((db, place) => {
    const update = db
      .updateTable('alerts')
      .set({ status: 'closed', open_key: null, closed_at: place('at'), closed_because: place('because') })
      .where('subject', '=', place('subject'))
      .where('status', 'in', ['open', 'acknowledged'])
    const narrowed = kinds === 'all' ? update : update.where('kind', 'in', kinds.split(',') as AlertKind[])
    return narrowed.returning('id')
  }),
)
