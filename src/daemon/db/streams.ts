import { type Selectable, sql } from 'kysely'
import type { Audience, EventType } from '../../core/events/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from './database.ts'
import { notifyOnCommit } from './dialects.ts'
import { prepared, preparedRows } from './prepared.ts'
import type { EventTable } from './schema.ts'

/** A stored event: its order within its stream is the order in which transactions committed. */
export type StoredEvent = Readonly<{
  stream: string
  seq: number
  source: string
  eventType: string
  payload: unknown
  createdAt: string
  /** Whose it is; null: the platform's own. */
  tenantId: string | null
  /** Who of the tenant is told; null: nobody. */
  audience: Audience | null
}>

type NewEvent = Readonly<{
  stream: string
  source: string
  eventType: EventType
  payload: unknown
  tenantId?: string
  audience?: Audience
}>

/**
 * The next number of a stream. The counter row stays locked until the commit, so numbers become visible in order and without gaps
 * for readers: call it last in the transaction, to hold the lock shortly.
 */
export const nextSeq = (tx: Tx, stream: string): Promise<number> => lastOf(tx, stream, 1)

/** Counts up by so many; answers the last of these numbers. */
async function lastOf(tx: Tx, stream: string, by: number): Promise<number> {
  const { rows } = await countUp(tx, { stream, by })
  return Number(rows[0]?.seq)
}

const countUp = prepared<{ stream: string; by: number }, { seq: number }>(
  (_, place) =>
    sql<{ seq: number }>`
      insert into streams (stream, seq) values (${place('stream')}, ${place('by')})
      on conflict (stream) do update set seq = streams.seq + excluded.seq
      returning seq`,
)

/** Appends an event in the transaction of the change that it tells of. */
export const appendEvent = (tx: Tx, clock: Clock, { stream, ...event }: NewEvent): Promise<number> =>
  appendEvents(tx, stream, [{ ...event, createdAt: isoNow(clock) }])

type DatedEvent = Readonly<Omit<NewEvent, 'stream'> & { createdAt: string }>

/** Appends several, which is not none, in their order; answers the number of the last. */
export async function appendEvents(tx: Tx, stream: string, events: readonly DatedEvent[]): Promise<number> {
  const last = await lastOf(tx, stream, events.length)
  const first = last - events.length + 1
  await insertEvents(
    tx,
    events.map((event, at) => rowOf(event, stream, first + at)),
  )
  if (events.some(({ audience }) => audience !== undefined)) await notifyOnCommit(tx, stream)
  return last
}

const rowOf = ({ source, eventType, payload, createdAt, tenantId, audience }: DatedEvent, stream: string, seq: number): EventTable => ({
  stream,
  seq,
  source,
  event_type: eventType,
  payload: JSON.stringify(payload),
  created_at: createdAt,
  tenant_id: tenantId ?? null,
  audience: audience === undefined ? null : JSON.stringify(audience),
})

const insertEvents = preparedRows<EventTable>(
  ['stream', 'seq', 'source', 'event_type', 'payload', 'created_at', 'tenant_id', 'audience'],
  (db, rows) => db.insertInto('events').values([...rows]),
)

export const toEvent = (row: Selectable<EventTable>): StoredEvent => ({
  stream: row.stream,
  seq: Number(row.seq),
  source: row.source,
  eventType: row.event_type,
  payload: JSON.parse(row.payload),
  createdAt: row.created_at,
  tenantId: row.tenant_id,
  audience: row.audience === null ? null : JSON.parse(row.audience),
})

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
  return rows.map(toEvent)
}

/** The number of the newest event of a stream; 0 when it has none. */
export async function headOf(db: DbOrTx, stream: string): Promise<number> {
  const row = await db.selectFrom('streams').select('seq').where('stream', '=', stream).executeTakeFirst()
  return Number(row?.seq ?? 0)
}
