import { sql } from 'kysely'
import { type Job, type JobCount, type JobState, subjectOf } from '../../core/jobs/index.ts'
import type { DbOrTx } from '../db/index.ts'

const state = sql<JobState>`case when status = 'dead' then 'dead' when failures > 0 then 'away' else 'waiting' end`

/** When a job was due first. Null in `run_at`: at once. */
export const dueSince = sql<string>`coalesce(run_at, created_at)`

/** A new job has no queue yet, so the join is a left join. */
const allJobs = (db: DbOrTx) => db.selectFrom('jobs').leftJoin('job_queues', 'job_queues.queue', 'jobs.queue')

/** Counts of jobs by topic and state. Reads every job: there are few unless servers are unreachable. */
export async function countJobs(db: DbOrTx): Promise<JobCount[]> {
  const rows = await allJobs(db)
    .select(({ fn }) => ['topic', state.as('state'), fn.countAll().as('count'), fn.min<string>(dueSince).as('oldestAt')])
    .groupBy(['topic', state])
    .orderBy('topic')
    .execute()
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}

type Page = Readonly<{ state?: JobState | undefined; topic?: string | undefined; after: number; limit: number }>

const selectJobs = (db: DbOrTx) =>
  allJobs(db).select([
    ...(['jobs.id', 'topic', 'payload', 'jobs.queue', 'attempts', 'next_at', 'due_at', 'last_error', 'created_at'] as const),
    state.as('state'),
  ])

type Row = Awaited<ReturnType<ReturnType<typeof selectJobs>['execute']>>[number]

/** A page of jobs after the id `after`, oldest first. */
export async function jobsAfter(db: DbOrTx, { state: requested, topic, after, limit }: Page): Promise<Job[]> {
  let query = selectJobs(db).where('jobs.id', '>', after)
  if (topic !== undefined) query = query.where('topic', '=', topic)
  if (requested === 'dead') query = query.where('status', '=', 'dead')
  else if (requested !== undefined) query = query.where('status', '!=', 'dead').where(state, '=', requested)
  return toJobs(db, await query.orderBy('jobs.id').limit(limit).execute())
}

export async function findJob(db: DbOrTx, id: number): Promise<Job | undefined> {
  return (await toJobs(db, await selectJobs(db).where('jobs.id', '=', id).execute()))[0]
}

async function toJobs(db: DbOrTx, rows: readonly Row[]): Promise<Job[]> {
  const tenants = new Map(rows.map((row) => [row.id, tenantIdOf(row)]))
  const ids = [...new Set(tenants.values())].filter((id) => id !== undefined)
  const named = ids.length === 0 ? [] : await db.selectFrom('tenants').select(['id', 'slug']).where('id', 'in', ids).execute()
  const slugs = new Map(named.map(({ id, slug }) => [id, slug]))
  return rows.map((row) => ({
    id: row.id,
    topic: row.topic,
    state: row.state,
    tenant: slugs.get(tenants.get(row.id) ?? '') ?? null,
    about: subjectOf(row.payload),
    queue: row.queue ?? row.topic,
    attempts: row.attempts,
    lastError: row.last_error,
    createdAt: row.created_at,
    nextAt: nextAtOf(row),
  }))
}

const tenantIdOf = ({ queue, payload }: Row): string | undefined => /^chat:([^:]+):/.exec(queue ?? '')?.[1] ?? subjectOf(payload).tenantId

const nextAtOf = ({ state, next_at, due_at }: Row): string | null => {
  if (state === 'dead') return null
  return state === 'away' && due_at !== null && due_at > next_at ? due_at : next_at
}
