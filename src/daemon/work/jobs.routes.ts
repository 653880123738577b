import { pageOf } from '../../core/contract/index.ts'
import { type Job, type JobCount, type JobState, jobsContract } from '../../core/jobs/index.ts'
import { type Actor, type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { serveContract } from '../http/index.ts'
import { countJobs, findJob, jobsAfter } from './jobs.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

export const jobsRoutes = (deps: Deps) =>
  serveContract(jobsContract, {
    listJobs: ({ query }) => listJobs(deps, query),
    getJob: ({ params }) => getJob(deps, params),
    retryJobs: ({ actor, body }) => retryJobs(deps, actor, body),
  })

type Query = Readonly<{ limit: number; cursor?: string | undefined; state?: JobState | undefined; topic?: string | undefined }>
type Listed = { jobs: Job[]; nextCursor: string | null; counts: JobCount[] }

/** A page of jobs, and the counts of all jobs. */
export async function listJobs({ db }: Pick<Deps, 'db'>, { cursor, limit, ...filter }: Query): Promise<Listed> {
  const found = await jobsAfter(db, { ...filter, after: Number(cursor ?? 0), limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ id }) => String(id))
  return { jobs: page, nextCursor, counts: await countJobs(db) }
}

/** Throws NOT_FOUND for a finished job too: it is deleted. */
export async function getJob({ db }: Pick<Deps, 'db'>, { id }: Readonly<{ id: number }>): Promise<Job> {
  const found = await findJob(db, id)
  if (!found) throw problem('NOT_FOUND', `Job ${id} does not exist or is done. fix: list open jobs with \`tenantry jobs list\``)
  return found
}

type Selection = Readonly<{ ids?: readonly number[] | undefined; topic?: string | undefined }>

/** Gives dead jobs all their attempts again. Throws NOT_FOUND when none of the given ids is dead. */
export const retryJobs = ({ db, clock }: Deps, actor: Actor, { ids, topic }: Selection): Promise<{ retried: number }> =>
  db.transaction().execute(async (tx) => {
    let update = tx
      .updateTable('jobs')
      .set({ status: 'pending', attempts: 0, next_at: isoNow(clock) })
      .where('status', '=', 'dead')
    if (ids) update = update.where('id', 'in', ids)
    if (topic !== undefined) update = update.where('topic', '=', topic)
    const retried = await update.returning(['id', 'topic']).execute()
    if (retried.length === 0 && ids)
      throw problem('NOT_FOUND', 'None of these jobs is dead. fix: list dead jobs with `tenantry jobs list --state dead`')
    if (retried.length > 0) {
      const data = { jobs: retried.slice(0, 100).map((one) => ({ id: Number(one.id), topic: one.topic })), count: retried.length }
      await recordAudit(tx, clock, { actor, action: 'job.retried', data })
    }
    return { retried: retried.length }
  })
