import { z } from 'zod'
import { type Homeserver, isFault, type ServiceAnswer, type ServiceRequest } from '../../core/homeserver/index.ts'
import { type Membership, newRoomBody, type ObservedRoom, type RoomKind, roomAliasName } from '../../core/spaces/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import { adminLocalpart, homeserverProblem } from '../homeserver/index.ts'

/** The chat server of one tenant, spoken to as its administrator, who makes all rooms of spaces and is in them. */
export type Chat = Readonly<{ homeserver: Homeserver; chatDomain: string }>

export const administratorOf = ({ chatDomain }: Pick<Chat, 'chatDomain'>): string => matrixUserIdOf(adminLocalpart, chatDomain)

type Said = Exclude<ServiceAnswer, { retryAfterSeconds: number }>

/** Throws HOMESERVER_UNREACHABLE; what the server refuses is an answer. */
async function ask({ homeserver, chatDomain }: Chat, request: ServiceRequest): Promise<Said> {
  const answer = await homeserver.send({ ...request, admin: true })
  if (isFault(answer)) throw homeserverProblem(answer, chatDomain)
  return answer as Said
}

async function must(chat: Chat, request: ServiceRequest): Promise<Readonly<Record<string, unknown>>> {
  const said = await ask(chat, request)
  if (said.kind === 'ok') return said.json
  throw new Error(`the chat server refused ${request.method} ${request.path}: ${said.status} ${said.errcode} ${said.reason}`)
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

/** `whole`: it is the platform's own, with all that a room is made with. */
type ReadRoom = Readonly<{ room: ObservedRoom; whole: boolean }>

/** A room as it is; undefined when there is none. */
export async function readRoom(chat: Chat, roomId: string): Promise<ReadRoom | undefined> {
  const said = await ask(chat, { method: 'GET', path: `/_synapse/admin/v1/rooms/${enc(roomId)}/state` })
  if (said.kind === 'refused' && (said.status === 404 || said.errcode === 'M_INVALID_PARAM')) return undefined
  if (said.kind === 'refused') throw new Error(`the chat server did not show the room ${roomId}: ${said.status} ${said.errcode}`)
  const listed = Array.isArray(said.json.state) ? said.json.state : []
  const state = listed.map((one) => StateEvent.safeParse(one)).flatMap(({ success, data }) => (success ? [data] : []))
  const room = { id: roomId, name: nameIn(state), links: linksIn(state), members: membersIn(state) }
  return { room, whole: isWhole(state, room, administratorOf(chat)) }
}

const nameIn = (state: readonly StateEvent[]): string => {
  const name = state.find(({ type }) => type === 'm.room.name')?.content.name
  return typeof name === 'string' ? name : ''
}

/** A link that was taken away is there without `via`. */
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

/** Whoever made it is its master for ever, so nobody else's room is taken for one of a space. */
const isWhole = (state: readonly StateEvent[], { members }: ObservedRoom, administrator: string): boolean =>
  state.find(({ type }) => type === 'm.room.create')?.sender === administrator &&
  state.some(({ type }) => type === 'm.room.power_levels') &&
  members.get(administrator)?.membership === 'join'

type OfSpace = Readonly<{ kind: RoomKind; spaceId: string }>

/** Which room bears the name of a space's room. */
export async function findRoom(chat: Chat, { kind, spaceId }: OfSpace): Promise<string | undefined> {
  const said = await ask(chat, { method: 'GET', path: directory(chat, roomAliasName(kind, spaceId)) })
  if (said.kind === 'refused' && said.errcode === 'M_NOT_FOUND') return undefined
  if (said.kind === 'refused' || typeof said.json.room_id !== 'string')
    throw new Error('the chat server did not say what an alias stands for')
  return said.json.room_id
}

export async function dropAlias(chat: Chat, { kind, spaceId }: OfSpace): Promise<void> {
  const said = await ask(chat, { method: 'DELETE', path: directory(chat, roomAliasName(kind, spaceId)) })
  if (said.kind === 'refused' && said.errcode !== 'M_NOT_FOUND')
    throw new Error(`the chat server did not free the name of a room: ${said.errcode} ${said.reason}`)
}

/** Undefined when the name is taken: then the room was made after all by a call whose answer was lost, and is found by it. */
export async function createRoom(chat: Chat, { kind, spaceId, name }: OfSpace & Readonly<{ name: string }>): Promise<string | undefined> {
  await liftLimit(chat)
  const said = await ask(chat, { method: 'POST', path: '/_matrix/client/v3/createRoom', body: newRoomBody({ kind, spaceId, name }) })
  if (said.kind === 'refused' && said.errcode === 'M_ROOM_IN_USE') return undefined
  if (said.kind === 'refused' || typeof said.json.room_id !== 'string')
    throw new Error(`the chat server did not make a room: ${said.kind === 'refused' ? `${said.errcode} ${said.reason}` : 'it has no id'}`)
  return said.json.room_id
}

/** A user may make few rooms; the administrator makes all. Asked first: two who lift a limit at once are in each other's way in the server's database. */
async function liftLimit(chat: Chat): Promise<void> {
  const path = `/_synapse/admin/v1/users/${enc(administratorOf(chat))}/override_ratelimit`
  const { messages_per_second: limit } = await must(chat, { method: 'GET', path })
  if (limit !== 0) await must(chat, { method: 'POST', path, body: { messages_per_second: 0, burst_count: 0 } })
}

export async function renameRoom(chat: Chat, roomId: string, name: string): Promise<void> {
  await must(chat, { method: 'PUT', path: `${rooms}/${enc(roomId)}/state/m.room.name`, body: { name } })
}

/** The space names the room its child; the room names the space its parent. */
export async function linkRooms(chat: Chat, { from, roomId, to }: Readonly<{ from: RoomKind; roomId: string; to: string }>): Promise<void> {
  const via = [chat.chatDomain]
  const [type, body] = from === 'space' ? ['m.space.child', { via, suggested: true }] : ['m.space.parent', { via, canonical: true }]
  await must(chat, { method: 'PUT', path: `${rooms}/${enc(roomId)}/state/${type}/${enc(to)}`, body })
}

type InRoom = Readonly<{ roomId: string; chatId: string }>

/** False when the chat server does not let the user in: it knows none of that name, or has it shut out. */
export async function joinRoom(chat: Chat, { roomId, chatId }: InRoom): Promise<boolean> {
  const path = `/_synapse/admin/v1/join/${enc(roomId)}`
  const said = await ask(chat, { method: 'POST', path, body: { user_id: chatId } })
  return said.kind === 'ok' || isIn(chat, { roomId, chatId })
}

/** The server refuses to put in who is in already. */
async function isIn(chat: Chat, { roomId, chatId }: InRoom): Promise<boolean> {
  const said = await ask(chat, { method: 'GET', path: `${rooms}/${enc(roomId)}/state/m.room.member/${enc(chatId)}` })
  return said.kind === 'ok' && said.json.membership === 'join'
}

/** False when the chat server does not put it out; who is gone already is out. */
export async function kickFrom(chat: Chat, { roomId, chatId }: InRoom): Promise<boolean> {
  const path = `${rooms}/${enc(roomId)}/kick`
  return (await ask(chat, { method: 'POST', path, body: { user_id: chatId, reason: 'No member of the space any more' } })).kind === 'ok'
}

/** Begins to take a room away for all; it is gone when it cannot be read any more. */
export async function beginDeletion(chat: Chat, roomId: string): Promise<void> {
  await ask(chat, { method: 'DELETE', path: `/_synapse/admin/v2/rooms/${enc(roomId)}`, body: { block: false, purge: true } })
}
