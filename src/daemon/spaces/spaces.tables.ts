import type { SpaceRole, SpaceType, SpaceVisibility } from '../../core/spaces/index.ts'

export type SpaceTable = {
  id: string
  tenant_id: string
  name: string
  type: SpaceType
  visibility: SpaceVisibility
  /** Counts every change that the chat server has to follow. */
  revision: number
  /** The revision that the chat server was brought to. */
  chat_revision: number
  /** The Matrix space and its default room, as last seen. */
  chat_space_id: string | null
  chat_room_id: string | null
  created_by: string
  created_at: string
  updated_at: string
  /** The row of a deleted space stays for a while: a restore may bring its rooms back. */
  deleted_at: string | null
}

type SpaceMemberTable = {
  space_id: string
  user_id: string
  tenant_id: string
  role: SpaceRole
  joined_at: string
  /** When the chat server had it in both rooms, by the chat server's clock. */
  chat_joined_at: string | null
  /** Since when the chat server does not let it in; null: it does, or was not asked. */
  chat_refused_at: string | null
}

export type SpaceActivityTable = {
  space_id: string
  /** Of the event. */
  seq: number
  tenant_id: string
  type: string
  actor_id: string | null
  /** JSON */
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
