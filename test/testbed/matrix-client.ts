// A small Matrix client for the tests: plain HTTP, every failure a MatrixError with Synapse's own errcode.
// It talks to a listener of a box's edge or straight to Synapse; `headers` carries the edge's secret where one is needed.
import { createHmac, randomUUID } from 'node:crypto'

export interface ChatServer {
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface ChatSession extends ChatServer {
  readonly userId: string
  readonly accessToken: string
  readonly deviceId: string
}

export interface ChatMessage {
  readonly eventId: string
  readonly sender: string
  readonly body: string
  /** Milliseconds since 1970, by the server's clock. */
  readonly sentAt: number
}

export interface SyncAnswer {
  readonly nextBatch: string
  /** Messages of joined rooms in this answer, oldest first within a room. */
  readonly messages: readonly (ChatMessage & { readonly roomId: string })[]
  readonly invitedTo: readonly string[]
}

class MatrixError extends Error {
  readonly status: number
  readonly errcode: string
  readonly retryAfterMs: number | undefined
  constructor(request: string, status: number, body: Json) {
    super(`${request} answered ${status} ${String(body.errcode ?? '')}: ${String(body.error ?? '')}`)
    this.name = 'MatrixError'
    this.status = status
    this.errcode = String(body.errcode ?? '')
    this.retryAfterMs = typeof body.retry_after_ms === 'number' ? body.retry_after_ms : undefined
  }
}

type Json = Record<string, unknown>
interface Call {
  readonly method?: string
  readonly json?: unknown
  readonly bytes?: Uint8Array<ArrayBuffer>
  readonly contentType?: string
  readonly accessToken?: string
  readonly signal?: AbortSignal
}

const part = encodeURIComponent
/** Longer than any answer takes: one that never comes is a failure of that call and not of a whole file. */
const answerMs = 120_000

async function send(server: ChatServer, path: string, call: Call = {}): Promise<Response> {
  const method = call.method ?? 'GET'
  const headers: Record<string, string> = { ...server.headers }
  if (call.accessToken) headers.authorization = `Bearer ${call.accessToken}`
  if (call.json !== undefined) headers['content-type'] = 'application/json'
  else if (call.contentType) headers['content-type'] = call.contentType
  const response = await fetch(server.baseUrl + path, {
    method,
    headers,
    body: call.json === undefined ? (call.bytes ?? null) : JSON.stringify(call.json),
    signal: call.signal ?? AbortSignal.timeout(answerMs),
  })
  if (response.ok) return response
  const text = await response.text()
  throw new MatrixError(`${method} ${path.split('?')[0]}`, response.status, parsed(text))
}

// An answer that is no JSON is a finding too: it becomes the message.
function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return { error: `not JSON: ${text.slice(0, 200)}` }
  }
}

async function ask<T = Json>(server: ChatServer, path: string, call: Call = {}): Promise<T> {
  return (await (await send(server, path, call)).json()) as T
}

const asUser = <T = Json>(session: ChatSession, path: string, call: Call = {}) =>
  ask<T>(session, path, { ...call, accessToken: session.accessToken })

interface LoginAnswer {
  readonly user_id: string
  readonly access_token: string
  readonly device_id: string
}

const sessionFrom = (server: ChatServer, answer: LoginAnswer): ChatSession => ({
  ...server,
  userId: answer.user_id,
  accessToken: answer.access_token,
  deviceId: answer.device_id,
})

/** By shared secret at the admin API, which the public listener does not serve. */
export async function registerUser(
  server: ChatServer,
  user: { username: string; password: string; sharedSecret: string; admin?: boolean },
): Promise<ChatSession> {
  const { username, password, sharedSecret, admin = false } = user
  const path = '/_synapse/admin/v1/register'
  const { nonce } = await ask<{ nonce: string }>(server, path)
  const mac = createHmac('sha1', sharedSecret)
    .update([nonce, username, password, admin ? 'admin' : 'notadmin'].join('\0'))
    .digest('hex')
  return sessionFrom(server, await ask<LoginAnswer>(server, path, { method: 'POST', json: { nonce, username, password, admin, mac } }))
}

export async function logIn(server: ChatServer, user: { username: string; password: string; deviceName?: string }): Promise<ChatSession> {
  const json = {
    type: 'm.login.password',
    identifier: { type: 'm.id.user', user: user.username },
    password: user.password,
    initial_device_display_name: user.deviceName ?? 'tests',
  }
  return sessionFrom(server, await ask<LoginAnswer>(server, '/_matrix/client/v3/login', { method: 'POST', json }))
}

