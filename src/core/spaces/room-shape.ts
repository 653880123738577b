import type { RoomKind } from './plan-chat.ts'

/**
 * The name a room is found by, in the alias `#<name>:<chat domain>`. It follows from the space, so that a room that was made right before a
 * process died is found again instead of made twice.
 */
export const roomAliasName = (kind: RoomKind, spaceId: string): string => `tenantry.${kind}.${spaceId}`

/** Members send; everything else in a space is the platform's: nobody invites, names, kicks, or changes what the room is. */
const levels = {
  space: { users_default: 0, events_default: 100, state_default: 100, invite: 100, kick: 100, ban: 100, redact: 100, events: {} },
  room: { users_default: 0, events_default: 0, state_default: 100, invite: 100, kick: 100, ban: 100, redact: 50, events: {} },
} as const

type NewRoom = Readonly<{ kind: RoomKind; spaceId: string; name: string }>

/**
 * The body that makes a room. `users` is not among the power levels: whoever makes the room is above all others by itself, and newer room
 * versions refuse to have it named. `events` without entries takes away what a preset would grant.
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
