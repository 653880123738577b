import { alertOf } from '../../core/alerts/index.ts'
import { type Clock, isoIn } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { acquireLease, type Db, type DbOrTx, holdLease } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; holder: string }>

/** Longer than the time between two looks, so that one replica keeps at it. */
const leaseMs = 150_000
const longestMs = 60 * 60_000

/** Tells an operator once while work waits for more than an hour, whatever for, and takes it back when none does. */
export async function watchOutbox(deps: Deps): Promise<void> {
  const { db, clock, holder } = deps
  const lease = await acquireLease(deps, { name: 'outbox.watch', holder, ttlMs: leaseMs })
  if (!lease) return
  const late = await lateTopics(db, isoIn(clock, -longestMs))
  const isTold = await isOpen(db)
  if (late.length > 0 === isTold) return
  await db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    const alert = alertOf.followups_late({ late })
    if (late.length > 0) await raiseAlert(tx, clock, alert)
    else await closeAlerts(tx, clock, { subject: alert.subject, kinds: [alert.kind], because: 'no work has waited for an hour any more' })
  })
}

async function lateTopics(db: DbOrTx, before: string) {
  const rows = await db
    .selectFrom('outbox')
    .select(({ fn }) => ['topic', fn.countAll().as('count'), fn.min('created_at').as('since')])
    .where('status', 'in', ['pending', 'queued'])
    .where('created_at', '<=', before)
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
