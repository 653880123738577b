import { sql } from 'kysely'
import { type Clock, isoIn, isoNow } from '../../../core/kit/index.ts'
import { awayMs, type Lane, type Track } from '../../../core/outbox/index.ts'
import type { Db, Tx } from '../database.ts'
import { skipLocked } from '../dialects.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

/**
 * A queue that is worked on. `turn` rises each time it is taken: whoever held it before can write nothing any more. It is never below the time
 * in ms, so that it rises too when the queue ceased to be in between.
 */
export type HeldQueue = Readonly<{ queue: string; turn: number; lane: Track; failures: number }>

/** Longer than any one statement takes; whoever works longer says so while it does. */
export const leaseMs = 60_000
const admittedAtOnce = 500

/** What there is to do: one statement, which reads a handful of rows however much waits. */
export async function lookAround({ db, clock }: Deps): Promise<Readonly<Record<Track | 'noted', boolean>>> {
  const now = isoNow(clock)
  const due = (lane: Track) => sql`exists (select 1 from outbox_queues where lane = ${lane} and due_at <= ${now})`
  const { rows } = await sql<Record<Track | 'noted', boolean | number>>`
    select ${due('own')} as own, ${due('mail')} as mail, ${due('chat')} as chat, ${due('away')} as away,
      exists (select 1 from outbox where status = 'pending')
        or exists (select 1 from outbox where status = 'leased' and lease_until <= ${now}) as noted`.execute(db)
  const { own, mail, chat, away, noted } = rows[0] ?? {}
  return { own: Boolean(own), mail: Boolean(mail), chat: Boolean(chat), away: Boolean(away), noted: Boolean(noted) }
}

/** Puts what was noted into its queues, and what a daemon of an older version left behind. */
export async function admitNoted(deps: Deps): Promise<void> {
  while ((await deps.db.transaction().execute((tx) => admitSome(tx, deps.clock))) === admittedAtOnce);
}

async function admitSome(tx: Tx, clock: Clock): Promise<number> {
  const now = isoNow(clock)
  const { rows } = await sql<{ queue: string; lane: Lane }>`
    with noted as materialized (
      select id from outbox where status = 'pending' or (status = 'leased' and lease_until <= ${now})
      order by id limit ${admittedAtOnce} ${skipLocked(tx)}
    )
    update outbox set status = 'queued', lease_until = null, lane = coalesce(lane, 'own'), queue = coalesce(queue, topic)
    where id in (select id from noted) returning queue, lane`.execute(tx)
  // In one order by all replicas: two that wait for each other's queues would wait for ever.
  const queues = [...new Map(rows.map((row) => [row.queue, row])).values()].toSorted((a, b) => (a.queue < b.queue ? -1 : 1))
  if (queues.length > 0) await fill(tx, now, queues)
  return rows.length
}

/** One that is held or whose server is away keeps its time: whoever holds it looks again before it lets go. */
async function fill(tx: Tx, now: string, queues: readonly Readonly<{ queue: string; lane: Lane }>[]): Promise<void> {
  await tx
    .insertInto('outbox_queues')
    .values(queues.map(({ queue, lane }) => ({ queue, lane, due_at: now, held: 0, turn: 0, failures: 0 })))
    .onConflict((c) =>
      c.column('queue').doUpdateSet({
        due_at: sql`case when outbox_queues.held = 0 and outbox_queues.failures = 0 and outbox_queues.due_at > ${now}
          then ${now} else outbox_queues.due_at end`,
      }),
    )
    .execute()
}

/** Takes queues that are due, the longest due first; the queue of a process that died is due when its lease ends. */
export async function takeQueues({ db, clock }: Deps, lane: Track, most: number): Promise<HeldQueue[]> {
  const ms = sql`cast(${clock.now().getTime()} as bigint)` // not as it is in the text: SQLite keeps prepared what is said again
  const { rows } = await sql<HeldQueue>`
    with due as materialized (
      select queue from outbox_queues where lane = ${lane} and due_at <= ${isoNow(clock)} order by due_at limit ${most} ${skipLocked(db)}
    )
    update outbox_queues set held = 1, turn = case when turn < ${ms} then ${ms} else turn + 1 end, due_at = ${isoIn(clock, leaseMs)}
    where queue in (select queue from due) returning queue, turn, lane, failures`.execute(db)
  return rows.map((row) => ({ ...row, turn: Number(row.turn) }))
}

/** Says that a queue is still worked on, and locks it until the transaction ends. False: it was taken over. */
export async function renewQueue(db: Db | Tx, clock: Clock, { queue, turn }: Pick<HeldQueue, 'queue' | 'turn'>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('outbox_queues')
    .set({ due_at: isoIn(clock, leaseMs) })
    .where('queue', '=', queue)
    .where('turn', '=', turn)
    .where('held', '=', 1)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** `lane`: of the last work for which its server answered, if any: to it the queue goes back, and it is not away for long. */
type End = Readonly<{ away: boolean; lane: Lane | undefined }>

/** Lets go of a queue: it is due when its next work is, or later when its server is away. An empty one ceases to be. */
export const handBack = ({ db, clock }: Deps, held: HeldQueue, { away, lane }: End): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (!(await renewQueue(tx, clock, held))) return
    const { queue } = held
    const next = await nextAt(tx, queue)
    if (next === undefined) return void (await tx.deleteFrom('outbox_queues').where('queue', '=', queue).execute())
    const failures = (lane ? 0 : held.failures) + (away ? 1 : 0)
    const due_at = away ? isoIn(clock, awayMs(failures, queue)) : [next, isoNow(clock)].toSorted().at(-1)
    const set = { held: 0, failures, due_at: due_at as string, lane: away ? ('away' as const) : (lane ?? held.lane) }
    await tx.updateTable('outbox_queues').set(set).where('queue', '=', queue).execute()
  })

/** Nothing of the same key is waited for: what was noted first is done first. */
export const isHead = sql<boolean>`not exists (
  select 1 from outbox as earlier
  where earlier.queue = outbox.queue and earlier.key = outbox.key and earlier.status = 'queued' and earlier.id < outbox.id)`

async function nextAt(tx: Tx, queue: string): Promise<string | undefined> {
  const row = await tx
    .selectFrom('outbox')
    .select(({ fn }) => fn.min('next_at').as('next'))
    .where('queue', '=', queue)
    .where('status', '=', 'queued')
    .where(isHead)
    .executeTakeFirst()
  return row?.next ?? undefined
}
