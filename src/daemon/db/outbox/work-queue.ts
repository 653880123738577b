import { sql } from 'kysely'
import { type Clock, isoIn, isoNow, isProblem } from '../../../core/kit/index.ts'
import { type Lane, restMs } from '../../../core/outbox/index.ts'
import type { Logger } from '../../../node/index.ts'
import type { Db, Tx } from '../database.ts'
import { type HeldQueue, handBack, isHead, leaseMs, renewQueue } from './queues.ts'

/** Which try this is: after the last one that fails the work is given up. The signal aborts when this process is to stop with it. */
type OutboxTry = Readonly<{ last: boolean; signal?: AbortSignal | undefined }>

/** Does the follow-up work of one topic. It must be idempotent: after a crash it is called again. Throwing means "later". */
export type OutboxHandler = (payload: unknown, attempt: OutboxTry) => Promise<void>

export type OutboxDeps = Readonly<{ db: Db; clock: Clock; log: Logger; handlers: Readonly<Record<string, OutboxHandler>> }>

/** `same`: that row and those after it that ask for the very same; all are done when it is. */
type Row = Readonly<{
  id: number
  topic: string
  payload: string
  attempts: number
  lane: Lane
  key: string | null
  same: readonly number[]
}>

const maxAttempts = 12
/** A queue gives way to others after so many rows or so long: one tenant's thousand wait for their turns, not all others for them. */
const mostRows = 50
const longestTurnMs = 5000
const renewEveryMs = leaseMs / 3

/** Works off what is due in a queue that was taken, one row after the other, and lets it go; answers how many rows it took. */
export async function workQueue(deps: OutboxDeps, held: HeldQueue, signal?: AbortSignal): Promise<number> {
  const began = deps.clock.monotonicMs()
  const mayGoOn = (taken: number) => taken < mostRows && !signal?.aborted && deps.clock.monotonicMs() - began < longestTurnMs
  let taken = 0
  let end: Parameters<typeof handBack>[2] = { away: false, lane: undefined }
  while (!end.away && mayGoOn(taken)) {
    const row = await takeRow(deps, held)
    if (!row) break
    taken += 1
    const away = await workRow(deps, held, row, signal)
    end = { away, lane: away ? end.lane : row.lane }
  }
  await handBack(deps, held, end)
  return taken
}

/**
 * What was tried least goes first, and of that what was not tried for longest: what cannot be done holds up nothing that can. A queue that
 * somebody else has taken over by now has nothing for us.
 */
const takeRow = ({ db, clock }: OutboxDeps, held: HeldQueue): Promise<Row | undefined> =>
  db.transaction().execute(async (tx) => {
    if (!(await renewQueue(tx, clock, held))) return undefined
    const next = await tx
      .selectFrom('outbox')
      .select('id')
      .where('queue', '=', held.queue)
      .where('status', '=', 'queued')
      .where('next_at', '<=', isoNow(clock))
      .where(isHead)
      .orderBy('attempts')
      .orderBy('next_at')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (!next) return undefined
    const row = await tx
      .updateTable('outbox')
      .set({ attempts: sql`attempts + 1` })
      .where('id', '=', next.id)
      .returning(['id', 'topic', 'payload', 'attempts', 'lane', 'key'])
      .executeTakeFirstOrThrow()
    return { ...row, lane: row.lane ?? 'own', same: [row.id, ...(await sameAs(tx, held, row))] }
  })

/** Only what is in the queue by now: what it was noted for has happened, and the handler sees it. */
async function sameAs(tx: Tx, { queue }: HeldQueue, { id, key, topic, payload }: Omit<Row, 'lane' | 'same'>): Promise<number[]> {
  if (key === null) return []
  const rows = await tx
    .selectFrom('outbox')
    .select('id')
    .where('queue', '=', queue)
    .where('key', '=', key)
    .where('id', '>', id)
    .where('status', '=', 'queued')
    .where('topic', '=', topic)
    .where('payload', '=', payload)
    .orderBy('id')
    .limit(5000)
    .execute()
  return rows.map((row) => row.id)
}

/** Answers whether the server that the queue waits for is away: then its other work need not be tried. */
async function workRow(deps: OutboxDeps, held: HeldQueue, row: Row, signal: AbortSignal | undefined): Promise<boolean> {
  const { db, clock, log, handlers } = deps
  const handler = handlers[row.topic]
  const last = row.attempts >= maxAttempts
  try {
    if (!handler) throw new Error(`no handler for the topic ${row.topic}`)
    await whileRenewed(deps, held, signal, (stop) => handler(JSON.parse(row.payload), { last, signal: stop }))
    await isDone(db, held, row.same)
    return false
  } catch (error) {
    const away = isProblem(error, 'HOMESERVER_UNREACHABLE')
    const dead = last && !away && !signal?.aborted // a process that ends breaks work off that may be well
    log.warn(
      { outboxId: row.id, topic: row.topic, queue: held.queue, attempts: row.attempts, err: error },
      dead ? 'follow-up work given up' : 'follow-up work failed, will be tried again',
    )
    // The whole queue waits, and this row is no worse; but it may be this one alone that the server does not answer, so it goes behind the others.
    const later = away ? { attempts: row.attempts - 1, next_at: isoNow(clock) } : { next_at: isoIn(clock, restMs(row.attempts)) }
    const set = { status: dead ? 'dead' : 'queued', last_error: String((error as Error).message), ...later } as const
    await ifHeld(db, clock, held, (tx) => tx.updateTable('outbox').set(set).where('id', '=', row.id).execute())
    return away
  }
}

/** Nothing of whoever took the queue over meanwhile is taken away. */
const isDone = (db: Db, { queue, turn }: HeldQueue, ids: readonly number[]) =>
  db
    .deleteFrom('outbox')
    .where('id', 'in', ids)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('outbox_queues').select('turn').where('queue', '=', queue).where('turn', '=', turn)),
    )
    .execute()

/** Somebody else has it by now when nothing was heard of this process for longer than its lease. */
const ifHeld = (db: Db, clock: Clock, held: HeldQueue, write: (tx: Tx) => Promise<unknown>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (await renewQueue(tx, clock, held)) await write(tx)
  })

/** However long the work takes, the queue stays ours while this process lives; once it is not, the work is told to stop. */
async function whileRenewed(
  { db, clock, log }: OutboxDeps,
  held: HeldQueue,
  signal: AbortSignal | undefined,
  work: (stop: AbortSignal) => Promise<void>,
): Promise<void> {
  // Not `AbortSignal.any`: the signal of the process outlives all work, and would remember each piece.
  const [ended, stopped] = [new AbortController(), new AbortController()]
  const stop = () => stopped.abort()
  const renewed = () => renewQueue(db, clock, held).catch((err) => log.warn({ err, queue: held.queue }, 'a lease was not renewed'))
  const renew = async () => {
    for (let until = clock.monotonicMs() + leaseMs; ; ) {
      await clock.sleep(renewEveryMs, ended.signal)
      if (ended.signal.aborted) return
      const isOurs = await renewed()
      if (isOurs) until = clock.monotonicMs() + leaseMs
      if (isOurs === false || clock.monotonicMs() >= until) return stop()
    }
  }
  void renew()
  try {
    signal?.addEventListener('abort', stop)
    if (signal?.aborted) stop()
    await work(stopped.signal)
  } finally {
    ended.abort()
    signal?.removeEventListener('abort', stop)
  }
}
