import { z } from 'zod'
import { Timestamp } from '../contract/index.ts'
import { type Branded, isVisible, visiblePattern } from '../kit/index.ts'

export type SpaceId = Branded<'SpaceId'>

export const SpaceType = z.enum(['CLASSROOM', 'GROUP', 'STAFF', 'PARENTS', 'PROJECT', 'CRISIS'])
export type SpaceType = z.infer<typeof SpaceType>

export const SpaceVisibility = z.enum(['PRIVATE', 'TENANT', 'PUBLIC']).meta({
  description: 'PRIVATE: only members know it. TENANT: all users of the tenant find it. PUBLIC: they may also join by themselves',
})
export type SpaceVisibility = z.infer<typeof SpaceVisibility>

/** An owner names the space, puts members in and out, and deletes it. */
export const SpaceRole = z.enum(['owner', 'member'])
export type SpaceRole = z.infer<typeof SpaceRole>

/** How people call a space or a folder in it. */
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
  role: SpaceRole.nullable().meta({ description: 'Of who asks; null: no member' }),
  chat: z
    .object({ status: z.enum(['ready', 'pending']), spaceRoomId: RoomId, roomId: RoomId })
    .meta({ description: 'The Matrix space and its default room; pending: the chat server has not been told all of it yet' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type Space = z.infer<typeof Space>

/** What the bootstrap document says of a space of its user. */
export type OwnSpace = Readonly<{ id: SpaceId; name: string; type: SpaceType; visibility: SpaceVisibility; role: SpaceRole }>

export const SpaceMember = z.object({
  userId: z.string(),
  matrixUserId: z.string(),
  displayName: z.string().nullable(),
  role: SpaceRole,
  joinedAt: Timestamp,
  chat: z.enum(['ready', 'pending', 'refused']).meta({
    description: 'Whether it is in the rooms; refused: the chat server does not let it in, most often because it knows no such account',
  }),
})
export type SpaceMember = z.infer<typeof SpaceMember>
