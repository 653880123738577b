/** The two rooms of a space: the Matrix space itself, and its default room. */
export const roomKinds = ['space', 'room'] as const
export type RoomKind = (typeof roomKinds)[number]

/** A member in the database. `chatJoinedAt`: when it was in both rooms, by the chat server's clock; null: never observed there. */
export type DesiredMember = Readonly<{ userId: string; chatId: string; chatJoinedAt: string | null }>
type DesiredSpace = Readonly<{ name: string; members: readonly DesiredMember[] }>

/** A member event of a room. `sender` set the membership `at` this time of the chat server's clock. */
export type Membership = Readonly<{ membership: string; sender: string; at: string }>
export type ObservedRoom = Readonly<{
  id: string
  name: string
  /** The children of the Matrix space; the parent of the room. */
  links: readonly string[]
  members: ReadonlyMap<string, Membership>
}>
export type ObservedSpace = Readonly<{ [Kind in RoomKind]?: ObservedRoom | undefined }>

export type ChatStep =
  | Readonly<{ do: 'create'; kind: RoomKind }>
  | Readonly<{ do: 'link'; from: RoomKind; roomId: string; to: string }>
  | Readonly<{ do: 'rename'; roomId: string }>
  | Readonly<{ do: 'join'; roomId: string; chatId: string; userId: string }>
  | Readonly<{ do: 'kick'; roomId: string; chatId: string }>
  /** Changes of the database: a user who left in the chat is no longer a member; a user in both rooms is recorded as joined. */
  | Readonly<{ do: 'recordLeft'; userId: string; chatJoinedAt: string | null }>
  | Readonly<{ do: 'recordJoined'; userId: string; at: string }>

/**
 * The steps that sync the rooms of a space with the database. A member who was in both rooms and left one of them since has left the space. An
 * older or missing membership comes from a restore and is corrected. `own`: the platform's accounts in the rooms.
 */
export function planChat(desired: DesiredSpace, observed: ObservedSpace, own: ReadonlySet<string>): ChatStep[] {
  const { space, room } = observed
  if (!space || !room) return roomKinds.filter((kind) => !observed[kind]).map((kind) => ({ do: 'create', kind }))
  const rooms = [space, room]
  const left = new Set(desired.members.filter((member) => rooms.some((one) => hasLeft(member, one))).map(({ chatId }) => chatId))
  const remaining = desired.members.filter(({ chatId }) => !left.has(chatId))
  return [
    ...linkSteps(space, room),
    ...rooms.filter(({ name }) => name !== desired.name).map(({ id }) => ({ do: 'rename', roomId: id }) as const),
    ...desired.members
      .filter(({ chatId }) => left.has(chatId))
      .map(({ userId, chatJoinedAt }) => ({ do: 'recordLeft', userId, chatJoinedAt }) as const),
    ...rooms.flatMap((one) => kickSteps(one, new Set([...remaining.map(({ chatId }) => chatId), ...own]))),
    ...rooms.flatMap((one) => joinSteps(one, remaining)),
    ...remaining.flatMap((member) => recordJoinedSteps(member, rooms)),
  ]
}

const linkSteps = (space: ObservedRoom, room: ObservedRoom): ChatStep[] => [
  ...(space.links.includes(room.id) ? [] : [{ do: 'link', from: 'space', roomId: space.id, to: room.id } as const]),
  ...(room.links.includes(space.id) ? [] : [{ do: 'link', from: 'room', roomId: room.id, to: space.id } as const]),
]

function hasLeft({ chatId, chatJoinedAt }: DesiredMember, { members }: ObservedRoom): boolean {
  const member = members.get(chatId)
  return chatJoinedAt !== null && member?.membership === 'leave' && member.sender === chatId && member.at >= chatJoinedAt
}

const kickSteps = ({ id, members }: ObservedRoom, desired: ReadonlySet<string>): ChatStep[] =>
  [...members]
    .filter(([chatId, { membership }]) => !desired.has(chatId) && ['join', 'invite', 'knock'].includes(membership))
    .map(([chatId]) => ({ do: 'kick', roomId: id, chatId }))

const joinSteps = ({ id, members }: ObservedRoom, desired: readonly DesiredMember[]): ChatStep[] =>
  desired
    .filter(({ chatId }) => members.get(chatId)?.membership !== 'join')
    .map(({ chatId, userId }) => ({ do: 'join', roomId: id, chatId, userId }))

function recordJoinedSteps({ userId, chatId, chatJoinedAt }: DesiredMember, rooms: readonly ObservedRoom[]): ChatStep[] {
  const memberships = rooms.map(({ members }) => members.get(chatId))
  if (!memberships.every((member) => member?.membership === 'join')) return []
  const at = memberships
    .map((member) => member?.at ?? '')
    .toSorted()
    .at(-1) as string
  return at === chatJoinedAt ? [] : [{ do: 'recordJoined', userId, at }]
}

/**
 * The local part of a room's alias `#<name>:<chat domain>`. It is derived from the space, so that a room created right before a crash is found
 * again instead of created twice.
 */
export const roomAliasName = (kind: RoomKind, spaceId: string): string => `tenantry.${kind}.${spaceId}`

/** Members send messages; only the platform invites, kicks, renames or changes the room. */
const levels = {
  space: { users_default: 0, events_default: 100, state_default: 100, invite: 100, kick: 100, ban: 100, redact: 100, events: {} },
  room: { users_default: 0, events_default: 0, state_default: 100, invite: 100, kick: 100, ban: 100, redact: 50, events: {} },
} as const

type NewRoom = Readonly<{ kind: RoomKind; spaceId: string; name: string }>

/**
 * The request body that creates a room. It sets no `users` power levels: the creator outranks everyone, and newer room versions reject the
 * field. The empty `events` removes the grants of the preset.
 */
export const newRoomBody = ({ kind, spaceId, name }: NewRoom) => ({
  preset: 'private_chat',
  visibility: 'private',
  name,
  room_alias_name: roomAliasName(kind, spaceId),
  creation_content: { 'm.federate': false, ...(kind === 'space' ? { type: 'm.space' } : {}) },
  power_level_content_override: levels[kind],
  initial_state: [{ type: 'm.room.guest_access', state_key: '', content: { guest_access: 'forbidden' } }],
})
