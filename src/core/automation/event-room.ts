import { sha256Hex } from '../kit/index.ts'

type OfEvent = Readonly<{ tenantId: string; eventId: string }>

/** The local part of the alias of an event's room: a room whose creation was not answered is found again instead of created twice. */
export const eventAliasName = ({ tenantId, eventId }: OfEvent): string =>
  `tenantry.event.${sha256Hex(JSON.stringify([tenantId, eventId])).slice(0, 32)}`

type NewEventRoom = OfEvent & Readonly<{ name: string; topic: string | null }>

/** The request body that creates the room of an event. Members send messages; only the platform changes the room and its members. */
export const eventRoomBody = ({ name, topic, ...event }: NewEventRoom) => ({
  preset: 'private_chat',
  visibility: 'private',
  name,
  ...(topic === null ? {} : { topic }),
  room_alias_name: eventAliasName(event),
  creation_content: { 'm.federate': false },
  power_level_content_override: {
    ...{ users_default: 0, events_default: 0, state_default: 100, invite: 100, kick: 100, ban: 100, redact: 50, events: {} },
  },
  initial_state: [{ type: 'm.room.guest_access', state_key: '', content: { guest_access: 'forbidden' } }],
})
