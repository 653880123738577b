import type { AlertKind } from '../../core/alerts/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { appendEvent, preparedFor, preparedRows, type Tx } from '../db/index.ts'

export type Over = Readonly<{
  /** What the alerts are about; of any kind unless `kinds` says which. */
  subject: string
  kinds?: readonly AlertKind[]
  /** What the daemon saw: "the rollout was resumed". */
  because: string
}>

/** What they warned of is over, and the daemon knows: nobody need close them. Messages that wait are sent all the same and say so. */
export const closeAlerts = (tx: Tx, clock: Clock, over: Over): Promise<void> => closeAlertsOf(tx, clock, [over])

/** The same of several, each subject once: those that are over for the same reason by one statement. */
export async function closeAlertsOf(tx: Tx, clock: Clock, all: readonly Over[]): Promise<void> {
  const alike = new Map<string, Over[]>()
  for (const over of all) {
    const reason = `${over.kinds?.join() ?? 'all'} ${over.because}`
    alike.set(reason, [...(alike.get(reason) ?? []), over])
  }
  for (const some of alike.values()) await closeAlike(tx, clock, some)
}

async function closeAlike(tx: Tx, clock: Clock, over: readonly Over[]): Promise<void> {
  const { kinds, because } = over[0] as Over
  const at = isoNow(clock)
  const rows = await close(kinds?.join() ?? 'all')(
    tx,
    over.map(({ subject }) => ({ subject, at, because })),
  )
  for (const subject of new Set(rows.map((row) => row.subject))) {
    const alertIds = rows.filter((row) => row.subject === subject).map(({ id }) => Number(id))
    const payload = { alertIds, subject, because }
    await appendEvent(tx, clock, { stream: 'admin', source: 'alerts', eventType: 'alert.closed', payload })
  }
}

type Closing = Readonly<{ subject: string; at: string; because: string }>

/** By the kinds: every update of a box that went well asks for the same few. */
const close = preparedFor((kinds: string) =>
  preparedRows<Closing, { id: number; subject: string }>(['subject', 'at', 'because'], (db, rows) => {
    const update = db
      .updateTable('alerts')
      .set({ status: 'closed', open_key: null, closed_at: rows[0]?.at, closed_because: rows[0]?.because })
      .where(
        'subject',
        'in',
        rows.map(({ subject }) => subject),
      )
      .where('status', 'in', ['open', 'acknowledged'])
    const narrowed = kinds === 'all' ? update : update.where('kind', 'in', kinds.split(',') as AlertKind[])
    return narrowed.returning(['id', 'subject'])
  }),
)
