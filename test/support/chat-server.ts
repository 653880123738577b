import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chatRooms } from './chat-rooms.ts'
import { chatTimeline } from './chat-timeline.ts'

// A simulated box: responds like its edge's platform listener and Synapse, as recorded from real ones.
// The same suite runs against it and against a real box, so that both stay equal.

type Account = { password: string; admin: boolean; locked: boolean; deactivated: boolean; erased?: boolean; displayName: string | null }
type Session = { userId: string; deviceId: string }
type Body = Record<string, unknown>
type Reply = readonly [status: number, body: Body | string, headers?: Record<string, string>]
type Asked = Readonly<{ method: string; path: string; body: Body; authorization: string | undefined }>

export type ChatServer = Awaited<ReturnType<typeof aChatServer>>

const error = (status: number, errcode: string, text: string, more: Body = {}): Reply => [status, { errcode, error: text, ...more }]
const forbidden = error(403, 'M_FORBIDDEN', 'Invalid username or password')
const down: Reply = [502, { errcode: 'M_UNKNOWN', error: 'The chat server does not answer at the moment.', retry_after_ms: 5000 }]
const fenced = (): Reply => [
  503,
  { errcode: 'M_UNKNOWN', error: 'This chat server is being updated and will be back shortly.', retry_after_ms: 10_000 },
  { 'retry-after': '10' },
]

