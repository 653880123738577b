import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import { type Db, type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import type { AutomationRoomTable } from './automation.tables.ts'

export type EventRoom = Readonly<{
  tenantId: string
  eventId: string
  roomId: string | null
  name: string
  topic: string | null
  /** Ids of users. */
  members: readonly string[]
}>

const toRoom = (row: AutomationRoomTable): EventRoom => ({
  ...{ tenantId: row.tenant_id, eventId: row.event_id, roomId: row.room_id, name: row.name, topic: row.topic },
  members: JSON.parse(row.members),
})

type One = Readonly<{ tenantId: string; eventId: string }>

export async function eventRoom(db: DbOrTx, { tenantId, eventId }: One): Promise<EventRoom | undefined> {
  const query = db.selectFrom('automation_rooms').selectAll().where('tenant_id', '=', tenantId).where('event_id', '=', eventId)
  const row = await query.executeTakeFirst()
  return row && toRoom(row)
}

/** Inserts the room of an event, or adds members to it. Name and topic of an existing room stay. */
export async function addToEventRoom(tx: Tx, room: Omit<EventRoom, 'roomId'>, at: string): Promise<EventRoom> {
  const { tenantId, eventId, name, topic, members } = room
  const row = { tenant_id: tenantId, event_id: eventId, room_id: null, name, topic, members: '[]', created_at: at }
  await tx
    .insertInto('automation_rooms')
    .values(row)
    .onConflict((c) => c.doNothing())
    .execute()
  const one = tx.selectFrom('automation_rooms').selectAll().where('tenant_id', '=', tenantId).where('event_id', '=', eventId)
  const found = toRoom(await one.modifyEnd(forUpdate(tx)).executeTakeFirstOrThrow())
  const all = [...new Set([...found.members, ...members])]
  await tx
    .updateTable('automation_rooms')
    .set({ members: JSON.stringify(all) })
    .where('tenant_id', '=', tenantId)
    .where('event_id', '=', eventId)
    .execute()
  return { ...found, members: all }
}

export async function recordEventRoomId(tx: Tx, { tenantId, eventId }: One, roomId: string): Promise<void> {
  await tx
    .updateTable('automation_rooms')
    .set({ room_id: roomId })
    .where('tenant_id', '=', tenantId)
    .where('event_id', '=', eventId)
    .execute()
}

type Page = Readonly<{ tenantId: string; after: string; limit: number }>

/** Rooms that the chat server has made, by event id. */
export async function eventRoomsAfter(db: DbOrTx, { tenantId, after, limit }: Page): Promise<EventRoom[]> {
  const rows = await db
    .selectFrom('automation_rooms')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('room_id', 'is not', null)
    .where('event_id', '>', after)
    .orderBy('event_id')
    .limit(limit)
    .execute()
  return rows.map(toRoom)
}

export async function eventOfRoom(
  db: DbOrTx,
  { tenantId, roomId }: Readonly<{ tenantId: string; roomId: string }>,
): Promise<EventRoom | undefined> {
  const query = db.selectFrom('automation_rooms').selectAll().where('tenant_id', '=', tenantId).where('room_id', '=', roomId)
  const row = await query.executeTakeFirst()
  return row && toRoom(row)
}

const daysKept = 365

/** Deletes the records of old events and their rooms; the rooms themselves stay in the chat. */
export async function deleteOldRooms({ db, clock }: Readonly<{ db: Db; clock: Clock }>): Promise<string> {
  const old = db.deleteFrom('automation_rooms').where('created_at', '<=', isoIn(clock, -daysKept * 86_400_000))
  return plural(Number((await old.executeTakeFirst()).numDeletedRows), 'room of an old event', 'rooms of old events')
}
