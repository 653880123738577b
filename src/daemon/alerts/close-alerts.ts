import { type AlertKind, humanTime } from '../../core/alerts/index.ts'
import type { Checkpoint } from '../../core/audit/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { appendEvent, type Db, executeWrites, insertJobs, type Tx } from '../db/index.ts'
import { notifyTopic, raiseAlert, resolveTopic } from './raise-alert.ts'

export type Resolved = Readonly<{
  /** The alerts' subject; all kinds unless `kinds` is set. May be absent beside `keys`: the subject of an alert may have changed since. */
  subject?: string
  kinds?: readonly AlertKind[]
  /** Only open alerts with one of these keys. */
  keys?: readonly string[]
  /** The reason shown to operators, such as `the rollout was resumed`. */
  because: string
}>

/** Closes alerts whose cause is gone. Recipients of their messages are notified; messages that still wait say so themselves. */
export async function closeAlerts(tx: Tx, clock: Clock, { subject, kinds, keys, because }: Resolved): Promise<void> {
  let update = tx
    .updateTable('alerts')
    .set({ status: 'closed', open_key: null, closed_at: isoNow(clock), closed_because: because })
    .where('status', 'in', ['open', 'acknowledged'])
  if (subject === undefined && !keys) throw new Error('alerts are closed by subject or by key')
  if (subject !== undefined) update = update.where('subject', '=', subject)
  if (kinds) update = update.where('kind', 'in', kinds)
  if (keys) update = update.where('open_key', 'in', keys)
  const closed = await update.returning(['id', 'subject', 'notified']).execute()
  const [first] = closed
  if (!first) return
  // In the queue of the messages that the alert was raised with, so that they come first.
  const jobs = closed
    .filter(({ notified }) => notified > 0)
    .map(({ id }) => ({ topic: resolveTopic, payload: { alertId: Number(id) }, queue: notifyTopic, key: String(id) }))
  if (jobs.length > 0) await executeWrites(tx, [insertJobs(clock, jobs)])
  const payload = { alertIds: closed.map(({ id }) => Number(id)), subject: first.subject, because }
  await appendEvent(tx, clock, { stream: 'admin', source: 'alerts', eventType: 'alert.closed', payload })
}

type AuditDeps = Readonly<{ db: Db; clock: Clock }>

/** Raised at each failed attempt to sign the log. */
export const raiseAuditBroken = (
  { db, clock }: AuditDeps,
  { chain, count, at }: Pick<Checkpoint, 'chain' | 'count' | 'at'>,
): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await raiseAlert(tx, clock, {
      kind: 'audit_broken',
      subject: chain,
      title: `The audit log (${chain}) was truncated or rewritten`,
      body:
        `At ${humanTime(at)} the chain ${chain} was signed with ${count} entries. The log no longer contains them.\n` +
        'The database was changed, or an older copy of it was restored. Boxes and rollouts are not affected. Keep the database as it is ' +
        'and compare it with a backup. The chain is not signed again until this is resolved.',
      command: 'tenantry audit verify --checkpoint audit-checkpoints.jsonl',
      standing: true,
    })
  })

export const closeAuditBroken = ({ db, clock }: AuditDeps, chain: string): Promise<void> =>
  db
    .transaction()
    .execute((tx) => closeAlerts(tx, clock, { subject: chain, kinds: ['audit_broken'], because: 'the log matches its signed head again' }))
