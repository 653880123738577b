import { randomBytes } from 'node:crypto'

// Rooms of the simulated chat server: the responses of Synapse that the platform uses.

type Body = Record<string, unknown>
type Reply = readonly [status: number, body: Body]
type StateEvent = Readonly<{ type: string; state_key: string; sender: string; origin_server_ts: number; content: Body }>
type Room = Map<string, StateEvent>
type Caller = Readonly<{ userId: string; deviceId: string; admin: boolean }>
type Asked = Readonly<{ method: string; place: string; body: Body; caller: Caller | undefined }>

const error = (status: number, errcode: string, text: string): Reply => [status, { errcode, error: text }]
const notInRoom = error(403, 'M_FORBIDDEN', 'The target user is not in the room')

export function chatRooms(chatDomain: string, accounts: ReadonlyMap<string, unknown>) {
  let rooms = new Map<string, Room>()
  let aliases = new Map<string, string>()
  const unlimited = new Set<string>()
  const messages: { key: string; roomId: string; sender: string; body: Body }[] = []
  let ts = Date.parse('2026-01-01T00:00:00Z')

  function put(roomId: string, sender: string, type: string, key: string, content: Body): void {
    ts += 1000
    rooms.get(roomId)?.set(`${type}|${key}`, { type, state_key: key, sender, origin_server_ts: ts, content })
  }
  const place = (roomId: string, userId: string) => rooms.get(roomId)?.get(`m.room.member|${userId}`)?.content.membership
  const creatorOf = (roomId: string) => rooms.get(roomId)?.get('m.room.create|')?.sender

  function create(body: Body, { userId }: Caller): Reply {
    if (!unlimited.has(userId)) return error(429, 'M_LIMIT_EXCEEDED', 'Too Many Requests')
    const alias = `#${body.room_alias_name}:${chatDomain}`
    if (aliases.has(alias)) return error(400, 'M_ROOM_IN_USE', 'Room alias already taken')
    const roomId = `!${randomBytes(9).toString('base64url')}:${chatDomain}`
    rooms.set(roomId, new Map())
    aliases.set(alias, roomId)
    put(roomId, userId, 'm.room.create', '', body.creation_content as Body)
    put(roomId, userId, 'm.room.member', userId, { membership: 'join' })
    put(roomId, userId, 'm.room.power_levels', '', { users: { [userId]: 100 }, ...(body.power_level_content_override as Body) })
    put(roomId, userId, 'm.room.name', '', { name: body.name })
    return [200, { room_id: roomId }]
  }

  function join(roomId: string, userId: string, caller: Caller): Reply {
    if (!accounts.has(userId)) return error(404, 'M_NOT_FOUND', 'User not found')
    if (place(roomId, caller.userId) !== 'join') return error(403, 'M_FORBIDDEN', 'not in room')
    if (place(roomId, userId) === 'join') return error(403, 'M_FORBIDDEN', `${userId} is already in the room.`)
    put(roomId, userId, 'm.room.member', userId, { membership: 'join' })
    return [200, { room_id: roomId }]
  }

  /** One event for each transaction id of a device. */
  function send(roomId: string, rest: string, body: Body, { userId, deviceId }: Caller): Reply {
    if (place(roomId, userId) !== 'join') return error(403, 'M_FORBIDDEN', `User ${userId} not in room ${roomId}`)
    const key = `${deviceId} ${userId} ${roomId} ${rest}`
    const known = messages.findIndex((one) => one.key === key)
    if (known === -1) messages.push({ key, roomId, sender: userId, body })
    return [200, { event_id: `$${known === -1 ? messages.length : known + 1}` }]
  }

  function kick(roomId: string, userId: string, caller: Caller): Reply {
    if (creatorOf(roomId) !== caller.userId) return error(403, 'M_FORBIDDEN', 'You cannot kick')
    if (!['join', 'invite'].includes(String(place(roomId, userId)))) return notInRoom
    put(roomId, caller.userId, 'm.room.member', userId, { membership: 'leave' })
    return [200, {}]
  }

  function limits(method: string, userId: string, body: Body): Reply {
    if (method === 'GET') return [200, unlimited.has(userId) ? { messages_per_second: 0, burst_count: 0 } : {}]
    unlimited.add(userId)
    return [200, body]
  }

  function administer(method: string, path: string, body: Body, caller: Caller): Reply | undefined {
    const limited = /^\/_synapse\/admin\/v1\/users\/(.+)\/override_ratelimit$/.exec(path)?.[1]
    if (limited) return limits(method, decodeURIComponent(limited), body)
    const [, found] = /^\/_synapse\/admin\/v[12]\/(?:rooms|join)\/([^/]+)(?:\/state)?$/.exec(path) ?? []
    if (!found) return undefined
    const roomId = decodeURIComponent(found)
    const room = rooms.get(roomId)
    if (!room) return error(404, 'M_NOT_FOUND', 'Room not found')
    if (path.includes('/join/')) return join(roomId, String(body.user_id), caller)
    if (method === 'DELETE') rooms.delete(roomId)
    return method === 'DELETE' ? [200, { delete_id: 'd1' }] : [200, { state: [...room.values()] }]
  }

  function stateIn(roomId: string, key: string): Reply {
    const content = rooms.get(roomId)?.get(key)?.content
    return content ? [200, content] : error(404, 'M_NOT_FOUND', 'Event not found.')
  }

  function inRoom(method: string, path: string, body: Body, caller: Caller): Reply | undefined {
    const [, found, rest = ''] = /^\/_matrix\/client\/v3\/rooms\/([^/]+)\/(.+)$/.exec(path) ?? []
    if (!found) return undefined
    const roomId = decodeURIComponent(found)
    if (!rooms.has(roomId)) return error(403, 'M_FORBIDDEN', 'not in room')
    if (rest.startsWith('send/')) return send(roomId, rest, body, caller)
    if (rest === 'kick') return kick(roomId, String(body.user_id), caller)
    const [, type, key = ''] = /^state\/([^/]+)(?:\/([^/]+))?$/.exec(rest) ?? []
    if (!type) return undefined
    if (method === 'GET') return stateIn(roomId, `${type}|${decodeURIComponent(key)}`)
    if (method !== 'PUT') return undefined
    if (creatorOf(roomId) !== caller.userId) return error(403, 'M_FORBIDDEN', 'You may not')
    put(roomId, caller.userId, type, decodeURIComponent(key), body)
    return [200, { event_id: '$1' }]
  }

  function directory(method: string, path: string): Reply | undefined {
    const found = /^\/_matrix\/client\/v3\/directory\/room\/(.+)$/.exec(path)?.[1]
    if (!found) return undefined
    const alias = decodeURIComponent(found)
    const roomId = aliases.get(alias)
    if (roomId === undefined) return error(404, 'M_NOT_FOUND', 'Room alias not found')
    if (method === 'DELETE') aliases.delete(alias)
    return [200, method === 'DELETE' ? {} : { room_id: roomId, servers: [chatDomain] }]
  }

  /** Undefined for requests that are not about rooms. */
  function reply({ method, place: path, body, caller }: Asked): Reply | undefined {
    if (!/^\/_synapse\/admin\/v[12]\/(rooms|join|users\/.+\/override)|^\/_matrix\/client\/v3\/(rooms|createRoom|directory)/.test(path))
      return undefined
    if (!caller) return error(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.')
    if (path.startsWith('/_synapse/') && !caller.admin) return error(403, 'M_FORBIDDEN', 'You are not a server admin')
    if (path === '/_matrix/client/v3/createRoom') return create(body, caller)
    return administer(method, path, body, caller) ?? inRoom(method, path, body, caller) ?? directory(method, path)
  }

  const copy = () => ({ rooms: new Map([...rooms].map(([id, room]) => [id, new Map(room)])), aliases: new Map(aliases) })

  return {
    reply,
    ids: () => [...rooms.keys()],
    aliases: () => aliases,
    /** After a restart a server remembers the transaction ids of devices alone. */
    restart: () => {
      for (const one of messages) if (one.key.startsWith('service ')) one.key = 'forgotten'
    },
    messages: () => messages.map(({ roomId, sender, body }) => ({ roomId, sender, text: body.body })),
    nameOf: (roomId: string) => rooms.get(roomId)?.get('m.room.name|')?.content.name,
    stateOf: (roomId: string, type: string, key = '') => rooms.get(roomId)?.get(`${type}|${key}`)?.content,
    /** Joined users, without the administrator. */
    joined: (roomId: string) =>
      [...accounts.keys()].filter((userId) => place(roomId, userId) === 'join' && !userId.startsWith('@tenantry')).toSorted(),
    /** Acts like the user in its chat client. */
    leave: (roomId: string, userId: string) => put(roomId, userId, 'm.room.member', userId, { membership: 'leave' }),
    /** Acts like a user who may write to any room. */
    put,
    /** Returns a function that restores the current state, like a restore of the box. */
    backup: () => {
      const kept = copy()
      return () => {
        rooms = new Map([...kept.rooms].map(([id, room]) => [id, new Map(room)]))
        aliases = new Map(kept.aliases)
      }
    },
    /** The server sets the alias of a new room first; the administrator's room gets its state with `finish`. */
    beginRoom: (alias: string, createdAt: number) => {
      const roomId = `!begun${rooms.size}:${chatDomain}`
      const creator = `@tenantry.admin:${chatDomain}`
      rooms.set(roomId, new Map())
      aliases.set(alias, roomId)
      const created = { type: 'm.room.create', state_key: '', sender: creator, origin_server_ts: createdAt, content: {} }
      rooms.get(roomId)?.set('m.room.create|', created)
      const finish = () => {
        put(roomId, creator, 'm.room.member', creator, { membership: 'join' })
        put(roomId, creator, 'm.room.power_levels', '', { users: { [creator]: 100 } })
      }
      return { roomId, finish }
    },
    /** A room that another user created under the alias. */
    squat: (alias: string, userId: string) => {
      const roomId = `!squat${rooms.size}:${chatDomain}`
      rooms.set(roomId, new Map())
      aliases.set(alias, roomId)
      put(roomId, userId, 'm.room.create', '', {})
      put(roomId, userId, 'm.room.member', userId, { membership: 'join' })
      put(roomId, userId, 'm.room.power_levels', '', {})
      return roomId
    },
  }
}
