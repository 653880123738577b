import { sql } from 'kysely'
import { type JobPool, retryDelayMs } from '../../core/jobs/index.ts'
import { type Clock, isoIn, isoNow, isProblem } from '../../core/kit/index.ts'
import { isPaymentFailure } from '../../core/payments/index.ts'
import { inSpan, type Logger, type Tracing } from '../../node/index.ts'
import { type Db, type JobHandler, type Tx, whileRenewed } from '../db/index.ts'
import { isFirstOfKey, type LeasedQueue, leaseMs, releaseQueue, renewQueueLease, type WorkResult } from './queues.repo.ts'

/** `handlers`: by topic. */
export type RunJobsDeps = Readonly<{
  db: Db
  clock: Clock
  log: Logger
  handlers: Readonly<Record<string, JobHandler>>
  tracing?: Tracing | undefined
}>

/** `ids`: this job and the equal ones behind it; all are done when it is. */
type TakenJob = Readonly<{
  id: number
  topic: string
  payload: string
  attempts: number
  pool: JobPool
  trace: string | null
  ids: readonly number[]
}>

const maxAttempts = 12
/** An attempt whose process dies records no failure, so that such a job would be taken for ever, and end every process that takes it. */
const maxTaken = 2 * maxAttempts
/** A worker releases its queue after this many jobs or this long, so that a thousand jobs of one tenant delay no other. */
const maxJobsPerLease = 50
const maxWorkMs = 5000

/** Runs the due jobs of a leased queue one after the other, then releases it. Returns how many jobs it took. */
export async function workQueue(deps: RunJobsDeps, leased: LeasedQueue, signal?: AbortSignal): Promise<number> {
  const startedMs = deps.clock.monotonicMs()
  const mayContinue = (taken: number) => taken < maxJobsPerLease && !signal?.aborted && deps.clock.monotonicMs() - startedMs < maxWorkMs
  let taken = 0
  let result: WorkResult = { isUnreachable: false, answered: undefined }
  while (!result.isUnreachable && mayContinue(taken)) {
    const job = await takeJob(deps, leased)
    if (!job) break
    taken += 1
    const isUnreachable = await workJob(deps, leased, { job, signal })
    result = { isUnreachable, answered: isUnreachable ? result.answered : job.pool }
  }
  await releaseQueue(deps, leased, result)
  return taken
}

/** Jobs with the fewest attempts go first, so that a job that keeps failing delays no new one. Undefined when the lease was lost. */
const takeJob = ({ db, clock }: RunJobsDeps, leased: LeasedQueue): Promise<TakenJob | undefined> =>
  db.transaction().execute(async (tx) => {
    if (!(await renewQueueLease(tx, clock, leased))) return undefined
    const now = isoNow(clock)
    const next = await tx
      .selectFrom('jobs')
      .select('id')
      .where('queue', '=', leased.queue)
      .where('status', '=', 'queued')
      .where('next_at', '<=', now)
      .where(isFirstOfKey)
      .orderBy('attempts')
      .orderBy('next_at')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (!next) return undefined
    const { key, pool, ...job } = await tx
      .updateTable('jobs')
      .set({ attempts: sql`attempts + 1` })
      .where('id', '=', next.id)
      .returning(['id', 'topic', 'payload', 'attempts', 'pool', 'key', 'trace'])
      .executeTakeFirstOrThrow()
    const equal = key === null ? [] : await equalJobs(tx, { ...job, queue: leased.queue, key, now })
    return { ...job, pool, ids: [job.id, ...equal] }
  })

type Repeated = Readonly<{ id: number; topic: string; payload: string; queue: string; key: string; now: string }>

