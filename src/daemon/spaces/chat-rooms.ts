import { z } from 'zod'
import { type Fault, type Homeserver, isFault, type ServiceAnswer, type ServiceRequest } from '../../core/homeserver/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { type Membership, newRoomBody, type ObservedRoom, type RoomKind, roomAliasName } from '../../core/spaces/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { adminLocalpart, homeserverProblem } from '../homeserver/index.ts'

/** The chat server of a tenant, called as its administrator, who creates and joins all rooms of spaces. */
export type Chat = Readonly<{ homeserver: Homeserver; chatDomain: string }>

export const administratorOf = ({ chatDomain }: Pick<Chat, 'chatDomain'>): string => matrixUserIdOf(adminLocalpart, chatDomain)

type Answer = Exclude<ServiceAnswer, { retryAfterSeconds: number }>

/** Sends a request. A refusal is a result. Throws HOMESERVER_UNREACHABLE. */
async function send({ homeserver, chatDomain }: Chat, request: ServiceRequest): Promise<Answer> {
  const answer = await homeserver.send({ ...request, by: 'admin' })
  if (isFault(answer)) throw homeserverProblem(answer, chatDomain)
  return answer as Answer
}

async function sendOrThrow(chat: Chat, request: ServiceRequest): Promise<Readonly<Record<string, unknown>>> {
  const answer = await send(chat, request)
  if (answer.kind === 'ok') return answer.json
  throw new Error(`the chat server refused ${request.method} ${request.path}: ${answer.status} ${answer.errcode} ${answer.reason}`)
}

const enc = encodeURIComponent
const rooms = '/_matrix/client/v3/rooms'
const directory = ({ chatDomain }: Chat, name: string) => `/_matrix/client/v3/directory/room/${enc(`#${name}:${chatDomain}`)}`

const StateEvent = z.object({
  type: z.string(),
  state_key: z.string().default(''),
  sender: z.string().default(''),
  origin_server_ts: z.int().min(0).max(8e15).default(0),
  content: z.record(z.string(), z.unknown()).default({}),
})
type StateEvent = z.infer<typeof StateEvent>

/** `whole`: created by the platform, with everything a room of a space needs. `created`: its first event; absent until the server has stored it. */
type ReadRoom = Readonly<{ room: ObservedRoom; whole: boolean; created: Readonly<{ by: string; atMs: number }> | undefined }>

/** Returns undefined if the room does not exist. */
export async function readRoom(chat: Chat, roomId: string): Promise<ReadRoom | undefined> {
  const answer = await send(chat, { method: 'GET', path: `/_synapse/admin/v1/rooms/${enc(roomId)}/state` })
  if (answer.kind === 'refused' && (answer.status === 404 || answer.errcode === 'M_INVALID_PARAM')) return undefined
  if (answer.kind === 'refused') throw new Error(`the chat server did not show the room ${roomId}: ${answer.status} ${answer.errcode}`)
  const listed = Array.isArray(answer.json.state) ? answer.json.state : []
  const state = listed.map((one) => StateEvent.safeParse(one)).flatMap(({ success, data }) => (success ? [data] : []))
  const room = { id: roomId, name: nameIn(state), links: linksIn(state), members: membersIn(state) }
  const first = state.find(({ type }) => type === 'm.room.create')
  const created = first && { by: first.sender, atMs: first.origin_server_ts }
  return { room, whole: isWhole(state, room, administratorOf(chat)), created }
}

const nameIn = (state: readonly StateEvent[]): string => {
  const name = state.find(({ type }) => type === 'm.room.name')?.content.name
  return typeof name === 'string' ? name : ''
}

/** A removed link has no `via`. */
const linksIn = (state: readonly StateEvent[]): string[] =>
  state
    .filter(({ type, content }) => /^m\.space\.(child|parent)$/.test(type) && Array.isArray(content.via))
    .map(({ state_key }) => state_key)

const membersIn = (state: readonly StateEvent[]): ReadonlyMap<string, Membership> =>
  new Map(
    state
      .filter(({ type }) => type === 'm.room.member')
      .map(({ state_key, sender, content, origin_server_ts }) => [
        state_key,
        { membership: String(content.membership), sender, at: new Date(origin_server_ts).toISOString() },
      ]),
  )

/** Only rooms created by the administrator count: the creator of a room controls it for ever. */
const isWhole = (state: readonly StateEvent[], { members }: ObservedRoom, administrator: string): boolean =>
  state.find(({ type }) => type === 'm.room.create')?.sender === administrator &&
  state.some(({ type }) => type === 'm.room.power_levels') &&
  members.get(administrator)?.membership === 'join'

type OfSpace = Readonly<{ kind: RoomKind; spaceId: string }>

/** The room id behind the alias of a space's room. */
export const findRoom = (chat: Chat, { kind, spaceId }: OfSpace): Promise<string | undefined> =>
  findAlias(chat, roomAliasName(kind, spaceId))

/** The room id behind an alias, by its local part. */
export async function findAlias(chat: Chat, name: string): Promise<string | undefined> {
  const answer = await send(chat, { method: 'GET', path: directory(chat, name) })
  if (answer.kind === 'refused' && answer.errcode === 'M_NOT_FOUND') return undefined
  if (answer.kind === 'refused' || typeof answer.json.room_id !== 'string') throw new Error('the chat server did not resolve an alias')
  return answer.json.room_id
}

/** Longer than a busy chat server takes to create a room. */
const maxCreationMs = 60_000
const pollMs = 500
const maxPolls = 10

