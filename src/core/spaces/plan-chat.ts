/** The two rooms of a space: the Matrix space itself, and its default room. */
export const roomKinds = ['space', 'room'] as const
export type RoomKind = (typeof roomKinds)[number]

/** A member as the platform has it. `chatJoinedAt`: when the chat server had it in both rooms, by its own clock; null: not seen there yet. */
export type WantedMember = Readonly<{ userId: string; chatId: string; chatJoinedAt: string | null }>
export type WantedSpace = Readonly<{ name: string; members: readonly WantedMember[] }>

/** Somebody's place in a room: who put it there and when, by the chat server's clock. */
export type Place = Readonly<{ membership: string; sender: string; at: string }>
export type SeenRoom = Readonly<{
  id: string
  name: string
  /** Of the space: its rooms. Of the room: its space. */
  links: readonly string[]
  places: ReadonlyMap<string, Place>
}>
export type SeenSpace = Readonly<{ [Kind in RoomKind]?: SeenRoom | undefined }>

export type ChatStep =
  | Readonly<{ do: 'create'; kind: RoomKind }>
  | Readonly<{ do: 'link'; from: RoomKind; roomId: string; to: string }>
  | Readonly<{ do: 'rename'; roomId: string }>
  | Readonly<{ do: 'join'; roomId: string; chatId: string; userId: string }>
  | Readonly<{ do: 'kick'; roomId: string; chatId: string }>
  /** In the platform's database: who has left in the chat is no member any more; who is seen in both rooms is noted. */
  | Readonly<{ do: 'left'; userId: string; chatJoinedAt: string | null }>
  | Readonly<{ do: 'seen'; userId: string; at: string }>

/**
 * What is to be done so that the chat is as the platform says, and what the chat tells the platform: one who was seen in both rooms and has
 * left one by itself since has left the space. A place from before that, or none, is one that a restore brought back: it is made right.
 * `own` are the platform's accounts in the rooms.
 */
export function planChat(wanted: WantedSpace, seen: SeenSpace, own: ReadonlySet<string>): ChatStep[] {
  const { space, room } = seen
  if (!space || !room) return roomKinds.filter((kind) => !seen[kind]).map((kind) => ({ do: 'create', kind }))
  const rooms = [space, room]
  const gone = new Set(wanted.members.filter((member) => rooms.some((one) => hasLeft(member, one))).map(({ chatId }) => chatId))
  const stays = wanted.members.filter(({ chatId }) => !gone.has(chatId))
  return [
    ...links(space, room),
    ...rooms.filter(({ name }) => name !== wanted.name).map(({ id }) => ({ do: 'rename', roomId: id }) as const),
    ...wanted.members
      .filter(({ chatId }) => gone.has(chatId))
      .map(({ userId, chatJoinedAt }) => ({ do: 'left', userId, chatJoinedAt }) as const),
    ...rooms.flatMap((one) => strangers(one, new Set([...stays.map(({ chatId }) => chatId), ...own]))),
    ...rooms.flatMap((one) => missing(one, stays)),
    ...stays.flatMap((member) => newlySeen(member, rooms)),
  ]
}

const links = (space: SeenRoom, room: SeenRoom): ChatStep[] => [
  ...(space.links.includes(room.id) ? [] : [{ do: 'link', from: 'space', roomId: space.id, to: room.id } as const]),
  ...(room.links.includes(space.id) ? [] : [{ do: 'link', from: 'room', roomId: room.id, to: space.id } as const]),
]

function hasLeft({ chatId, chatJoinedAt }: WantedMember, { places }: SeenRoom): boolean {
  const place = places.get(chatId)
  return chatJoinedAt !== null && place?.membership === 'leave' && place.sender === chatId && place.at >= chatJoinedAt
}

const strangers = ({ id, places }: SeenRoom, wanted: ReadonlySet<string>): ChatStep[] =>
  [...places]
    .filter(([chatId, { membership }]) => !wanted.has(chatId) && ['join', 'invite', 'knock'].includes(membership))
    .map(([chatId]) => ({ do: 'kick', roomId: id, chatId }))

const missing = ({ id, places }: SeenRoom, members: readonly WantedMember[]): ChatStep[] =>
  members
    .filter(({ chatId }) => places.get(chatId)?.membership !== 'join')
    .map(({ chatId, userId }) => ({ do: 'join', roomId: id, chatId, userId }))

function newlySeen({ userId, chatId, chatJoinedAt }: WantedMember, rooms: readonly SeenRoom[]): ChatStep[] {
  const places = rooms.map(({ places }) => places.get(chatId))
  if (!places.every((place) => place?.membership === 'join')) return []
  const at = places
    .map((place) => place?.at ?? '')
    .toSorted()
    .at(-1) as string
  return at === chatJoinedAt ? [] : [{ do: 'seen', userId, at }]
}
