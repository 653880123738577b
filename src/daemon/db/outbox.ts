import { sql } from 'kysely'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db, Tx } from './database.ts'
import { skipLocked } from './dialects.ts'

/** Which try this is: after the last one that fails the work is given up. The signal aborts when this process is about to end. */
type OutboxTry = Readonly<{ last: boolean; signal?: AbortSignal | undefined }>

/** Does the follow-up work of one topic. It must be idempotent: after a crash it is called again. Throwing means "later". */
export type OutboxHandler = (payload: unknown, attempt: OutboxTry) => Promise<void>

type Needs = Readonly<{ db: Db; clock: Clock; log: Logger; handlers: Readonly<Record<string, OutboxHandler>> }>

const leaseMs = 60_000
const maxAttempts = 12
const backoffMs = (attempts: number) => Math.min(1000 * 2 ** attempts, 60 * 60_000)

/** Notes follow-up work in the transaction of the change that needs it, so that neither exists without the other. */
export async function enqueueOutbox(tx: Tx, clock: Clock, { topic, payload }: { topic: string; payload: unknown }): Promise<void> {
  const now = isoNow(clock)
  await tx
    .insertInto('outbox')
    .values({
      topic,
      payload: JSON.stringify(payload),
      status: 'pending',
      attempts: 0,
      next_at: now,
      lease_until: null,
      last_error: null,
      created_at: now,
    })
    .execute()
}

/** Works off what is due, one row at a time, and deletes what is done; returns how many rows it took. Any number of replicas may call it at once. */
export async function drainOutbox(needs: Needs, signal?: AbortSignal): Promise<number> {
  for (let taken = 0; ; taken++) {
    const row = signal?.aborted ? undefined : await leaseNext(needs)
    if (!row) return taken
    await deliver(needs, row, signal)
  }
}

type LeasedRow = { id: number; topic: string; payload: string; attempts: number }

/**
 * A row whose lease ran out belonged to a process that died; it is due again. What was tried least goes first: a thousand mails to a server
 * that does not answer hold up nothing that is new.
 */
async function leaseNext({ db, clock }: Needs): Promise<LeasedRow | undefined> {
  const now = isoNow(clock)
  const { rows } = await sql<LeasedRow>`
    update outbox set status = 'leased', attempts = attempts + 1, lease_until = ${isoIn(clock, leaseMs)}
    where id = (
      select id from outbox
      where (status = 'pending' and next_at <= ${now}) or (status = 'leased' and lease_until <= ${now})
      order by attempts, id limit 1 ${skipLocked(db)}
    )
    returning id, topic, payload, attempts`.execute(db)
  return rows[0]
}

async function deliver({ db, clock, log, handlers }: Needs, row: LeasedRow, signal: AbortSignal | undefined): Promise<void> {
  const handler = handlers[row.topic]
  const last = row.attempts >= maxAttempts
  try {
    if (!handler) throw new Error(`no handler for the topic ${row.topic}`)
    await handler(JSON.parse(row.payload), { last, signal })
    await db.deleteFrom('outbox').where('id', '=', row.id).execute()
  } catch (error) {
    const dead = last && !signal?.aborted // a process that ends breaks work off that may be well
    log.warn(
      { outboxId: row.id, topic: row.topic, attempts: row.attempts, err: error },
      dead ? 'follow-up work given up' : 'follow-up work failed, will be tried again',
    )
    await db
      .updateTable('outbox')
      .set({
        status: dead ? 'dead' : 'pending',
        next_at: isoIn(clock, backoffMs(row.attempts)),
        lease_until: null,
        last_error: String((error as Error).message),
      })
      .where('id', '=', row.id)
      .where('attempts', '=', row.attempts) // somebody else has it by now when this took longer than its lease
      .execute()
  }
}
