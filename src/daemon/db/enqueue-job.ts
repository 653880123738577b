import type { Insertable } from 'kysely'
import type { JobPool } from '../../core/jobs/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { traceparent } from '../../node/index.ts'
import type { Tables, Tx } from './database.ts'
import { executeWrites, insertRows, type Write } from './writes.ts'

/**
 * `last`: when this attempt fails, the job is abandoned. `attempt`: its number, from 1; an unreachable server costs none. The signal aborts when
 * the process stops or loses the queue's lease.
 */
type JobAttempt = Readonly<{ last: boolean; attempt?: number; signal?: AbortSignal | undefined }>

/** Runs the jobs of one topic. It must be idempotent: after a crash the same job runs again. Throwing means "retry later". */
export type JobHandler = (payload: unknown, attempt: JobAttempt) => Promise<void>

type NewJob = Readonly<{
  topic: string
  payload: unknown
  /** Jobs of one queue never run at the same time, such as all locks of one chat server. Default: the topic. */
  queue?: string
  /** The resource that limits the jobs of the queue; a queue has one pool. */
  pool?: JobPool
  /**
   * Jobs with the same key run in the order they were enqueued. Equal jobs of one key that are due together run once, so their handler
   * must read the current state and not rely on the state at enqueue.
   */
  key?: string
  /** ISO time before which the job does not run; default: at once. Later jobs of the same key wait for it. */
  runAt?: string
}>

/**
 * Enqueues a job in the transaction of the change that needs it: both commit or neither does. It locks no shared row; a runner
 * assigns the job to its queue afterwards.
 */
export async function enqueueJob(tx: Tx, clock: Clock, job: NewJob): Promise<void> {
  await executeWrites(tx, [insertJobs(clock, [job])])
}

/** `enqueueJob` for at least one job, as a write that is sent with others. */
export const insertJobs = (clock: Clock, jobs: readonly NewJob[]): Write =>
  insertRows(
    'jobs',
    jobs.map((job) => rowOf(job, isoNow(clock))),
  )

const rowOf = ({ topic, payload, pool = 'own', queue = topic, key, runAt }: NewJob, now: string): Insertable<Tables['jobs']> => ({
  topic,
  payload: JSON.stringify(payload),
  status: 'pending',
  attempts: 0,
  next_at: runAt ?? now,
  run_at: runAt ?? null,
  last_error: null,
  created_at: now,
  pool,
  queue,
  key: key ?? null,
  trace: traceparent() ?? null,
})