/** Only jobs that are due and in the queue by now: the changes they were enqueued for have committed, so the handler sees them. */
async function equalJobs(tx: Tx, { id, topic, payload, queue, key, now }: Repeated): Promise<number[]> {
  const rows = await tx
    .selectFrom('jobs')
    .select('id')
    .where('queue', '=', queue)
    .where('key', '=', key)
    .where('id', '>', id)
    .where('status', '=', 'queued')
    .where('topic', '=', topic)
    .where('payload', '=', payload)
    .where('next_at', '<=', now)
    .orderBy('id')
    .limit(5000)
    .execute()
  return rows.map((row) => row.id)
}

/** Returns whether the queue's server is unreachable: then its other jobs need not be attempted. */
async function workJob(
  deps: RunJobsDeps,
  leased: LeasedQueue,
  { job, signal }: Readonly<{ job: TakenJob; signal: AbortSignal | undefined }>,
): Promise<boolean> {
  const { attempts: attempt } = job
  const last = attempt >= maxAttempts
  try {
    if (attempt > maxTaken) throw new Error(`taken ${maxTaken} times without an end: each time its process stopped or died`)
    const handler = deps.handlers[job.topic]
    if (!handler) throw new Error(`no handler for the topic ${job.topic}`)
    const renew = () => renewQueueLease(deps.db, deps.clock, leased)
    await whileRenewed({ clock: deps.clock, ttlMs: leaseMs, renew, stopping: signal }, (stop) =>
      inSpan(deps.tracing, spanOf(job), () => handler(JSON.parse(job.payload), { last, attempt, signal: stop })),
    )
    await deleteDone(deps.db, leased, job.ids)
    return false
  } catch (error) {
    const isUnreachable = isNoAnswer(error)
    // A process that stops interrupts jobs that may be fine: they are not abandoned for it.
    await recordFailure(deps, leased, { job, error, isUnreachable, isDead: last && !isUnreachable && !signal?.aborted })
    return isUnreachable
  }
}

const spanOf = ({ topic, attempts, trace }: TakenJob) => ({
  name: `job ${topic}`,
  kind: 'consumer' as const,
  parent: trace ?? undefined,
  attributes: { 'tenantry.job.topic': topic, 'tenantry.job.attempt': attempts },
})

const noAnswers = ['HOMESERVER_UNREACHABLE', 'OBJECT_STORE_UNAVAILABLE', 'PAYMENTS_UNAVAILABLE'] as const

/** A chat server, the object store or the payment provider does not answer; a refusal is an answer, but that of a key concerns no job. */
const isNoAnswer = (error: unknown): boolean =>
  noAnswers.some((code) => isProblem(error, code) && error.retryable) || (isPaymentFailure(error) && error.isRetryable)

type Failure = Readonly<{ job: TakenJob; error: unknown; isUnreachable: boolean; isDead: boolean }>

/**
 * An unreachable server costs the job no attempt, since the whole queue waits. The job goes behind the others all the same: it may be the only
 * one that the server does not answer.
 */
async function recordFailure({ db, clock, log }: RunJobsDeps, leased: LeasedQueue, failure: Failure): Promise<void> {
  const { job, error, isUnreachable, isDead } = failure
  log.warn(
    { jobId: job.id, topic: job.topic, queue: leased.queue, attempts: job.attempts, err: error },
    isDead ? 'job abandoned' : 'job failed and will be retried',
  )
  const retry = isUnreachable
    ? { attempts: job.attempts - 1, next_at: isoNow(clock) }
    : { next_at: isoIn(clock, retryDelayMs(job.attempts)) }
  const set = { status: isDead ? 'dead' : 'queued', last_error: String((error as Error).message), ...retry } as const
  await db.transaction().execute(async (tx) => {
    if (await renewQueueLease(tx, clock, leased)) await tx.updateTable('jobs').set(set).where('id', '=', job.id).execute()
  })
}

/** Deletes nothing if another worker has taken over the queue. */
const deleteDone = (db: Db, { queue, token }: LeasedQueue, ids: readonly number[]) =>
  db
    .deleteFrom('jobs')
    .where('id', 'in', ids)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('job_queues').select('token').where('queue', '=', queue).where('token', '=', token)),
    )
    .execute()
