import { createHmac } from 'node:crypto'
import { type Random, randomText, type Secret } from '../../core/kit/index.ts'
import type { LocalBox, ProbeAccount } from '../ports/index.ts'
import { type Answer, ask, need, type Origin } from './http.ts'

const api = '/_matrix/client/v3'
const eventType = 'dev.tenantry.probe'
const localpart = 'tenantry-probe'

type Asking = Readonly<{ random: Random; signal?: AbortSignal | undefined }>

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const as = ({ userId }: Pick<ProbeAccount, 'userId'>) => `user_id=${encodeURIComponent(userId)}`

export async function checkVersions(origin: Origin, signal?: AbortSignal): Promise<void> {
  const { versions } = await need(origin, '/_matrix/client/versions', { signal })
  if (!Array.isArray(versions)) throw new Error('/_matrix/client/versions returned an unexpected response')
}

/** Sends an event to the probe room and expects it in the next sync. */
export async function checkMessageRoundTrip({ random, signal }: Asking, origin: Origin, account: ProbeAccount): Promise<void> {
  const headers = bearer(account.accessToken)
  const room = encodeURIComponent(account.roomId)
  const once = randomText(random, 20)
  const sent = await need(origin, `${api}/rooms/${room}/send/${eventType}/${once}?${as(account)}`, {
    method: 'PUT',
    body: {},
    headers,
    signal,
  })
  const synced = await syncRoom(origin, { account, once }, signal)
  if (!eventIds(synced, account.roomId).includes(sent.event_id)) throw new Error('the sent event is missing in the sync')
}

/** A first sync of the probe user, which reads the database. */
export async function checkSync({ random, signal }: Asking, origin: Origin, account: ProbeAccount): Promise<void> {
  const { next_batch } = await syncRoom(origin, { account, once: randomText(random, 20) }, signal)
  if (typeof next_batch !== 'string') throw new Error(`${api}/sync returned an unexpected response`)
}

type FirstSync = Readonly<{ account: ProbeAccount; once: string }>

const syncRoom = (origin: Origin, { account, once }: FirstSync, signal?: AbortSignal) =>
  need(origin, `${api}/sync?timeout=0&filter=${encodeURIComponent(syncFilter(account.roomId, once))}&${as(account)}`, {
    headers: bearer(account.accessToken),
    signal,
  })

// Synapse caches the first sync by filter for minutes; a random user id makes the filter unique.
const syncFilter = (room: string, once: string): string => {
  const none = { types: [] }
  return JSON.stringify({
    room: { rooms: [room], timeline: { limit: 10, not_senders: [`@${once}:tenantry.invalid`] }, state: none, ephemeral: none },
    presence: none,
    account_data: none,
  })
}

function eventIds(synced: Record<string, unknown>, room: string): unknown[] {
  const { rooms } = synced as { rooms?: { join?: Record<string, { timeline?: { events?: { event_id?: unknown }[] } }> } }
  return (rooms?.join?.[room]?.timeline?.events ?? []).map(({ event_id }) => event_id)
}

/** Without a probe account, only checks that sync requires a token. */
export async function checkTokenRequired(origin: Origin, signal?: AbortSignal): Promise<void> {
  const { status, json } = await ask(origin, `${api}/sync?timeout=0`, { signal })
  if (status !== 401 || (json as { errcode?: string })?.errcode !== 'M_MISSING_TOKEN') throw new Error(`${api}/sync answered ${status}`)
}

/** Any answer will do. A server that starts refuses the connection. */
export const isListening = (origin: Origin): Promise<boolean> =>
  ask(origin, '/health').then(
    () => true,
    () => false,
  )

export async function chatVersion(origin: Origin): Promise<string | undefined> {
  const { server_version } = await need(origin, '/_synapse/admin/v1/server_version')
  return typeof server_version === 'string' ? server_version.slice(0, 100) : undefined
}

