import { sql } from 'kysely'
import { chatQueuesOf, type JobPool, unreachableDelayMs, type WorkerPool, workersPerPool } from '../../core/jobs/index.ts'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import { type Db, skipLocked, type Tx } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

/**
 * A queue that this process works on. `token` rises with each lease, and writes with an older one change nothing. It is at least the time in ms,
 * so that it also rises when the queue's row was deleted in between.
 */
export type LeasedQueue = Readonly<{ queue: string; token: number; pool: WorkerPool; failures: number }>

/** A worker renews its lease while a job runs. */
export const leaseMs = 60_000
const assignedAtOnce = 500

export const allPools = Object.keys(workersPerPool) as WorkerPool[]

/** The pools with due queues, and whether there are jobs without a queue. Reads a few rows, however many jobs wait. */
export async function readDue({ db, clock }: Deps): Promise<Readonly<{ pools: WorkerPool[]; hasNew: boolean }>> {
  const now = isoNow(clock)
  const isDue = (pool: WorkerPool) => sql`exists (select 1 from job_queues where pool = ${pool} and due_at <= ${now}) as ${sql.ref(pool)}`
  const { rows } = await sql<Record<WorkerPool | 'unassigned', boolean | number>>`
    select ${sql.join(allPools.map(isDue))}, exists (select 1 from jobs where status = 'pending') as unassigned`.execute(db)
  return { pools: allPools.filter((pool) => rows[0]?.[pool]), hasNew: Boolean(rows[0]?.unassigned) }
}

/** Puts new jobs into their queues. */
export async function assignNewJobs(deps: Deps): Promise<void> {
  while ((await deps.db.transaction().execute((tx) => assignSome(tx, deps.clock))) === assignedAtOnce);
}

type NewQueue = Readonly<{ queue: string; pool: JobPool; next_at: string }>

async function assignSome(tx: Tx, clock: Clock): Promise<number> {
  const { rows } = await sql<NewQueue>`
    with fresh as materialized (
      select id from jobs where status = 'pending' order by id limit ${assignedAtOnce} ${skipLocked(tx)}
    )
    update jobs set status = 'queued' where id in (select id from fresh) returning queue, pool, next_at`.execute(tx)
  const queues = new Map<string, NewQueue>()
  for (const row of rows) {
    const known = queues.get(row.queue)
    if (!known || row.next_at < known.next_at) queues.set(row.queue, row)
  }
  // Replicas insert in one order: otherwise two could deadlock on each other's queues.
  const sorted = [...queues.values()].toSorted((a, b) => (a.queue < b.queue ? -1 : 1))
  if (sorted.length > 0) await makeDue(tx, clock, sorted)
  return rows.length
}

/** A new job does not wait longer than this for a chat server that did not answer before: it may be back, and the job may be an alarm. */
const chatRetryMs = 10_000

/** A leased queue, or one whose server is unreachable, keeps its time: its worker reads the next due time before it releases the queue. */
async function makeDue(tx: Tx, clock: Clock, queues: readonly NewQueue[]): Promise<void> {
  const [now, soon] = [isoNow(clock), isoIn(clock, chatRetryMs)]
  const values = queues.map(({ queue, pool, next_at }) => ({
    queue,
    pool,
    due_at: next_at > now ? next_at : now,
    locked: 0,
    token: 0,
    failures: 0,
  }))
  await tx
    .insertInto('job_queues')
    .values(values)
    .onConflict((c) =>
      c.column('queue').doUpdateSet({
        due_at: sql`case
          when job_queues.locked = 0 and job_queues.failures = 0 and job_queues.due_at > excluded.due_at then excluded.due_at
          when job_queues.locked = 0 and job_queues.failures > 0 and job_queues.due_at > ${soon}
            and excluded.pool = 'chat' and excluded.due_at <= ${soon} then ${soon}
          else job_queues.due_at end`,
      }),
    )
    .execute()
}

