import { type Selectable, sql } from 'kysely'
import type { Audience, EventType } from '../../core/events/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { DbOrTx, Tx } from './database.ts'
import { tellOnCommit } from './dialects.ts'
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
export async function nextSeq(tx: Tx, stream: string): Promise<number> {
  const { rows } = await sql<{ seq: number }>`
    insert into streams (stream, seq) values (${stream}, 1)
    on conflict (stream) do update set seq = streams.seq + 1
    returning seq`.execute(tx)
  return Number(rows[0]?.seq)
}

/** Appends an event in the transaction of the change that it tells of. */
export async function appendEvent(tx: Tx, clock: Clock, event: NewEvent): Promise<number> {
  const { stream, source, eventType, payload, tenantId = null, audience } = event
  const seq = await nextSeq(tx, stream)
  await tx
    .insertInto('events')
    .values({
      stream,
      seq,
      source,
      event_type: eventType,
      payload: JSON.stringify(payload),
      created_at: isoNow(clock),
      tenant_id: tenantId,
      audience: audience === undefined ? null : JSON.stringify(audience),
    })
    .execute()
  if (audience !== undefined) await tellOnCommit(tx, stream)
  return seq
}

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