export async function aChatServer({ chatDomain = 'acme.example' } = {}) {
  const secrets = { edgeSecret: 'e'.repeat(40), appserviceToken: 'a'.repeat(40), registrationSharedSecret: 'r'.repeat(40) }
  const accounts = new Map<string, Account>()
  const sessions = new Map<string, Session>()
  const nonces = new Set<string>()
  const asked: Asked[] = []
  const state = {
    fence: false,
    down: false,
    instead: undefined as Reply | undefined,
    lose: undefined as { test(request: string): boolean } | undefined,
    hold: undefined as Promise<void> | undefined,
    /** Its response to user changes that it refuses. */
    refuse: undefined as string | undefined,
  }
  const rooms = chatRooms(chatDomain, accounts)
  const timeline = chatTimeline()
  const id = (localpart: string) => `@${localpart}:${chatDomain}`
  const newToken = () => `syt_${randomBytes(12).toString('hex')}`

  const who = (authorization: string | undefined): Session | undefined => sessions.get((authorization ?? '').replace(/^Bearer /, ''))

  function login(
    { type, identifier, password, initial_device_display_name: _, device_id }: Body,
    authorization: string | undefined,
  ): Reply {
    const userId = (identifier as { user: string }).user
    const account = accounts.get(userId)
    const isService = type === 'm.login.application_service' && authorization === `Bearer ${secrets.appserviceToken}`
    if (!account && isService) return error(404, 'M_UNKNOWN', 'User not found')
    if (!account || account.deactivated || (!isService && account.password !== password)) return forbidden
    if (account.locked) return error(401, 'M_USER_LOCKED', 'User account has been locked', { soft_logout: true })
    const token = newToken()
    const deviceId = typeof device_id === 'string' ? device_id : randomBytes(5).toString('hex').toUpperCase()
    sessions.set(token, { userId, deviceId })
    return [200, { user_id: userId, access_token: token, home_server: chatDomain, device_id: deviceId }]
  }

  function register({ nonce, username, password, mac, admin, displayname }: Body): Reply {
    if (!nonces.delete(String(nonce))) return error(400, 'M_UNKNOWN', 'unrecognised nonce')
    const parts = [nonce, username, password, admin ? 'admin' : 'notadmin'].join('\0')
    if (createHmac('sha1', secrets.registrationSharedSecret).update(parts).digest('hex') !== mac)
      return error(403, 'M_UNKNOWN', 'HMAC incorrect')
    const name = String(username)
    if (accounts.has(id(name))) return error(400, 'M_USER_IN_USE', 'User ID already taken.')
    if (/^tenantry-|^tenantry$/.test(name)) return error(400, 'M_EXCLUSIVE', 'This user ID is reserved by an application service.')
    if (/^_|^[0-9]+$/.test(name)) return error(400, 'M_INVALID_USERNAME', 'User ID may not begin with _')
    const displayName = typeof displayname === 'string' ? displayname : name
    accounts.set(id(name), { password: String(password), admin: admin === true, locked: false, deactivated: false, displayName })
    return [200, { user_id: id(name), home_server: chatDomain }]
  }

  /** A user of the application service, by type `m.login.application_service`. */
  function registerOfService({ type, username }: Body, authorization: string | undefined): Reply {
    if (authorization !== `Bearer ${secrets.appserviceToken}` || type !== 'm.login.application_service')
      return error(403, 'M_FORBIDDEN', 'Registration has been disabled')
    if (accounts.has(id(String(username)))) return error(400, 'M_USER_IN_USE', 'User ID already taken.')
    accounts.set(id(String(username)), { password: '', admin: false, locked: false, deactivated: false, displayName: String(username) })
    return [200, { user_id: id(String(username)), home_server: chatDomain }]
  }

  /** The user that a request of the application service names. */
  function serviceAs(path: string): Session | 'unknown' {
    const userId = new URLSearchParams(path.split('?')[1]).get('user_id') ?? id('tenantry')
    return userId === id('tenantry') || accounts.has(userId) ? { userId, deviceId: 'service' } : 'unknown'
  }

  function administer(method: string, userId: string, body: Body, caller: Session | undefined): Reply {
    if (!caller) return error(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.', { soft_logout: false })
    if (!accounts.get(caller.userId)?.admin) return error(403, 'M_FORBIDDEN', 'You are not a server admin')
    const account = accounts.get(userId)
    if (!account) return error(404, 'M_NOT_FOUND', 'User not found')
    if (method === 'PUT' && state.refuse !== undefined) return error(400, 'M_INVALID_PARAM', state.refuse)
    if (method === 'PUT') {
      if (typeof body.locked === 'boolean') account.locked = body.locked
      if (typeof body.displayname === 'string') account.displayName = body.displayname
    }
    if (body.erase === true) {
      Object.assign(account, { deactivated: true, erased: true, password: '', displayName: null })
      for (const [token, one] of sessions) if (one.userId === userId) sessions.delete(token)
    }
    if (typeof body.new_password === 'string') {
      account.password = body.new_password
      if (body.logout_devices !== false) for (const [token, one] of sessions) if (one.userId === userId) sessions.delete(token)
    }
    const { locked, deactivated, erased = false, displayName: displayname } = account
    return [200, { name: userId, locked, deactivated, erased, displayname }]
  }

  function session(path: string, authorization: string | undefined): Reply {
    const caller = who(authorization)
    if (!caller) return error(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.', { soft_logout: false })
    if (accounts.get(caller.userId)?.locked) return error(401, 'M_USER_LOCKED', 'User account has been locked', { soft_logout: true })
    if (path.endsWith('/whoami')) return [200, { user_id: caller.userId, device_id: caller.deviceId, is_guest: false }]
    sessions.delete((authorization ?? '').replace(/^Bearer /, ''))
    return [200, {}]
  }

  function reply({ method, path, body, authorization }: Asked, headers: IncomingMessage['headers']): Reply | Promise<Reply> {
    if (state.instead) return state.instead
    if (headers['x-tenantry-edge-secret'] !== secrets.edgeSecret) return error(404, 'M_UNRECOGNIZED', 'Unrecognized request')
    if (state.fence) return fenced()
    if (state.down) return down
    const place = path.split('?')[0] as string
    if (place === '/_matrix/client/v3/login') return login(body, authorization)
    if (place === '/_synapse/admin/v1/register' && method === 'GET') {
      const nonce = randomBytes(16).toString('hex')
      nonces.add(nonce)
      return [200, { nonce }]
    }
    if (place === '/_synapse/admin/v1/register') return register(body)
    const user = /^\/_synapse\/admin\/(?:v2\/users|v1\/reset_password|v1\/deactivate)\/(.+)$/.exec(place)?.[1]
    if (user) return administer(method, decodeURIComponent(user), body, who(authorization))
    if (/^\/_matrix\/client\/v3\/(account\/whoami|logout)$/.test(place)) {
      if (authorization !== `Bearer ${secrets.appserviceToken}`) return session(place, authorization)
      return [200, { user_id: new URLSearchParams(path.split('?')[1]).get('user_id') ?? id('tenantry'), is_guest: false }]
    }
    if (place === '/_matrix/client/v3/register') return registerOfService(body, authorization)
    const caller = authorization === `Bearer ${secrets.appserviceToken}` ? serviceAs(path) : who(authorization)
    if (caller === 'unknown') return error(403, 'M_FORBIDDEN', 'Application service has not registered this user')
    if (place === '/_matrix/client/v3/sync')
      return caller ? timeline.sync(path) : error(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.', { soft_logout: false })
    if (caller && /\/v3\/rooms\/[^/]+\/messages$/.test(place)) return timeline.messages(path)
    const asker = caller && { userId: caller.userId, deviceId: caller.deviceId, admin: accounts.get(caller.userId)?.admin === true }
    return rooms.reply({ method, place, body, caller: asker }) ?? error(404, 'M_UNRECOGNIZED', 'Unrecognized request')
  }

  const server = createServer(async (request, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const one = {
      method: request.method ?? '',
      path: request.url ?? '',
      body: text ? JSON.parse(text) : {},
      authorization: request.headers.authorization,
    }
    asked.push(one)
    await state.hold
    const [status, body, more = {}] = await reply(one, request.headers)
    if (state.lose?.test(`${one.method} ${one.path}`)) {
      state.lose = undefined // it was done, and nobody hears so
      return response.destroy()
    }
    response.writeHead(status, { 'content-type': 'application/json', ...more })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>((closed) => server.close(() => closed()))
  }
  return { origin, chatDomain, secrets, accounts, sessions, rooms, timeline, asked, state, id, close }
}