/** Leases due queues of a pool, the longest due first. A leased queue is due when its lease expires, so a killed worker is replaced. */
export async function leaseQueues({ db, clock }: Deps, pool: WorkerPool, limit: number): Promise<LeasedQueue[]> {
  const ms = sql`cast(${clock.now().getTime()} as bigint)`
  const { rows } = await sql<LeasedQueue>`
    with due as materialized (
      select queue from job_queues where pool = ${pool} and due_at <= ${isoNow(clock)} order by due_at limit ${limit} ${skipLocked(db)}
    )
    update job_queues set locked = 1, token = case when token < ${ms} then ${ms} else token + 1 end, due_at = ${isoIn(clock, leaseMs)}
    where queue in (select queue from due) returning queue, token, pool, failures`.execute(db)
  return rows.map((row) => ({ ...row, token: Number(row.token) }))
}

/** Renews the lease and locks the queue's row until the transaction ends. Returns false if another worker has taken over. */
export async function renewQueueLease(db: Db | Tx, clock: Clock, { queue, token }: Pick<LeasedQueue, 'queue' | 'token'>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('job_queues')
    .set({ due_at: isoIn(clock, leaseMs) })
    .where('queue', '=', queue)
    .where('token', '=', token)
    .where('locked', '=', 1)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** `answered`: pool of the last job whose server answered. The queue returns to it, and its count of failures starts again. */
export type WorkResult = Readonly<{ isUnreachable: boolean; answered: JobPool | undefined }>

/** Releases a queue: it is due with its next job, or later when its server is unreachable. Deletes an empty queue. */
export const releaseQueue = ({ db, clock }: Deps, leased: LeasedQueue, { isUnreachable, answered }: WorkResult): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (!(await renewQueueLease(tx, clock, leased))) return
    const { queue } = leased
    const next = await nextDueAt(tx, queue)
    if (next === undefined) return void (await tx.deleteFrom('job_queues').where('queue', '=', queue).execute())
    const failures = (answered ? 0 : leased.failures) + (isUnreachable ? 1 : 0)
    const due_at = isUnreachable ? isoIn(clock, unreachableDelayMs(failures, queue)) : [next, isoNow(clock)].toSorted().at(-1)
    const pool = isUnreachable ? ('away' as const) : (answered ?? leased.pool)
    await tx
      .updateTable('job_queues')
      .set({ locked: 0, failures, due_at: due_at as string, pool })
      .where('queue', '=', queue)
      .execute()
  })

/** True for a job that no earlier job of the same key precedes. */
export const isFirstOfKey = sql<boolean>`not exists (
  select 1 from jobs as earlier
  where earlier.queue = jobs.queue and earlier.key = jobs.key and earlier.status = 'queued' and earlier.id < jobs.id)`

async function nextDueAt(tx: Tx, queue: string): Promise<string | undefined> {
  const row = await tx
    .selectFrom('jobs')
    .select(({ fn }) => fn.min('next_at').as('next'))
    .where('queue', '=', queue)
    .where('status', '=', 'queued')
    .where(isFirstOfKey)
    .executeTakeFirst()
  return row?.next ?? undefined
}

/**
 * Calls to the chat server of a tenant that wait because it did not answer are due now, in their own pool: they do not wait behind servers that are
 * still away. Those that run now continue.
 */
export async function retryChatQueues(tx: Tx, clock: Clock, tenantId: string): Promise<void> {
  const { from, to } = chatQueuesOf(tenantId)
  const waiting = tx.selectFrom('job_queues').select('queue').where('queue', '>=', from).where('queue', '<', to)
  const free = await waiting.where('locked', '=', 0).where('failures', '>', 0).modifyEnd(skipLocked(tx)).execute()
  if (free.length === 0) return
  const queues = free.map(({ queue }) => queue)
  await tx
    .updateTable('job_queues')
    .set({ due_at: isoNow(clock), failures: 0, pool: 'chat' })
    .where('queue', 'in', queues)
    .execute()
}

/** Discards all jobs of a tenant for its chat server. A job that runs now may finish. */
export async function discardJobsOf(tx: Tx, tenantId: string): Promise<void> {
  const { from, to } = chatQueuesOf(tenantId)
  for (const table of ['jobs', 'job_queues'] as const)
    await tx.deleteFrom(table).where('queue', '>=', from).where('queue', '<', to).execute()
}
