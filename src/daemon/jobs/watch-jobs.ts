import { alertOf } from '../../core/alerts/index.ts'
import { type Clock, isoIn } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { acquireLease, type Db, type DbOrTx, holdLease } from '../db/index.ts'
import { dueSince } from './jobs.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock; owner: string }>

/** Longer than the time between two calls, so that one replica keeps the lease. */
const leaseMs = 150_000
const maxWaitMs = 60 * 60_000

/** Raises one alert while jobs have been due for more than an hour, and closes it when none is. */
export async function watchJobs(deps: Deps): Promise<void> {
  const { db, clock, owner } = deps
  const lease = await acquireLease(deps, { name: 'outbox.watch', owner, ttlMs: leaseMs })
  if (!lease) return
  const late = await lateTopics(db, isoIn(clock, -maxWaitMs))
  const isRaised = await isOpen(db)
  if (late.length > 0 === isRaised) return
  await db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    const alert = alertOf.followups_late({ late })
    if (late.length > 0) await raiseAlert(tx, clock, alert)
    else await closeAlerts(tx, clock, { subject: alert.subject, kinds: [alert.kind], because: 'no job has been due for more than an hour' })
  })
}

async function lateTopics(db: DbOrTx, before: string) {
  const rows = await db
    .selectFrom('outbox')
    .select(({ fn }) => ['topic', fn.countAll().as('count'), fn.min<string>(dueSince).as('since')])
    .where('status', 'in', ['pending', 'queued'])
    .where(dueSince, '<=', before)
    .groupBy('topic')
    .orderBy('topic')
    .execute()
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}

const isOpen = async (db: DbOrTx): Promise<boolean> =>
  (await db
    .selectFrom('alerts')
    .select('id')
    .where('open_key', '=', alertOf.followups_late({ late: [] }).key)
    .executeTakeFirst()) !== undefined