/**
 * The whole room behind an alias, by its local part. Releases an alias of a room of another creator, and of one whose creation was abandoned. Throws
 * HOMESERVER_UNREACHABLE while the room is being created: chat servers set the alias first, and a second creation would slow down the first.
 */
export async function resolveRoom(chat: Chat, clock: Clock, name: string): Promise<ObservedRoom | undefined> {
  const roomId = await findAlias(chat, name)
  if (roomId === undefined) return undefined
  let read = await readRoom(chat, roomId)
  for (let poll = 0; poll < maxPolls && read && !read.created; poll++) {
    await clock.sleep(pollMs)
    read = await readRoom(chat, roomId)
  }
  if (read?.whole) return read.room
  const { by, atMs } = read?.created ?? { by: '', atMs: 0 }
  if (by === administratorOf(chat) && Math.abs(clock.now().getTime() - atMs) < maxCreationMs)
    throw homeserverProblem(creating, chat.chatDomain)
  await deleteAlias(chat, name)
  return undefined
}

const creating: Fault = { kind: 'unreachable', retryAfterSeconds: 5, reason: 'it is still creating the room' }

export const dropAlias = (chat: Chat, { kind, spaceId }: OfSpace): Promise<void> => deleteAlias(chat, roomAliasName(kind, spaceId))

async function deleteAlias(chat: Chat, name: string): Promise<void> {
  const answer = await send(chat, { method: 'DELETE', path: directory(chat, name) })
  if (answer.kind === 'refused' && answer.errcode !== 'M_NOT_FOUND')
    throw new Error(`the chat server did not delete the alias of a room: ${answer.errcode} ${answer.reason}`)
}

/** Returns undefined if the alias is taken: a call whose answer was lost created the room, which the alias then finds. */
export const createRoom = (chat: Chat, room: OfSpace & Readonly<{ name: string }>): Promise<string | undefined> =>
  createRoomWith(chat, newRoomBody(room))

/** The same for any body with an alias. */
export async function createRoomWith(chat: Chat, body: Readonly<{ room_alias_name: string }>): Promise<string | undefined> {
  await liftLimit(chat)
  const answer = await send(chat, { method: 'POST', path: '/_matrix/client/v3/createRoom', body })
  if (answer.kind === 'refused' && answer.errcode === 'M_ROOM_IN_USE') return undefined
  if (answer.kind === 'refused' || typeof answer.json.room_id !== 'string')
    throw new Error(
      `the chat server did not create a room: ${answer.kind === 'refused' ? `${answer.errcode} ${answer.reason}` : 'it has no id'}`,
    )
  return answer.json.room_id
}

/** Lifts the room creation limit of the administrator. Reads it first, because concurrent writes of the limit conflict in the server's database. */
async function liftLimit(chat: Chat): Promise<void> {
  const path = `/_synapse/admin/v1/users/${enc(administratorOf(chat))}/override_ratelimit`
  const { messages_per_second: limit } = await sendOrThrow(chat, { method: 'GET', path })
  if (limit !== 0) await sendOrThrow(chat, { method: 'POST', path, body: { messages_per_second: 0, burst_count: 0 } })
}

export async function renameRoom(chat: Chat, roomId: string, name: string): Promise<void> {
  await sendOrThrow(chat, { method: 'PUT', path: `${rooms}/${enc(roomId)}/state/m.room.name`, body: { name } })
}

/** Links the Matrix space to its child room, or the room to its parent space. */
export async function linkRooms(chat: Chat, { from, roomId, to }: Readonly<{ from: RoomKind; roomId: string; to: string }>): Promise<void> {
  const via = [chat.chatDomain]
  const [type, body] = from === 'space' ? ['m.space.child', { via, suggested: true }] : ['m.space.parent', { via, canonical: true }]
  await sendOrThrow(chat, { method: 'PUT', path: `${rooms}/${enc(roomId)}/state/${type}/${enc(to)}`, body })
}

type InRoom = Readonly<{ roomId: string; chatId: string }>

/** Returns false if the chat server refuses: the account is missing or deactivated. */
export async function joinRoom(chat: Chat, { roomId, chatId }: InRoom): Promise<boolean> {
  const path = `/_synapse/admin/v1/join/${enc(roomId)}`
  const answer = await send(chat, { method: 'POST', path, body: { user_id: chatId } })
  return answer.kind === 'ok' || isIn(chat, { roomId, chatId })
}

/** The server refuses a join of a user who is in the room. */
async function isIn(chat: Chat, { roomId, chatId }: InRoom): Promise<boolean> {
  const answer = await send(chat, { method: 'GET', path: `${rooms}/${enc(roomId)}/state/m.room.member/${enc(chatId)}` })
  return answer.kind === 'ok' && answer.json.membership === 'join'
}

/** Returns false if the chat server refuses. A user who is not in the room counts as kicked. */
export async function kickFrom(chat: Chat, { roomId, chatId }: InRoom): Promise<boolean> {
  const path = `${rooms}/${enc(roomId)}/kick`
  return (await send(chat, { method: 'POST', path, body: { user_id: chatId, reason: 'No longer a member of the space' } })).kind === 'ok'
}

/** Starts the deletion of a room; it is deleted when it can no longer be read. */
export async function beginDeletion(chat: Chat, roomId: string): Promise<void> {
  await send(chat, { method: 'DELETE', path: `/_synapse/admin/v2/rooms/${enc(roomId)}`, body: { block: false, purge: true } })
}
