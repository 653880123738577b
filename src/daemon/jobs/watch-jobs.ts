import { sql } from 'kysely'
import { alertOf, lateJobsSubject } from '../../core/alerts/index.ts'
import { type Clock, isoIn } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { acquireLease, type Db, type DbOrTx, holdLease } from '../db/index.ts'
import { dueSince } from './jobs.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock; owner: string }>

/** Longer than the time between two calls, so that one replica keeps the lease. */
const leaseMs = 150_000
const maxWaitMs = 60 * 60_000

const isDead = sql<number>`case when status = 'dead' then 1 else 0 end`

/** Raises an alert for each topic with jobs that have been due for more than an hour, and one if some of them are dead; closes them when none is. */
export async function watchJobs(deps: Deps): Promise<void> {
  const { db, clock, owner } = deps
  const lease = await acquireLease(deps, { name: 'outbox.watch', owner, ttlMs: leaseMs })
  if (!lease) return
  const late = (await lateTopics(db, isoIn(clock, -maxWaitMs))).map((topic) => alertOf.followups_late(topic))
  const raised = await raisedKeys(db)
  const fresh = late.filter(({ key }) => !raised.includes(key))
  const over = raised.filter((key) => !late.some((alert) => alert.key === key))
  if (fresh.length === 0 && over.length === 0) return
  await db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    for (const alert of fresh) await raiseAlert(tx, clock, alert)
    if (over.length > 0) await closeAlerts(tx, clock, { subject: lateJobsSubject, keys: over, because: 'none of these jobs is left' })
  })
}

async function lateTopics(db: DbOrTx, before: string) {
  const rows = await db
    .selectFrom('outbox')
    .select(({ fn }) => ['topic', isDead.as('dead'), fn.countAll().as('count'), fn.min<string>(dueSince).as('since')])
    .where('status', 'in', ['pending', 'queued', 'dead'])
    .where(dueSince, '<=', before)
    .groupBy(['topic', isDead])
    .orderBy('topic')
    .execute()
  return rows.map(({ dead, count, ...row }) => ({ ...row, count: Number(count), isDead: dead === 1 }))
}

/** Keys of alerts that are open, or acknowledged until the jobs have run. */
async function raisedKeys(db: DbOrTx): Promise<string[]> {
  const rows = await db
    .selectFrom('alerts')
    .select('open_key')
    .where('subject', '=', lateJobsSubject)
    .where('status', 'in', ['open', 'acknowledged'])
    .where('kind', '=', 'followups_late')
    .execute()
  return rows.flatMap(({ open_key }) => open_key ?? [])
}
