import { sql } from 'kysely'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from './database.ts'
import { placesFor, prepared } from './prepared.ts'
import type { FrameTables } from './schema.ts'

/** A stored event: its order within its stream is the order in which transactions committed. */
export type StoredEvent = Readonly<{ stream: string; seq: number; source: string; eventType: string; payload: unknown; createdAt: string }>

type NewEvent = Readonly<{ stream: string; source: string; eventType: string; payload: unknown }>

/**
 * The next number of a stream. The counter row stays locked until the commit, so numbers become visible in order and without gaps
 * for readers: call it last in the transaction, to hold the lock shortly.
 */
export async function nextSeq(tx: Tx, stream: string): Promise<number> {
  const { rows } = await countUp(tx, { stream })
  return Number(rows[0]?.seq)
}

const countUp = prepared<{ stream: string }, { seq: number }>(
  (_, place) =>
    sql<{ seq: number }>`
      insert into streams (stream, seq) values (${place('stream')}, 1)
      on conflict (stream) do update set seq = streams.seq + 1
      returning seq`,
)

/** Appends an event in the transaction of the change that it tells of. */
export async function appendEvent(tx: Tx, clock: Clock, { stream, source, eventType, payload }: NewEvent): Promise<number> {
  const seq = await nextSeq(tx, stream)
  await insertEvent(tx, { stream, seq, source, event_type: eventType, payload: JSON.stringify(payload), created_at: isoNow(clock) })
  return seq
}

const insertEvent = prepared<FrameTables['events'], unknown>((db, place) =>
  db.insertInto('events').values(placesFor(place, ['stream', 'seq', 'source', 'event_type', 'payload', 'created_at'])),
)

/** A page of a stream after `after`, oldest first. */
export async function eventsAfter(
  db: DbOrTx,
  { stream, after, limit = 500 }: { stream: string; after: number; limit?: number },
): Promise<StoredEvent[]> {
  const rows = await db
    .selectFrom('events')
    .selectAll()
    .where('stream', '=', stream)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    stream: row.stream,
    seq: Number(row.seq),
    source: row.source,
    eventType: row.event_type,
    payload: JSON.parse(row.payload),
    createdAt: row.created_at,
  }))
}
