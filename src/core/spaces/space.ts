import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { type Branded, type Capability, isVisible, visiblePattern } from '../kit/index.ts'

export type SpaceId = Branded<'SpaceId'>

export const SpaceType = z.enum(['CLASSROOM', 'GROUP', 'STAFF', 'PARENTS', 'PROJECT', 'CRISIS'])
export type SpaceType = z.infer<typeof SpaceType>

export const SpaceVisibility = z.enum(['PRIVATE', 'TENANT', 'PUBLIC']).meta({
  description: 'PRIVATE: members only. TENANT: all users of the tenant find it. PUBLIC: they may also join',
})
export type SpaceVisibility = z.infer<typeof SpaceVisibility>

/** Owners rename and delete the space and manage its members. */
export const SpaceRole = z.enum(['owner', 'member'])
export type SpaceRole = z.infer<typeof SpaceRole>

/** The name of a space or of a folder in it. */
export const SpaceName = z
  .string()
  .max(100)
  .trim()
  .min(1, 'must not be empty')
  .refine((name) => isVisible(name), 'must not contain control characters')
  .meta({ pattern: visiblePattern })

const RoomId = z.string().nullable()

export const Space = z.object({
  id: z.string(),
  name: z.string(),
  type: SpaceType,
  visibility: SpaceVisibility,
  role: SpaceRole.nullable().meta({ description: 'Your role; null: not a member' }),
  chat: z
    .object({ status: z.enum(['ready', 'pending']), spaceRoomId: RoomId, roomId: RoomId })
    .meta({ description: 'The Matrix space and its default room; pending: not fully synced to the chat server' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Space = z.infer<typeof Space>

/** A space of a user as its bootstrap document has it. */
export type OwnSpace = Readonly<{ id: SpaceId; name: string; type: SpaceType; visibility: SpaceVisibility; role: SpaceRole }>

export const SpaceMember = z.object({
  userId: z.string(),
  matrixUserId: z.string(),
  displayName: z.string().nullable(),
  role: SpaceRole,
  joinedAt: Timestamp,
  chat: z.enum(['ready', 'pending', 'refused']).meta({
    description: 'ready: in both rooms; refused: the chat server rejects the user, usually because it has no account',
  }),
})
export type SpaceMember = z.infer<typeof SpaceMember>

type SpaceForUser = Readonly<{ visibility: SpaceVisibility; role: SpaceRole | null }>
type Caller = Readonly<{ capabilities: readonly Capability[] }>

/** The rights of one user in one space. */
export type SpaceRights = Readonly<{
  /** See that it exists, and its name. */
  find: boolean
  /** Read files and activity. */
  enter: boolean
  seeMembers: boolean
  /** Become a member without an owner. */
  join: boolean
  /** Rename and delete it, add and remove members. */
  manage: boolean
}>

/**
 * Administrators of the tenant (`manageUsers` and `manageSpaces`) manage every space, so that none is without an owner. They read its content
 * only as members, which the other members can see.
 */
export function spaceRights({ visibility, role }: SpaceForUser, { capabilities }: Caller): SpaceRights {
  const isAdministrator = capabilities.includes('manageSpaces') && capabilities.includes('manageUsers')
  const isMember = role !== null
  return {
    find: isMember || isAdministrator || visibility !== 'PRIVATE',
    enter: isMember,
    seeMembers: isMember || isAdministrator,
    join: visibility === 'PUBLIC',
    manage: role === 'owner' || isAdministrator,
  }
}
