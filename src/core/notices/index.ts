// The room in which the platform's bot writes to one user: its alias and its creation. Phones notify of messages in it.
// It decides nothing about who gets a notice.
import { sha256Hex } from '../kit/index.ts'

type OfUser = Readonly<{ tenantId: string; userId: string }>

/** The local part of the alias of a user's room: it is found again instead of created twice, and no id can be guessed from it. */
export const noticeAliasName = ({ tenantId, userId }: OfUser): string =>
  `tenantry.user.${sha256Hex(JSON.stringify([tenantId, userId])).slice(0, 32)}`

/** The request body that creates it. The user reads, and can leave: it then gets no notices. */
export const noticeRoomBody = ({ name, ...user }: OfUser & Readonly<{ name: string }>) => ({
  preset: 'private_chat',
  visibility: 'private',
  name,
  room_alias_name: noticeAliasName(user),
  creation_content: { 'm.federate': false },
  power_level_content_override: {
    ...{ users_default: 0, events_default: 0, state_default: 100, invite: 100, kick: 100, ban: 100, redact: 50, events: {} },
  },
  initial_state: [{ type: 'm.room.guest_access', state_key: '', content: { guest_access: 'forbidden' } }],
})
