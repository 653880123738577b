import type { Room } from '../../core/automation/index.ts'
import { noSuchPage, pageOf } from '../../core/contract/index.ts'
import { type AutomationActor, problem } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { sendAsBot } from '../homeserver/index.ts'
import { spaceOfRoom, spaceRoomsAfter } from '../spaces/index.ts'
import type { AutomationDeps } from './deps.ts'
import { chatOf, membersOfEvent, mentionsOf } from './event-rooms.ts'
import { type EventRoom, eventOfRoom, eventRoom, eventRoomsAfter } from './rooms.repo.ts'

type Deps = Pick<AutomationDeps, 'db' | 'clock' | 'homeservers'>
type Text = Readonly<{ body: string; html?: string | undefined; transactionId: string }>

/** Sends a message to the room of an event. Throws NO_ROOM, HOMESERVER_UNREACHABLE. */
export async function notifyEventRoom(deps: Deps, actor: AutomationActor, { eventId, ...text }: Text & Readonly<{ eventId: string }>) {
  const room = await eventRoom(deps.db, { tenantId: actor.tenantId, eventId })
  if (!room?.roomId) throw problem('NO_ROOM', `Event ${eventId} has no chat room in this tenant. fix: call create-room first`)
  const mentions = await mentionsOf(deps.db, room, actor.chatDomain)
  const sent = { eventId: await sendAsBot(chatOf(deps, actor), { roomId: room.roomId, mentions, ...text }), roomId: room.roomId }
  await publishNotice(deps, actor, { roomId: room.roomId, event: room })
  return sent
}

/** Sends a message to a room of a space or an event of the tenant. Throws NOT_FOUND (any other room), HOMESERVER_UNREACHABLE. */
export async function sendTenantMessage(deps: Deps, actor: AutomationActor, { roomId, ...text }: Text & Readonly<{ roomId: string }>) {
  const { tenantId } = actor
  const spaceId = await spaceOfRoom(deps.db, { tenantId, roomId })
  const event = spaceId === undefined ? await eventOfRoom(deps.db, { tenantId, roomId }) : undefined
  if (spaceId === undefined && !event)
    throw problem('NOT_FOUND', `Room ${roomId} is not a room of a space or an event of this tenant. fix: GET …/matrix/rooms lists them`)
  const sent = { eventId: await sendAsBot(chatOf(deps, actor), { roomId, ...text }), roomId }
  await publishNotice(deps, actor, { roomId, spaceId, event })
  return sent
}

type Noticed = Readonly<{ roomId: string; spaceId?: string | undefined; event?: EventRoom | undefined }>

/** The platform wrote in the room: published to the members of the space, or of the room of the event. */
async function publishNotice({ db, clock }: Deps, { tenantId }: AutomationActor, { roomId, spaceId, event }: Noticed): Promise<void> {
  const payload = { roomId, spaceId: spaceId ?? null, eventId: event?.eventId ?? null }
  const audience = spaceId === undefined ? membersOfEvent(event?.members ?? []) : { spaces: [spaceId] }
  await db.transaction().execute((tx) => recordEvent(tx, clock, { tenantId, type: 'message.notice', payload, audience }))
}

type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/** A page of rooms: those of events by event id, then those of spaces by space id. Rooms that users make for themselves are not listed. */
export async function listTenantRooms({ db }: Readonly<{ db: Db }>, { tenantId }: AutomationActor, { cursor = 'event:', limit }: Page) {
  const [, kind, after = ''] = /^(event|space):(.*)$/s.exec(cursor) ?? []
  if (kind === undefined) throw noSuchPage()
  const events = kind === 'event' ? await eventRoomsAfter(db, { tenantId, after, limit: limit + 1 }) : []
  const rooms: Room[] = events.map(({ roomId, name, eventId }) => ({ roomId: roomId ?? '', name, kind: 'event', eventId, spaceId: null }))
  if (rooms.length <= limit) {
    const from = kind === 'space' ? after : ''
    const spaces = await spaceRoomsAfter(db, { tenantId, after: from, limit: limit + 1 - rooms.length })
    rooms.push(...spaces.map(({ roomId, name, spaceId }) => ({ roomId, name, kind: 'space' as const, eventId: null, spaceId })))
  }
  const { page, nextCursor } = pageOf(rooms, limit, (last) => `${last.kind}:${last.eventId ?? last.spaceId}`)
  return { rooms: page, nextCursor }
}
