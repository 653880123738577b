import { type Homeserver, isFault, type ServiceRequest } from '../../core/homeserver/index.ts'
import { problem } from '../../core/kit/index.ts'
import { botOf } from './bot-token.ts'
import { homeserverProblem } from './call.ts'

type Chat = Readonly<{ homeserver: Homeserver; chatDomain: string }>

type BotMessage = Readonly<{
  /** A room that the platform made. */
  roomId: string
  body: string
  html?: string | undefined
  /** Chat ids of those whose phones shall notify with a sound. */
  mentions?: readonly string[] | undefined
  /** The same id within a day sends nothing and returns the same event id, also over a restart of the chat server. */
  transactionId: string
}>

/**
 * Sends a message as the platform's bot and returns its event id. The bot joins the room by its first message. Throws HOMESERVER_UNREACHABLE
 * (down, or fenced during an update), PAYLOAD_TOO_LARGE, NO_ROOM (the chat server has no such room, or the platform is not in it).
 */
export async function sendAsBot(chat: Chat, sent: BotMessage): Promise<string> {
  const message = withMentionsThatFit(sent)
  assertFits(message)
  const first = await put(chat, message)
  if (first.eventId !== undefined) return first.eventId
  await enter(chat, message.roomId)
  const second = await put(chat, message)
  if (second.eventId !== undefined) return second.eventId
  throw noRoom(message.roomId, second.reason)
}

const enc = encodeURIComponent

/** Chat servers accept events of 65,536 bytes, with their signatures and references beside this content. */
const maxContentBytes = 60_000

const contentOf = ({ body, html, mentions = [] }: BotMessage) => ({
  msgtype: 'm.text',
  body,
  ...(html === undefined ? {} : { format: 'org.matrix.custom.html', formatted_body: html }),
  ...(mentions.length === 0 ? {} : { 'm.mentions': { user_ids: [...mentions] } }),
})

const contentBytes = (message: BotMessage): number => Buffer.byteLength(JSON.stringify(contentOf(message)))

/** A long message is sent with fewer mentions rather than not at all. */
function withMentionsThatFit(message: BotMessage): BotMessage {
  let { mentions = [] } = message
  while (mentions.length > 0 && contentBytes({ ...message, mentions }) > maxContentBytes)
    mentions = mentions.slice(0, Math.floor(mentions.length / 2))
  return { ...message, mentions }
}

function assertFits(message: BotMessage): void {
  const bytes = contentBytes(message)
  if (bytes <= maxContentBytes) return
  throw problem(
    'PAYLOAD_TOO_LARGE',
    `The message takes ${bytes} bytes; a chat room accepts ${maxContentBytes}. fix: shorten it, or split it into several`,
  )
}

async function put(chat: Chat, message: BotMessage) {
  const { roomId, transactionId } = message
  const path = `/_matrix/client/v3/rooms/${enc(roomId)}/send/m.room.message/${enc(transactionId)}`
  const answer = await ask(chat, { method: 'PUT', path, body: contentOf(message), by: 'bot' })
  if (answer.kind === 'ok' && typeof answer.json.event_id === 'string') return { eventId: answer.json.event_id, reason: '' }
  return { eventId: undefined, reason: answer.kind === 'ok' ? 'no event id' : `${answer.errcode} ${answer.reason}` }
}

/** Lets the administrator join the bot to the room, where it may be. Its device has limits that an application service does not have. */
async function enter(chat: Chat, roomId: string): Promise<void> {
  const unlimited = { messages_per_second: 0, burst_count: 0 }
  const limits = `/_synapse/admin/v1/users/${enc(botOf(chat))}/override_ratelimit`
  // Read first: concurrent writes of the limit conflict in the server's database.
  const now = await ask(chat, { method: 'GET', path: limits, by: 'admin' })
  if (now.kind !== 'ok' || now.json.messages_per_second !== 0)
    await ask(chat, { method: 'POST', path: limits, body: unlimited, by: 'admin' })
  await ask(chat, { method: 'POST', path: `/_synapse/admin/v1/join/${enc(roomId)}`, body: { user_id: botOf(chat) }, by: 'admin' })
}

async function ask({ homeserver, chatDomain }: Chat, request: ServiceRequest) {
  const answer = await homeserver.send(request)
  if (isFault(answer)) throw homeserverProblem(answer, chatDomain)
  return answer
}

const noRoom = (roomId: string, reason: string) =>
  problem('NO_ROOM', `The chat server accepts no message in room ${roomId}: ${reason}. fix: create the room again with create-room`)
