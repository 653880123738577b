import type { Selectable } from 'kysely'
import type { Audience, EventType, ModuleEventType } from '../../core/events/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import { notifyOnCommit } from './commit-notifications.ts'
import type { DbOrTx, Tx } from './database.ts'
import { inBatches } from './dialects.ts'
import type { EventTable } from './schema.ts'
import { executeWrites, type Write } from './writes.ts'

/** A stored event. The order within a stream is the order in which transactions committed. */
export type StoredEvent = Readonly<{
  stream: string
  seq: number
  source: string
  eventType: string
  payload: unknown
  createdAt: string
  /** Null: an event of the platform. */
  tenantId: string | null
  /** Which users of the tenant receive it; null: none. */
  audience: Audience | null
}>

type NewEvent = Readonly<{
  stream: string
  source: string
  eventType: EventType | ModuleEventType
  payload: unknown
  tenantId?: string
  /** Null: no user receives it, but readers of the stream are notified. */
  audience?: Audience | null
}>

/**
 * The next number of a stream. The counter's row stays locked until the commit, so readers see numbers in order and without gaps.
 * Call it last in the transaction, to keep the lock short.
 */
export async function nextSeq(tx: Tx, stream: string): Promise<number> {
  const [row] = await executeWrites(tx, [takeNumbers(stream, 1)])
  return Number((row as { seq: number }).seq)
}

/** Takes the next numbers of a stream; `seq` is the last of them. */
const takeNumbers = (stream: string, count: number): Write => ({
  name: 'taken',
  text: (bind) => `insert into streams (stream, seq) values (${bind(stream)}, ${bind(count)})
    on conflict (stream) do update set seq = streams.seq + excluded.seq returning seq`,
})

/** Appends an event in the transaction of its change. Returns the event's number. */
export const appendEvent = (tx: Tx, clock: Clock, { stream, ...event }: NewEvent): Promise<number> =>
  appendEvents(tx, stream, [{ ...event, createdAt: isoNow(clock) }])

type DatedEvent = Readonly<Omit<NewEvent, 'stream'> & { createdAt: string }>

/** Appends at least one event, in order. Returns the number of the last. Notifies listeners on commit unless all are internal. */
export async function appendEvents(tx: Tx, stream: string, events: readonly DatedEvent[]): Promise<number> {
  return writeWithEvents(tx, [], { stream, events })
}

type Appended = Readonly<{ stream: string; events: readonly DatedEvent[] }>

/** Executes writes, then appends at least one event, in order. Returns the number of the last. */
export async function writeWithEvents(tx: Tx, writes: readonly Write[], { stream, events }: Appended): Promise<number> {
  const [first = [], ...others] = inBatches(events.map((event) => rowOf(event, stream)))
  const appended = await executeWrites(tx, [...writes, takeNumbers(stream, events.length), insertEvents(stream, first, events.length)])
  const seqOfFirst = Number((appended[0] as { seq: number }).seq)
  const numbered = (rows: typeof first, batch: number) => rows.map((row, n) => ({ ...row, seq: seqOfFirst + batch * first.length + n }))
  for (const [nth, rows] of others.entries())
    await tx
      .insertInto('events')
      .values(numbered(rows, nth + 1))
      .execute()
  if (events.some(({ audience }) => audience !== undefined)) await notifyOnCommit(tx, stream)
  return seqOfFirst + events.length - 1
}

/** Inserts the first of the events for which `takeNumbers` took numbers. */
const insertEvents = (stream: string, rows: readonly Omit<EventTable, 'seq'>[], count: number): Write => ({
  text: (bind, dialect) => {
    const taken = () => (dialect === 'postgres' ? 'select seq from taken' : `select seq from streams where stream = ${bind(stream)}`)
    const columns = Object.keys(rows[0] ?? {}) as (keyof (typeof rows)[number])[]
    const tuples = rows.map((row, n) => `((${taken()}) - ${count - 1 - n}, ${columns.map((column) => bind(row[column])).join(', ')})`)
    return `insert into events (seq, ${columns.join(', ')}) values ${tuples.join(', ')} returning seq`
  },
})

const rowOf = ({ source, eventType, payload, createdAt, tenantId, audience }: DatedEvent, stream: string): Omit<EventTable, 'seq'> => ({
  stream,
  source,
  event_type: eventType,
  payload: JSON.stringify(payload),
  created_at: createdAt,
  tenant_id: tenantId ?? null,
  audience: audience === undefined || audience === null ? null : JSON.stringify(audience),
})

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

/** A page of a stream after the number `after`, oldest first. */
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

/** Deletes the counter of a stream whose events are gone for good. */
export async function deleteStream(tx: Tx, stream: string): Promise<void> {
  await tx.deleteFrom('streams').where('stream', '=', stream).execute()
}