/** The token is that of the application service. */
type NewAccount = Readonly<{ box: LocalBox; token: Secret }>

/** Creates or finds the probe user of the application service and its room. */
export async function makeAccount(origin: Origin, { box, token }: NewAccount, signal?: AbortSignal): Promise<ProbeAccount> {
  const accessToken = token.reveal()
  const headers = bearer(accessToken)
  const userId = `@${localpart}:${box.chatDomain}`
  const body = { type: 'm.login.application_service', username: localpart, inhibit_login: true }
  const { status, json } = await ask(origin, `${api}/register`, { method: 'POST', body, headers, signal })
  const { errcode } = (json ?? {}) as { errcode?: string }
  if (status !== 200 && errcode !== 'M_USER_IN_USE') throw new Error(`registering ${userId} answered ${status} ${errcode ?? ''}`)
  const { joined_rooms } = await need(origin, `${api}/joined_rooms?${as({ userId })}`, { headers, signal })
  const found = Array.isArray(joined_rooms) ? (joined_rooms as string[]).sort()[0] : undefined
  if (found !== undefined) return { userId, accessToken, roomId: found }
  const { room_id } = await need(origin, `${api}/createRoom?${as({ userId })}`, { method: 'POST', body: probeRoom, headers, signal })
  return { userId, accessToken, roomId: String(room_id) }
}

const probeRoom = { preset: 'private_chat', name: 'Probe', creation_content: { 'm.federate': false } }

/** Creates a user with a random password and a room, with the registration secret. */
export async function makeTemporaryAccount({ random, signal }: Asking, origin: Origin, registration: Secret): Promise<ProbeAccount> {
  const path = '/_synapse/admin/v1/register'
  const { nonce } = await need(origin, path, { signal })
  const username = `tenantry-drill-${randomText(random, 10).toLowerCase()}`
  const password = randomText(random, 30)
  const mac = createHmac('sha1', registration.reveal()).update([nonce, username, password, 'notadmin'].join('\0')).digest('hex')
  const body = { nonce, username, password, mac, admin: false }
  const { user_id, access_token } = await need(origin, path, { method: 'POST', body, signal })
  const account = { userId: String(user_id), accessToken: String(access_token) }
  const { room_id } = await need(origin, `${api}/createRoom`, {
    method: 'POST',
    body: probeRoom,
    headers: bearer(account.accessToken),
    signal,
  })
  return { ...account, roomId: String(room_id) }
}

const query = ({ userId }: ProbeAccount) => `user_id=${encodeURIComponent(userId)}`

/** Uploads and downloads a small media file, which detects a read-only media folder. Other checks cover a server that does not respond. */
export async function checkMedia(chat: Origin, account: ProbeAccount, signal?: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${account.accessToken}` }
  const uploaded = await ask(chat, `/_matrix/media/v3/upload?filename=probe&${query(account)}`, {
    method: 'POST',
    body: { probe: true },
    headers,
    signal,
  }).catch(() => undefined)
  if (!uploaded) return
  const [, place] =
    /^mxc:\/\/([^/]+\/[A-Za-z0-9_-]+)$/.exec(String((uploaded.json as { content_uri?: unknown } | undefined)?.content_uri ?? '')) ?? []
  if (uploaded.status !== 200 || place === undefined) throw new Error(`the media upload returned ${said(uploaded)}`)
  const read = (path: string) => ask(chat, `${path}/${place}?${query(account)}`, { headers, signal })
  const present = await read('/_matrix/client/v1/media/download')
  // Available since Synapse 1.111.
  const answer = present.status === 404 ? await read('/_matrix/media/v3/download') : present
  if (answer.status !== 200) throw new Error(`the media download returned ${said(answer)}`)
}

const said = ({ status, json }: Answer): string => {
  const { errcode } = Object(json) as { errcode?: unknown }
  return typeof errcode === 'string' ? `${status} ${errcode.slice(0, 60)}` : String(status)
}
