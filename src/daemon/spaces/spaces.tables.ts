import type { SpaceRole, SpaceType, SpaceVisibility } from '../../core/spaces/index.ts'

export type SpaceTable = {
  id: string
  tenant_id: string
  name: string
  type: SpaceType
  visibility: SpaceVisibility
  /** Counts every change that the chat must follow. */
  revision: number
  /** The revision that was synced to the chat. */
  chat_revision: number
  /** The Matrix space and its default room, as last observed. */
  chat_space_id: string | null
  chat_room_id: string | null
  created_by: string
  created_at: string
  updated_at: string
  /** Rows of deleted spaces are retained, because a restore may bring their rooms back. */
  deleted_at: string | null
}

type SpaceMemberTable = {
  space_id: string
  user_id: string
  tenant_id: string
  role: SpaceRole
  joined_at: string
  /** When the user was in both rooms, by the chat server's clock. */
  chat_joined_at: string | null
  /** When the chat server refused the user; null: it did not. */
  chat_refused_at: string | null
}

type SpaceActivityTable = {
  space_id: string
  /** Sequence number of the event. */
  seq: number
  tenant_id: string
  type: string
  actor_id: string | null
  /** JSON. */
  ids: string
  at: string
}

declare module '../db/database.ts' {
  interface Tables {
    spaces: SpaceTable
    space_members: SpaceMemberTable
    space_activity: SpaceActivityTable
  }
}
