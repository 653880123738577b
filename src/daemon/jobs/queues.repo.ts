import { sql } from 'kysely'
import { chatQueuesOf, type JobPool, unreachableDelayMs, type WorkerPool } from '../../core/jobs/index.ts'
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

/** Which pools have due queues, and whether there are jobs without a queue. Reads a few rows, however many jobs wait. */
export async function readDue({ db, clock }: Deps): Promise<Readonly<Record<WorkerPool | 'unassigned', boolean>>> {
  const now = isoNow(clock)
  const due = (pool: WorkerPool) => sql`exists (select 1 from outbox_queues where lane = ${pool} and due_at <= ${now})`
  const { rows } = await sql<Record<WorkerPool | 'unassigned', boolean | number>>`
    select ${due('own')} as own, ${due('mail')} as mail, ${due('payments')} as payments, ${due('chat')} as chat, ${due('away')} as away,
      exists (select 1 from outbox where status = 'pending') as unassigned`.execute(db)
  const { own, mail, payments, chat, away, unassigned } = rows[0] ?? {}
  const isDue = { own: Boolean(own), mail: Boolean(mail), payments: Boolean(payments), chat: Boolean(chat), away: Boolean(away) }
  return { ...isDue, unassigned: Boolean(unassigned) }
}

/** Puts new jobs into their queues. */
export async function assignNewJobs(deps: Deps): Promise<void> {
  while ((await deps.db.transaction().execute((tx) => assignSome(tx, deps.clock))) === assignedAtOnce);
}

type NewQueue = Readonly<{ queue: string; lane: JobPool; next_at: string }>

async function assignSome(tx: Tx, clock: Clock): Promise<number> {
  const { rows } = await sql<NewQueue>`
    with fresh as materialized (
      select id from outbox where status = 'pending' order by id limit ${assignedAtOnce} ${skipLocked(tx)}
    )
    update outbox set status = 'queued' where id in (select id from fresh) returning queue, lane, next_at`.execute(tx)
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
  const values = queues.map(({ queue, lane, next_at }) => ({
    queue,
    lane,
    due_at: next_at > now ? next_at : now,
    held: 0,
    turn: 0,
    failures: 0,
  }))
  await tx
    .insertInto('outbox_queues')
    .values(values)
    .onConflict((c) =>
      c.column('queue').doUpdateSet({
        due_at: sql`case
          when outbox_queues.held = 0 and outbox_queues.failures = 0 and outbox_queues.due_at > excluded.due_at then excluded.due_at
          when outbox_queues.held = 0 and outbox_queues.failures > 0 and outbox_queues.due_at > ${soon}
            and excluded.lane = 'chat' and excluded.due_at <= ${soon} then ${soon}
          else outbox_queues.due_at end`,
      }),
    )
    .execute()
}

/** Leases due queues of a pool, the longest due first. A leased queue is due when its lease expires, so a killed worker is replaced. */
export async function leaseQueues({ db, clock }: Deps, pool: WorkerPool, limit: number): Promise<LeasedQueue[]> {
  const ms = sql`cast(${clock.now().getTime()} as bigint)`
  const { rows } = await sql<LeasedQueue>`
    with due as materialized (
      select queue from outbox_queues where lane = ${pool} and due_at <= ${isoNow(clock)} order by due_at limit ${limit} ${skipLocked(db)}
    )
    update outbox_queues set held = 1, turn = case when turn < ${ms} then ${ms} else turn + 1 end, due_at = ${isoIn(clock, leaseMs)}
    where queue in (select queue from due) returning queue, turn as token, lane as pool, failures`.execute(db)
  return rows.map((row) => ({ ...row, token: Number(row.token) }))
}

/** Renews the lease and locks the queue's row until the transaction ends. Returns false if another worker has taken over. */
export async function renewQueueLease(db: Db | Tx, clock: Clock, { queue, token }: Pick<LeasedQueue, 'queue' | 'token'>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('outbox_queues')
    .set({ due_at: isoIn(clock, leaseMs) })
    .where('queue', '=', queue)
    .where('turn', '=', token)
    .where('held', '=', 1)
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
    if (next === undefined) return void (await tx.deleteFrom('outbox_queues').where('queue', '=', queue).execute())
    const failures = (answered ? 0 : leased.failures) + (isUnreachable ? 1 : 0)
    const due_at = isUnreachable ? isoIn(clock, unreachableDelayMs(failures, queue)) : [next, isoNow(clock)].toSorted().at(-1)
    const lane = isUnreachable ? ('away' as const) : (answered ?? leased.pool)
    await tx
      .updateTable('outbox_queues')
      .set({ held: 0, failures, due_at: due_at as string, lane })
      .where('queue', '=', queue)
      .execute()
  })

/** True for a job that no earlier job of the same key precedes. */
export const isFirstOfKey = sql<boolean>`not exists (
  select 1 from outbox as earlier
  where earlier.queue = outbox.queue and earlier.key = outbox.key and earlier.status = 'queued' and earlier.id < outbox.id)`

async function nextDueAt(tx: Tx, queue: string): Promise<string | undefined> {
  const row = await tx
    .selectFrom('outbox')
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
  const waiting = tx.selectFrom('outbox_queues').select('queue').where('queue', '>=', from).where('queue', '<', to)
  const free = await waiting.where('held', '=', 0).where('failures', '>', 0).modifyEnd(skipLocked(tx)).execute()
  if (free.length === 0) return
  const queues = free.map(({ queue }) => queue)
  await tx
    .updateTable('outbox_queues')
    .set({ due_at: isoNow(clock), failures: 0, lane: 'chat' })
    .where('queue', 'in', queues)
    .execute()
}

/** Discards all jobs of a tenant for its chat server. A job that runs now may finish. */
export async function discardJobsOf(tx: Tx, tenantId: string): Promise<void> {
  const { from, to } = chatQueuesOf(tenantId)
  for (const table of ['outbox', 'outbox_queues'] as const)
    await tx.deleteFrom(table).where('queue', '>=', from).where('queue', '<', to).execute()
}
