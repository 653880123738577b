import { sql } from 'kysely'
import { alertKey, humanTime, type NewAlert } from '../../core/alerts/index.ts'
import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { type Db, type DbOrTx, holdLease, type Lease } from '../db/index.ts'
import type { LeasedLoop } from '../feature/index.ts'
import { dueSince } from './jobs.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

const maxWaitMs = 60 * 60_000

const subject = 'jobs'

/** With a key of its own for dead jobs: it opens when the alert of waiting jobs closes because they died. */
function lateAlert({ topic, count, since, isDead }: LateJobs): NewAlert & Readonly<{ key: string }> {
  const jobs = plural(count, 'job')
  return {
    kind: 'jobs_stuck',
    key: alertKey('jobs_stuck', isDead ? `${topic}:dead` : topic),
    subject,
    standing: true,
    ...(isDead
      ? {
          title: `Jobs of ${topic} are dead`,
          body:
            `${jobs} of ${topic}, due since ${humanTime(since)}, failed every attempt. Nothing runs dead jobs by itself, so their changes ` +
            'do not reach other systems.\n' +
            `The list names the reason. Remove it, then run tenantry jobs retry --topic ${topic}. The alert closes when none is dead.`,
          command: `tenantry jobs list --topic ${topic} --state dead`,
        }
      : {
          title: `Jobs of ${topic} have been waiting for more than an hour`,
          body:
            `${jobs} of ${topic} since ${humanTime(since)}.\n` +
            'The changes are stored but have not reached other systems: a disabled user may still chat, a member may not be in a room yet, ' +
            'a cancelled subscription may charge again. The list names the reason, usually a chat server, object store or payment provider ' +
            'that does not answer, or a payment provider that rejects the key; the jobs run when that ends.',
          command: `tenantry jobs list --topic ${topic}`,
        }),
  }
}

const isDead = sql<number>`case when status = 'dead' then 1 else 0 end`

/** Raises an alert for each topic with jobs that have been due for more than an hour, and one if some of them are dead; closes them when none is. */
export const jobsWatch = (deps: Deps): LeasedLoop => ({
  name: 'watch jobs that wait',
  everyMs: 60_000,
  lease: { name: 'jobs.watch', ttlMs: 150_000 },
  run: ({ lease }) => watchJobs(deps, lease),
})

async function watchJobs({ db, clock }: Deps, lease: Lease): Promise<void> {
  const late = (await lateTopics(db, isoIn(clock, -maxWaitMs))).map(lateAlert)
  const raised = await raisedKeys(db)
  const fresh = late.filter(({ key }) => !raised.includes(key))
  const over = raised.filter((key) => !late.some((alert) => alert.key === key))
  if (fresh.length === 0 && over.length === 0) return
  await db.transaction().execute(async (tx) => {
    await holdLease(tx, lease)
    for (const alert of fresh) await raiseAlert(tx, clock, alert)
    if (over.length > 0) await closeAlerts(tx, clock, { keys: over, because: 'none of these jobs is left' })
  })
}

/** `isDead`: abandoned after their last attempt. */
type LateJobs = Readonly<{ topic: string; count: number; since: string; isDead: boolean }>

async function lateTopics(db: DbOrTx, before: string): Promise<LateJobs[]> {
  const rows = await db
    .selectFrom('jobs')
    .select(({ fn }) => ['topic', isDead.as('dead'), fn.countAll().as('count'), fn.min<string>(dueSince).as('since')])
    .where('status', 'in', ['pending', 'queued', 'dead'])
    // A cron may run for hours; one that fails is in its history.
    .where('pool', '<>', 'crons')
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
    .where('subject', '=', subject)
    .where('status', 'in', ['open', 'acknowledged'])
    .where('kind', '=', 'jobs_stuck')
    .execute()
  return rows.flatMap(({ open_key }) => open_key ?? [])
}