/** Private, and without encryption, so that tests can read what they wrote. */
export async function createRoom(session: ChatSession, options: { name?: string; invite?: readonly string[] } = {}): Promise<string> {
  const json = { preset: 'private_chat', name: options.name, invite: options.invite ?? [] }
  return (await asUser<{ room_id: string }>(session, '/_matrix/client/v3/createRoom', { method: 'POST', json })).room_id
}

export async function joinRoom(session: ChatSession, roomId: string): Promise<void> {
  await asUser(session, `/_matrix/client/v3/join/${part(roomId)}`, { method: 'POST', json: {} })
}

/** The same transaction id again is the same message: a retry after a lost answer sends nothing twice. Returns the event's id. */
export async function sendMessage(
  session: ChatSession,
  roomId: string,
  body: string,
  transactionId: string = randomUUID(),
): Promise<string> {
  const path = `/_matrix/client/v3/rooms/${part(roomId)}/send/m.room.message/${part(transactionId)}`
  return (await asUser<{ event_id: string }>(session, path, { method: 'PUT', json: { msgtype: 'm.text', body } })).event_id
}

/** Returns the `mxc://` address. */
export async function uploadMedia(session: ChatSession, bytes: Uint8Array, contentType = 'application/octet-stream'): Promise<string> {
  const call = { method: 'POST', bytes: new Uint8Array(bytes), contentType }
  return (await asUser<{ content_uri: string }>(session, '/_matrix/media/v3/upload', call)).content_uri
}

/** By the authenticated endpoint, or by the older one on servers that lack it (before 1.111). */
export async function downloadMedia(session: ChatSession, mxc: string): Promise<Uint8Array> {
  const [origin = '', id = ''] = mxc.replace('mxc://', '').split('/')
  const at = (prefix: string) => send(session, `${prefix}/download/${part(origin)}/${part(id)}`, { accessToken: session.accessToken })
  const response = await at('/_matrix/client/v1/media').catch((error: unknown) => {
    if (error instanceof MatrixError && error.errcode === 'M_UNRECOGNIZED') return at('/_matrix/media/v3')
    throw error
  })
  return new Uint8Array(await response.arrayBuffer())
}

interface RawEvent {
  readonly type: string
  readonly event_id: string
  readonly sender: string
  readonly origin_server_ts: number
  readonly content: { readonly body?: string }
}

const messagesAmong = (events: readonly RawEvent[]): ChatMessage[] =>
  events
    .filter((event) => event.type === 'm.room.message')
    .map((event) => ({
      eventId: event.event_id,
      sender: event.sender,
      body: event.content.body ?? '',
      sentAt: event.origin_server_ts,
    }))

/** Every message of a room, oldest first, however many pages that takes. */
export async function readMessages(session: ChatSession, roomId: string, pageSize = 100): Promise<ChatMessage[]> {
  const messages: ChatMessage[] = []
  let from: string | undefined
  do {
    const query = new URLSearchParams({ dir: 'f', limit: String(pageSize), ...(from ? { from } : {}) })
    const path = `/_matrix/client/v3/rooms/${part(roomId)}/messages?${query}`
    const page = await asUser<{ chunk: RawEvent[]; end?: string }>(session, path)
    messages.push(...messagesAmong(page.chunk))
    from = page.end
  } while (from !== undefined)
  return messages
}

interface RawSync {
  readonly next_batch: string
  readonly rooms?: {
    readonly join?: Record<string, { readonly timeline: { readonly events: readonly RawEvent[] } }>
    readonly invite?: Record<string, unknown>
  }
}

/** `timeoutMs` 0 answers at once; else the server holds the request until something happens. */
export async function sync(
  session: ChatSession,
  options: { since?: string; timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<SyncAnswer> {
  const query = new URLSearchParams({ timeout: String(options.timeoutMs ?? 0), ...(options.since ? { since: options.since } : {}) })
  const call = options.signal ? { signal: options.signal } : {}
  const answer = await asUser<RawSync>(session, `/_matrix/client/v3/sync?${query}`, call)
  return {
    nextBatch: answer.next_batch,
    messages: Object.entries(answer.rooms?.join ?? {}).flatMap(([roomId, room]) =>
      messagesAmong(room.timeline.events).map((message) => ({ ...message, roomId })),
    ),
    invitedTo: Object.keys(answer.rooms?.invite ?? {}),
  }
}
